//! All that a session on several devices needs: planned first, allocated then.

use super::graph::{Family, Made, Rooms, slot_of};
use super::{Placement, Session, mapped};
use crate::model::{Config, Layer, Shape, WEIGHTS, Weights};
use crate::session::{Error, Options};
use dinrail_core::graph::{Graph, Node};
use dinrail_core::hal::{Buffer, BufferType, Stream, Usage};
use dinrail_core::program::Binding;
use dinrail_core::sched::{MAX_TARGETS, Part, Schedule};
use dinrail_gguf::Header;
use std::vec;
use std::vec::Vec;

/// What one device is asked for, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Sizes {
    /// Copies of weights; 0 where they are used in the file.
    pub weights: usize,
    /// Cache of its layers.
    pub cache: usize,
    /// Intermediate results, inputs and scratch: for one token and for the largest batch.
    pub arena: usize,
    /// What the arena of one token is made of.
    pub one: Part,
}

/// What a graph was split into. See [`Memory::show`].
#[derive(Clone, Copy, Debug)]
pub struct Shown<'x> {
    /// Splits and transfers.
    pub schedule: &'x Schedule<'x>,
    /// The graph before it was split.
    pub graph: Graph<'x>,
    /// The first node of each layer, and of the head.
    pub marks: &'x [usize],
    /// Which device has which layer.
    pub placement: &'x Placement,
    /// What each device is asked for.
    pub sizes: &'x [Sizes],
}

/// The memory behind a [`Session`].
#[derive(Debug)]
pub struct Memory {
    family: Family,
    shape: Shape,
    one: Rooms,
    many: Option<Rooms>,
    sizes: Vec<Sizes>,
    weights: Vec<Buffer<'static>>,
    cache: Vec<Buffer<'static>>,
    arenas: Vec<Buffer<'static>>,
}

/// The memory of each slot; what isn't there yet is an empty buffer of the right kind.
fn bindings<'b>(
    file: &'b Buffer<'b>,
    weights: &'b [Buffer<'static>],
    cache: &'b [Buffer<'static>],
) -> Vec<Binding<'b>> {
    let mut slots = vec![Binding::NONE; usize::from(slot_of(weights.len()))];
    slots[usize::from(WEIGHTS)] = Binding::new(file);
    for (t, (w, c)) in weights.iter().zip(cache).enumerate() {
        slots[usize::from(slot_of(t))] = Binding::new(w);
        slots[usize::from(slot_of(t)) + 1] = Binding::new(c);
    }
    slots
}

fn empty(streams: &[&Stream]) -> Result<Vec<Buffer<'static>>, Error> {
    Ok(streams
        .iter()
        .map(|s| Buffer::new(s.device().buffer_type(), 0))
        .collect::<Result<_, _>>()?)
}

