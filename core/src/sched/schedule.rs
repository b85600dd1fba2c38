//! What a scheduler came to: splits, transfers, sizes; and joining it with memory.

use super::{Arena, Info, MAX_TARGETS, NOBODY, Ready, Split};
use crate::error::{Error, Result, What};
use crate::graph::{Graph, Node, NodeId, Place};
use crate::hal::{Query, Stream};
use crate::op::Op;
use crate::plan::{Loc, Plan, Summary};
use crate::program::{Binding, Program};

/// A graph split over devices, borrowed from a [`Scheduler`](super::Scheduler).
#[derive(Clone, Copy, Debug)]
pub struct Schedule<'r> {
    pub(super) streams: &'r [&'r Stream],
    pub(super) nodes: &'r [Node],
    pub(super) locs: &'r [Loc],
    pub(super) arenas: &'r [u8],
    pub(super) origins: &'r [u16],
    pub(super) info: &'r [Info],
    pub(super) splits: &'r [Split],
    pub(super) memory: [Arena; MAX_TARGETS],
    pub(super) slots: usize,
    pub(super) copies: usize,
}

/// What a target's memory is made of, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Part {
    /// Tensors of the device, as packed.
    pub tensors: usize,
    /// Working memory of its kernels.
    pub scratch: usize,
    /// Inputs and transfers with a place for each copy: all places together.
    pub turning: usize,
    /// In all, with what alignment takes.
    pub bytes: usize,
}

