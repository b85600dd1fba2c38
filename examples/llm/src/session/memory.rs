//! All that a session needs, allocated once.

use super::batches::{graph, summary};
use super::packed::{self, Packed};
use super::{Batches, Error, Session, Storage};
use crate::model::{CACHE, Config, Layer, PACKED, Shape, WEIGHTS};
use dinrail_core::graph::{ARENA, Graph, Node};
use dinrail_core::hal::{Buffer, Stream, Usage};
use dinrail_core::plan::{Loc, Plan, Summary, Work};
use dinrail_core::program::{Binding, Program};
use dinrail_core::tensor::DType;
use dinrail_gguf::Header;
use std::vec;
use std::vec::Vec;

/// How large a session is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Positions; each costs a cell of the cache.
    pub context: usize,
    /// The most tokens of a prompt that go through the graph at a time; 1 for one after the other.
    pub batch: usize,
    /// Type of the cache: F16 or F32.
    pub cache: DType,
}

impl Options {
    /// This context, batches of up to 512 tokens, a cache in F16.
    pub const fn context(context: usize) -> Self {
        Options { context, batch: 512, cache: DType::F16 }
    }
}

/// Bindings that are enough for every session.
pub const BINDINGS: usize = PACKED as usize + packed::MOST;

/// The memory behind a [`Session`].
#[derive(Debug)]
pub struct Memory {
    config: Config,
    layers: Vec<Layer>,
    shape: Shape,
    align: usize,
    one: Pieces,
    many: Pieces,
    arena: Buffer<'static>,
    cache: Buffer<'static>,
    packed: Option<Packed>,
    one_plan: Summary,
    many_plan: Option<Summary>,
}

#[derive(Debug)]
struct Pieces {
    nodes: Vec<Node>,
    work: Vec<Work>,
    locs: Vec<Loc>,
}

impl Pieces {
    fn new(n: usize) -> Self {
        Pieces { nodes: vec![Node::EMPTY; n], work: vec![Work::EMPTY; n], locs: vec![Loc::ZERO; n] }
    }
}

impl Memory {
    /// Reads the model's description, builds and plans its graphs for `stream`'s device, and allocates arena and cache
    /// there.
    ///
    /// # Errors
    /// [`Error::Model`] with what is wrong with the file; [`Error::Core`], above all
    /// [`OutOfMemory`](dinrail_core::Error::OutOfMemory).
    pub fn new(header: &Header<'_>, stream: &Stream, options: &Options) -> Result<Self, Error> {
        Self::with_packed(header, stream, options, None)
    }

    /// As [`new`](Self::new), with matrices of the file stored in another order.
    ///
    /// # Errors
    /// As `new`.
    pub fn with_packed(
        header: &Header<'_>,
        stream: &Stream,
        options: &Options,
        packed: Option<Packed>,
    ) -> Result<Self, Error> {
        let config = Config::read(header)?;
        config.check_nodes()?;
        let mut layers = vec![Layer::NONE; config.layers];
        let weights = packed::find(header, &config, &mut layers, packed.as_ref())?;
        let ty = stream.device().buffer_type();
        let align = ty.alignment();
        let shape = Shape::token(options.context.max(1)).with_cache(options.cache);

        let mut one = Pieces::new(config.max_nodes());
        let (g, _) = graph(&config, &weights, &shape, &mut one.nodes)?;
        let used = g.len();
        let one_plan = summary(stream, g, align, &mut one.work, &mut one.locs)?;
        one.nodes.truncate(used);
        // Only batches are planned again.
        one.work = Vec::new();
        one.locs.truncate(used);

        let batch = options.batch.min(shape.cells).max(1);
        let (many, many_plan) = if batch > 1 {
            // Room for the nodes that pick the rows of the last layer.
            let mut many = Pieces::new(used + 8);
            let shape = shape.batch(batch);
            let (g, _) = graph(&config, &weights, &shape, &mut many.nodes)?;
            let plan = summary(stream, g, align, &mut many.work, &mut many.locs)?;
            (many, Some(plan))
        } else {
            (Pieces::new(0), None)
        };
        let bytes = one_plan.arena.max(many_plan.map_or(0, |p| p.arena));
        let arena = Buffer::new(ty, bytes)?;
        arena.set_usage(Usage::Compute);
        let cache = Buffer::new(ty, shape.cache_bytes(&config)?)?;
        cache.clear(0)?;
        let shape = shape.batch(batch);
        Ok(Memory {
            config,
            layers,
            shape,
            align,
            one,
            many,
            arena,
            cache,
            packed,
            one_plan,
            many_plan,
        })
    }

    /// The model's lengths.
    pub const fn config(&self) -> &Config {
        &self.config
    }

    /// Bytes of the cache.
    pub fn cache_bytes(&self) -> usize {
        self.cache.size()
    }

    /// Bytes of the arena.
    pub fn arena_bytes(&self) -> usize {
        self.arena.size()
    }

    /// What the plan for one token costs, and that for the largest batch.
    pub const fn plans(&self) -> (Summary, Option<Summary>) {
        (self.one_plan, self.many_plan)
    }

    /// The matrices that are stored in another order.
    pub const fn packed(&self) -> Option<&Packed> {
        self.packed.as_ref()
    }

    /// A session on `stream`, which the memory was made for, with the model file in `weights`. `bindings` is memory for
    /// the session, filled here: 3, or [`BINDINGS`] where matrices are stored in another order.
    ///
    /// # Errors
    /// [`Error::Core`] for a `weights` that isn't the file that the memory was made for, or is not aligned, and for too
    /// few `bindings`.
    pub fn session<'s>(
        &'s mut self,
        stream: &'s Stream,
        header: &Header<'_>,
        weights: &'s Buffer<'s>,
        bindings: &'s mut [Binding<'s>],
    ) -> Result<Session<'s>, Error> {
        let Memory { config, layers, shape, one, many, arena, cache, packed, .. } = self;
        let packed = packed.as_ref();
        let weights_at = packed::find(header, config, layers, packed)?;
        let token = Shape { tokens: 1, outputs: 1, ..*shape };
        let (graph, nodes): (Graph<'s>, _) = graph(config, &weights_at, &token, &mut one.nodes)?;
        let slots = [(ARENA, &*arena), (WEIGHTS, weights), (CACHE, &*cache)];
        let more = packed.map_or(&[][..], |p| &p.buffers);
        let few = i64::try_from(bindings.len()).unwrap_or(i64::MAX);
        let few = dinrail_core::Error::Invalid { what: "number of bindings", value: few };
        let all = slots.into_iter().chain((PACKED..).zip(more));
        for (slot, buffer) in all {
            *bindings.get_mut(usize::from(slot)).ok_or(few)? = Binding::new(buffer);
        }
        let bindings: &'s [Binding<'s>] = bindings;
        let plan = Plan::from_parts(&one.locs, self.one_plan);
        let session = Session::new(stream, Program::new(graph, plan, bindings)?, nodes)?;
        if shape.tokens < 2 {
            return Ok(session);
        }
        let storage =
            Storage { nodes: &mut many.nodes, work: &mut many.work, locs: &mut many.locs };
        let size = arena.size();
        let batches =
            Batches::new(*config, weights_at, *shape, storage, bindings, size, self.align);
        Ok(session.with_batches(batches))
    }
}