impl Memory {
    /// Reads the model's description, builds its graphs, splits and plans them for the streams' devices, the host's own
    /// device last. The file's bytes will lie in memory of kind `file`. Nothing is allocated on the devices.
    ///
    /// # Errors
    /// [`Error::Model`] with what is wrong with the file; [`Error::Core`], above all `Unsupported` for an operation that
    /// no device has, and `Invalid` for no stream or more than [`MAX_TARGETS`], or a placement that doesn't fit.
    pub fn new(
        header: &Header<'_>,
        streams: &[&Stream],
        file: &'static dyn BufferType,
        options: &Options,
        placement: Placement,
    ) -> Result<Self, Error> {
        if !(1..=MAX_TARGETS).contains(&streams.len()) {
            let value = i64::try_from(streams.len()).unwrap_or(i64::MAX);
            return Err(dinrail_core::Error::Invalid { what: "number of devices", value }.into());
        }
        let config = Config::read(header)?;
        config.check_nodes()?;
        let mut layers = vec![Layer::NONE; config.layers];
        let found = Weights::find(header, &config, WEIGHTS, &mut layers)?;
        let (embed, norm, output, factors) = (found.embed, found.norm, found.output, found.factors);
        let targets = streams.len();
        let placement_fits = placement.layers.len() == config.layers
            && placement.layers.iter().chain([&placement.head]).all(|t| *t < targets);
        if !placement_fits {
            let value = placement.layers.len() as i64;
            return Err(dinrail_core::Error::Invalid { what: "placement of layers", value }.into());
        }
        let reaches = |t: usize, ty: &'static dyn BufferType| {
            streams.get(t).is_some_and(|s| s.device().supports_buffer_type(ty))
        };
        let moved: Vec<bool> = (0..targets).map(|t| !reaches(t, file)).collect();
        let shared = (0..targets)
            .map(|t| {
                let own = streams[t].device().buffer_type();
                (0..t).any(|u| reaches(u, own) || (!moved[t] && reaches(u, file)))
            })
            .collect();
        let rank = (0..config.layers)
            .map(|i| placement.layers.iter().take(i).filter(|t| **t == placement.layers[i]).count())
            .collect();
        let mut family = Family {
            config,
            embed,
            norm,
            output,
            factors,
            layers,
            placement,
            moved,
            shared,
            moves: vec![Vec::new(); targets],
            rank,
        };
        let shape = Shape::token(options.context.max(1)).with_cache(options.cache);
        let mut sizes = vec![Sizes::default(); targets];
        let layer_bytes = shape.layer_bytes(&config)?;
        for (t, size) in sizes.iter_mut().enumerate() {
            let layers = family.placement.layers.iter().filter(|l| **l == t).count();
            let overflow = dinrail_core::tensor::size::SizeError::Overflow;
            size.cache =
                layer_bytes.checked_mul(layers).ok_or(dinrail_core::Error::Size(overflow))?;
        }

        let mut one = Rooms::new(config.max_nodes(), config.layers);
        let used = {
            let mut marks = vec![0; config.layers + 1];
            let mut nodes = vec![Node::EMPTY; config.max_nodes()];
            let (graph, _) = family.graph(&shape, &mut nodes, &mut marks)?;
            let (moves, bytes) = family.copies(graph, &marks, streams)?;
            for (size, bytes) in sizes.iter_mut().zip(bytes) {
                size.weights = bytes;
            }
            family.moves = moves;
            graph.len()
        };
        one.shrink(used, used.saturating_mul(3));
        let buffers = (empty(streams)?, empty(streams)?);
        let file = Buffer::new(file, 0)?;
        let slots = bindings(&file, &buffers.0, &buffers.1);
        plan(&family, streams, &mut one, &shape, &slots, &mut sizes)?;