impl<'r> Schedule<'r> {
    /// The streams, as they were given.
    pub const fn streams(&self) -> &'r [&'r Stream] {
        self.streams
    }

    /// The splits, in order.
    pub const fn splits(&self) -> &'r [Split] {
        self.splits
    }

    /// The expanded graph: the caller's nodes and the transfers. A transfer is a [`Dup`](crate::op::Op::Dup) before
    /// the first node of its split.
    pub const fn expanded(&self) -> Graph<'r> {
        Graph::trusted(self.nodes)
    }

    /// How many places inputs and transfers have.
    pub const fn copies(&self) -> usize {
        self.copies
    }

    /// The target of a node of the caller's graph.
    pub fn target(&self, node: NodeId) -> Option<usize> {
        let t = self.info.get(node.index())?.target;
        (t != NOBODY).then_some(usize::from(t))
    }

    /// The node of the expanded graph that stands for a node of the caller's graph: for setting inputs and reading
    /// outputs through [`Ready::program`].
    pub fn node(&self, node: NodeId) -> NodeId {
        self.info.get(node.index()).map_or(NodeId::NONE, |i| NodeId(i.mapped))
    }

    /// The node of the caller's graph that a node of the expanded graph stands for, or is a copy of.
    pub fn origin(&self, expanded: NodeId) -> NodeId {
        self.origins.get(expanded.index()).map_or(NodeId::NONE, |i| NodeId(*i))
    }

    /// The transfers of a split: for each what is copied, as a node of the caller's graph, the target that it comes from,
    /// and its bytes.
    pub fn transfers(&self, split: &Split) -> impl Iterator<Item = (NodeId, usize, usize)> + 'r {
        let this = *self;
        (split.transfers..split.first).filter_map(move |i| {
            let node = this.nodes.get(usize::from(i))?;
            let source = node.source(0).filter(|_| node.op == Op::Dup)?;
            let from = this.target_of(source)?;
            Some((this.origin(NodeId(i)), from, node.desc.bytes()))
        })
    }

    /// What a target's memory is made of.
    pub fn part(&self, target: usize) -> Part {
        let a = self.memory.get(target).copied().unwrap_or_default();
        Part {
            tensors: a.main.peak,
            scratch: a.main.scratch,
            turning: a.stride * self.copies,
            bytes: a.bytes,
        }
    }

    /// What the plan of a target's tensors costs.
    pub fn summary(&self, target: usize) -> Summary {
        self.memory.get(target).map(|a| a.main).unwrap_or_default()
    }

    pub(super) fn target_of(&self, id: NodeId) -> Option<usize> {
        self.arenas.get(id.index()).map(|a| usize::from(*a) % self.streams.len().max(1))
    }

    /// How many bindings [`bind`](Self::bind) needs room for.
    pub const fn bindings(&self) -> usize {
        self.copies * self.slots_of_copy()
    }

    const fn slots_of_copy(&self) -> usize {
        self.slots + 2 * self.streams.len()
    }

    /// Joins the split graph with memory. `user[i]` is slot `i` as it was for [`split`](super::Scheduler::split);
    /// `arenas[t]` is memory of [`arena_size(t)`](super::Scheduler::arena_size) bytes of target `t`'s kind, or nothing
    /// where that is 0. `room` has [`bindings`](Self::bindings) entries, whatever is in them.
    ///
    /// # Errors
    /// As [`Program::new`]; [`Error::Full`] for too small an arena or room; what making events gives.
    pub fn bind(
        &self,
        user: &[Binding<'r>],
        arenas: &[Binding<'r>],
        room: &'r mut [Binding<'r>],
    ) -> Result<Ready<'r>> {
        let (each, n) = (self.slots_of_copy().max(1), self.streams.len().max(1));
        let (need, have) = (self.bindings(), room.len());
        let room = room.get_mut(..need).ok_or(Error::Full { what: What::Plan, need, have })?;
        for (t, memory) in self.memory.iter().take(n).enumerate() {
            let binding = arenas.get(t).copied().unwrap_or(Binding::NONE);
            let have = binding.buffer().map_or(0, |b| b.size().saturating_sub(binding.offset()));
            if memory.bytes > have {
                return Err(Error::Full { what: What::Arena, need: memory.bytes, have });
            }
        }
        for (copy, slots) in room.chunks_exact_mut(each).enumerate() {
            for (i, slot) in slots.iter_mut().enumerate() {
                *slot = match i.checked_sub(self.slots) {
                    None => user.get(i).copied().unwrap_or(Binding::NONE),
                    Some(a) => {
                        let memory = self.memory.get(a % n).copied().unwrap_or_default();
                        let arena = arenas.get(a % n).copied().unwrap_or(Binding::NONE);
                        let skip = if a < n { 0 } else { memory.turning + copy * memory.stride };
                        match arena.buffer() {
                            Some(b) => Binding::at(b, arena.offset() + skip),
                            None => Binding::NONE,
                        }
                    }
                };
            }
        }
        let room: &'r [Binding<'r>] = room;
        let plan = Plan::from_parts(self.locs, Summary::default());
        let program = |copy: usize| {
            let slots = room.get(copy * each..(copy + 1) * each).unwrap_or(&[]);
            Program::new(self.expanded(), plan, slots)
        };
        Ready::new(*self, program)
    }
}

/// Why a node can't be computed, for people. See [`Scheduler::why`](super::Scheduler::why).
#[derive(Clone, Copy, Debug)]
pub struct Why<'x> {
    pub(super) graph: Graph<'x>,
    pub(super) id: NodeId,
    pub(super) streams: &'x [&'x Stream],
}

impl core::fmt::Display for Why<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let Some(node) = self.graph.node(self.id) else { return f.write_str("no such node") };
        write!(f, "node {} ({}", self.id.index(), node.op.kind().name())?;
        let sources = Query::sources(self.graph, self.id);
        for i in 0..node.src.len() {
            if let Some(d) = sources.source(i) {
                let [a, b, c, e] = d.ne;
                write!(f, " {}[{a},{b},{c},{e}]", d.dtype.name())?;
            }
        }
        write!(f, " -> {}):", node.desc.dtype.name())?;
        for (i, stream) in self.streams.iter().enumerate() {
            let can = super::assign::supports(self.graph, self.id, stream);
            let between = if i == 0 { "" } else { "," };
            write!(
                f,
                "{between} {} {}",
                stream.device().name(),
                if can { "can" } else { "can't" }
            )?;
        }
        if matches!(node.place, Place::Within { .. }) && !node.op.is_view() {
            f.write_str("; it writes into memory of an older node, which its device must reach")?;
        }
        Ok(())
    }
}
