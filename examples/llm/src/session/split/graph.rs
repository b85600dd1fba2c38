//! The model's graphs with each layer's weights and cache where its device has them.

use super::Placement;
use crate::model::{CACHE, Config, Layer, Nodes, Shape, WEIGHTS, Weight, Weights, build_marked};
use crate::session::Error;
use dinrail_core::graph::{Builder, Graph, Node, NodeId, Place};
use dinrail_core::hal::Stream;
use dinrail_core::plan::{Loc, Work};
use dinrail_core::sched::{Info, Options, Scheduler, Split, Storage};
use dinrail_core::tensor::size;
use std::vec;
use std::vec::Vec;

/// The slot of the weights that were copied to device `t`; that of its cache is the next.
pub(super) const fn slot_of(t: usize) -> u8 {
    CACHE + 1 + 2 * t as u8
}

/// Storage for one graph and what the scheduler makes of it.
#[derive(Debug)]
pub(super) struct Rooms {
    nodes: Vec<Node>,
    marks: Vec<usize>,
    expanded: Vec<Node>,
    arenas: Vec<u8>,
    origins: Vec<u16>,
    work: Vec<Work>,
    locs: Vec<Loc>,
    info: Vec<Info>,
    splits: Vec<Split>,
}

impl Rooms {
    /// For a graph of `n` nodes of `layers` layers.
    pub(super) fn new(n: usize, layers: usize) -> Self {
        // Most nodes are used where they are made; what isn't is copied once or twice.
        let all = n.saturating_mul(3).min(usize::from(u16::MAX) - 1);
        Rooms {
            nodes: vec![Node::EMPTY; n],
            marks: vec![0; layers + 1],
            expanded: vec![Node::EMPTY; all],
            arenas: vec![0; all],
            origins: vec![0; all],
            work: vec![Work::EMPTY; all],
            locs: vec![Loc::ZERO; all],
            info: vec![Info::EMPTY; n],
            splits: vec![Split::default(); n],
        }
    }

    /// Gives back what a graph of `n` nodes that becomes `expanded` doesn't need.
    pub(super) fn shrink(&mut self, n: usize, expanded: usize) {
        self.nodes.truncate(n);
        self.info.truncate(n);
        self.expanded.truncate(expanded);
        self.arenas.truncate(expanded);
        self.origins.truncate(expanded);
        self.work.truncate(expanded);
        self.locs.truncate(expanded);
        for v in [&mut self.nodes, &mut self.expanded] {
            v.shrink_to_fit();
        }
    }
}

/// A tensor that is copied to a device.
#[derive(Clone, Copy, Debug)]
pub(super) struct Move {
    /// First byte in the file.
    pub(super) from: usize,
    /// First byte in the device's weights.
    pub(super) to: usize,
    /// Number of bytes.
    pub(super) len: usize,
}

/// A graph and a scheduler that knows where its layers go.
pub(super) struct Made<'a, 'r> {
    pub(super) scheduler: Scheduler<'a, 'r>,
    pub(super) graph: Graph<'r>,
    pub(super) nodes: Nodes,
    /// The first node of each layer and of the head.
    pub(super) marks: &'r [usize],
}

/// Everything that decides what the graphs look like.
#[derive(Debug)]
pub(super) struct Family {
    pub(super) config: Config,
    pub(super) embed: Weight,
    pub(super) norm: Weight,
    pub(super) output: Weight,
    pub(super) factors: Option<Weight>,
    pub(super) layers: Vec<Layer>,
    pub(super) placement: Placement,
    /// Which devices need copies of their weights.
    pub(super) moved: Vec<bool>,
    /// Which devices' memory an earlier one can use too, so that the scheduler must be told where layers go.
    pub(super) shared: Vec<bool>,
    /// For each device, the tensors that it has copies of, by rising place in the file.
    pub(super) moves: Vec<Vec<Move>>,
    /// Number of each layer among those of its device.
    pub(super) rank: Vec<usize>,
}