        let batch = options.batch.min(shape.cells).max(1);
        let many = if batch > 1 {
            // Room for the nodes that pick the rows of the last layer.
            let mut many = Rooms::new(used + 8, config.layers);
            plan(&family, streams, &mut many, &shape.batch(batch), &slots, &mut sizes)?;
            Some(many)
        } else {
            None
        };
        drop(slots);
        let (weights, cache) = buffers;
        let shape = shape.batch(batch);
        let arenas = empty(streams)?;
        Ok(Memory { family, shape, one, many, sizes, weights, cache, arenas })
    }

    /// The model's lengths.
    pub const fn config(&self) -> &Config {
        &self.family.config
    }

    /// Which device has which layer.
    pub const fn placement(&self) -> &Placement {
        &self.family.placement
    }

    /// What each device is asked for.
    pub fn sizes(&self) -> &[Sizes] {
        &self.sizes
    }

    /// Splits the graph for `tokens` tokens, and hands what comes of it to `f`.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn show<R>(
        &mut self,
        streams: &[&Stream],
        file: &Buffer<'_>,
        tokens: usize,
        f: impl FnOnce(&Shown<'_>) -> R,
    ) -> Result<R, Error> {
        let slots = bindings(file, &self.weights, &self.cache);
        let rooms = match &mut self.many {
            Some(many) if tokens > 1 => many,
            _ => &mut self.one,
        };
        let shape = self.shape.batch(tokens.clamp(1, self.shape.tokens));
        let Made { mut scheduler, graph, marks, .. } =
            self.family.scheduler(streams, rooms, &shape)?;
        scheduler.split(graph, &slots)?;
        let (placement, sizes) = (&self.family.placement, &self.sizes);
        Ok(f(&Shown { schedule: &scheduler.schedule()?, graph, marks, placement, sizes }))
    }

    /// Takes the devices' memory and copies the weights from the file. `progress` is told how many bytes are done, and of
    /// how many.
    ///
    /// # Errors
    /// What the devices say, above all [`OutOfMemory`](dinrail_core::Error::OutOfMemory). It can be called again.
    pub fn allocate(
        &mut self,
        streams: &[&Stream],
        file: &[u8],
        mut progress: impl FnMut(usize, usize),
    ) -> Result<(), Error> {
        let all = self.family.moves.iter().flatten().map(|m| m.len).sum();
        let mut done = 0;
        let (mut weights, mut cache, mut arenas) = (Vec::new(), Vec::new(), Vec::new());
        for ((stream, size), moves) in streams.iter().zip(&self.sizes).zip(&self.family.moves) {
            let ty = stream.device().buffer_type();
            let own = Buffer::new(ty, size.weights)?;
            own.set_usage(Usage::Weights);
            for m in moves {
                const PIECE: usize = 4 << 20;
                let end = m.from.saturating_add(m.len).min(file.len());
                let bytes = file.get(m.from..end).unwrap_or(&[]);
                for (k, piece) in bytes.chunks(PIECE).enumerate() {
                    own.write(m.to + k * PIECE, piece)?;
                    done += piece.len();
                    progress(done, all);
                }
            }
            weights.push(own);
            let own = Buffer::new(ty, size.cache)?;
            if size.cache > 0 {
                own.clear(0)?;
            }
            cache.push(own);
            let own = Buffer::new(ty, size.arena)?;
            own.set_usage(Usage::Compute);
            arenas.push(own);
        }
        (self.weights, self.cache, self.arenas) = (weights, cache, arenas);
        Ok(())
    }

    /// A session on the streams that the memory was made for and allocated on, with the model file in `file`. `room` is
    /// memory for the session, filled here.
    ///
    /// # Errors
    /// [`Error::Core`] for a `file` that isn't the one that the memory was made for, or is not aligned, or where nothing
    /// was allocated.
    pub fn session<'s>(
        &'s mut self,
        streams: &'s [&'s Stream],
        file: &'s Buffer<'s>,
        room: &'s mut Vec<Binding<'s>>,
    ) -> Result<Session<'s>, Error> {
        let Memory { family, shape, one, many, weights, cache, arenas, .. } = self;
        let family: &'s Family = family;
        let user = bindings(file, weights, cache);
        let arenas: Vec<Binding<'s>> = arenas.iter().map(Binding::new).collect();
        let token = Shape { tokens: 1, outputs: 1, ..*shape };
        let Made { mut scheduler, graph, nodes, .. } = family.scheduler(streams, one, &token)?;
        scheduler.split(graph, &user)?;
        let schedule = scheduler.into_schedule()?;
        room.resize(schedule.bindings(), Binding::NONE);
        let ready = schedule.bind(&user, &arenas, room)?;
        let vocab = family.config.vocab;
        Ok(Session {
            streams,
            family,
            user,
            arenas,
            one_nodes: mapped(&nodes, &schedule),
            one: ready,
            many: many.as_mut(),
            shape: *shape,
            used: 0,
            vocab,
        })
    }
}

/// Splits the graph for `shape` and notes what it takes.
fn plan(
    family: &Family,
    streams: &[&Stream],
    rooms: &mut Rooms,
    shape: &Shape,
    slots: &[Binding<'_>],
    sizes: &mut [Sizes],
) -> Result<(), Error> {
    let Made { mut scheduler, graph, .. } = family.scheduler(streams, rooms, shape)?;
    scheduler.split(graph, slots)?;
    let schedule = scheduler.schedule()?;
    for (t, size) in sizes.iter_mut().enumerate() {
        if shape.tokens == 1 {
            size.one = schedule.part(t);
        }
        size.arena = size.arena.max(scheduler.arena_size(t));
    }
    Ok(())
}