impl Family {
    pub(super) fn weights(&self) -> Weights<'_> {
        Weights {
            embed: self.embed,
            norm: self.norm,
            output: self.output,
            factors: self.factors,
            layers: &self.layers,
        }
    }

    /// Device of unit `i`: a layer, or behind them the head.
    pub(super) fn device(&self, i: usize) -> usize {
        self.placement.layers.get(i).copied().unwrap_or(self.placement.head)
    }

    /// Lays down the graph, with weights and cache where the devices have them.
    pub(super) fn graph<'n>(
        &self,
        shape: &Shape,
        nodes: &'n mut [Node],
        marks: &mut [usize],
    ) -> Result<(Graph<'n>, Nodes), Error> {
        let mut b = Builder::new(nodes);
        let ids = build_marked(&self.config, &self.weights(), shape, &mut b, marks);
        let len = b.finish()?.len();
        let layer_bytes = shape.layer_bytes(&self.config)?;
        let nodes = nodes.get_mut(..len).unwrap_or(&mut []);
        for (i, first) in marks.iter().enumerate() {
            let end = marks.get(i + 1).copied().unwrap_or(len);
            for node in nodes.get_mut(*first..end).unwrap_or(&mut []) {
                self.place(i, layer_bytes, node);
            }
        }
        Ok((Graph::check(nodes)?, ids))
    }

    fn place(&self, unit: usize, layer_bytes: usize, node: &mut Node) {
        let Place::Slot { slot, offset } = node.place else { return };
        let t = self.device(unit);
        if slot == CACHE {
            let rank = self.rank.get(unit).copied().unwrap_or(0);
            let within = offset - unit * layer_bytes;
            node.place = Place::Slot { slot: slot_of(t) + 1, offset: rank * layer_bytes + within };
        }
        if slot == WEIGHTS
            && let Some(moves) = self.moves.get(t)
            && let Ok(at) = moves.binary_search_by_key(&offset, |m| m.from)
            && let Some(m) = moves.get(at)
        {
            node.place = Place::Slot { slot: slot_of(t), offset: m.to };
        }
    }

    /// The tensors that devices need copies of, and how many bytes that takes on each. `graph` is one where nothing has
    /// been moved yet.
    pub(super) fn copies(
        &self,
        graph: Graph<'_>,
        marks: &[usize],
        streams: &[&Stream],
    ) -> Result<(Vec<Vec<Move>>, Vec<usize>), Error> {
        let mut moves: Vec<Vec<Move>> = vec![Vec::new(); streams.len()];
        let mut sizes = vec![0usize; streams.len()];
        for (i, first) in marks.iter().enumerate() {
            let t = self.device(i);
            let end = marks.get(i + 1).copied().unwrap_or(graph.len());
            let (Some(stream), Some(true)) = (streams.get(t), self.moved.get(t)) else { continue };
            let ty = stream.device().buffer_type();
            for node in graph.nodes().get(*first..end).unwrap_or(&[]) {
                let Place::Slot { slot: WEIGHTS, offset } = node.place else { continue };
                if moves[t].iter().any(|m| m.from == offset) {
                    continue;
                }
                let to = size::padded(sizes[t] as u64, ty.alignment().max(64) as u64)
                    .and_then(size::to_usize)
                    .map_err(dinrail_core::Error::Size)?;
                moves[t].push(Move { from: offset, to, len: node.desc.bytes() });
                let overflow = dinrail_core::Error::Size(size::SizeError::Overflow);
                sizes[t] = to.checked_add(ty.alloc_size(&node.desc)).ok_or(overflow)?;
            }
        }
        moves.iter_mut().for_each(|m| m.sort_unstable_by_key(|m| m.from));
        Ok((moves, sizes))
    }

    /// A scheduler that knows where the layers of `shape`'s graph go, and the graph.
    pub(super) fn scheduler<'a, 'r>(
        &self,
        streams: &'a [&'a Stream],
        rooms: &'r mut Rooms,
        shape: &Shape,
    ) -> Result<Made<'a, 'r>, Error> {
        let Rooms { nodes, marks, expanded, arenas, origins, work, locs, info, splits } = rooms;
        let (graph, nodes) = self.graph(shape, nodes, marks)?;
        let storage = Storage { nodes: expanded, arenas, origins, work, locs, info, splits };
        let options = Options {
            offload: self.placement.offload,
            copies: self.placement.copies,
            ..Options::DEFAULT
        };
        let mut scheduler = Scheduler::new(streams, storage, options)?;
        for (i, first) in marks.iter().enumerate() {
            let t = self.device(i);
            if !self.shared.get(t).copied().unwrap_or(false) {
                continue;
            }
            let end = marks.get(i + 1).copied().unwrap_or(graph.len());
            for n in *first..end {
                let id = NodeId(n as u16);
                let computed = graph.node(id).is_some_and(|n| !n.op.is_view());
                if computed && scheduler.supports(graph, id, t) {
                    scheduler.wish(id, Some(t))?;
                }
            }
        }
        Ok(Made { scheduler, graph, nodes, marks })
    }
}
