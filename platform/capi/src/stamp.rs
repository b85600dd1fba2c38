//! What a thing was made of, in one word.
//!
//! Plans, programs and runs refer to memory of the caller's. A C program closes a buffer, fills the nodes of another graph into
//! the same array or leaves the block in which its slots were, and goes on; so what was found sound once is compared with
//! what is there now, before anything follows a pointer into it.

use dinrail::graph::{Graph, Node, Place};
use dinrail::plan::Loc;

/// A word that is different, but for bad luck, for different words put in.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stamp(usize);

impl Stamp {
    pub(crate) const NEW: Self = Self(0x811C_9DC5);

    pub(crate) fn with(self, word: usize) -> Self {
        Self((self.0 ^ word).wrapping_mul(0x0100_0193).rotate_left(7))
    }

    pub(crate) fn join(self, other: Self) -> Self {
        self.with(other.0)
    }

    /// Small numbers, as one word.
    fn with_bytes(self, bytes: [u8; 4]) -> Self {
        self.with(u32::from_le_bytes(bytes) as usize)
    }

    /// All of a graph that its plan depends on.
    pub(crate) fn of_graph(graph: Graph<'_>) -> Self {
        // This is made anew before every computation. One node's words need not wait for those of the node before.
        graph
            .nodes()
            .iter()
            .fold(Self::NEW.with(graph.len()), |this, node| this.join(Self::of_node(node)))
    }

    fn of_node(node: &Node) -> Self {
        let (kind, slot, offset) = match node.place {
            Place::Arena => (0, 0, 0),
            Place::Slot { slot, offset } => (1, slot, offset),
            Place::Within { source, offset } => (2, source, offset),
        };
        let small = [node.op.kind() as u8, node.desc.dtype as u8, node.flags.0, kind];
        let this = Self::NEW.with_bytes(small).with(usize::from(slot)).with(offset);
        let this = node.desc.ne.iter().chain(&node.desc.nb).fold(this, |s, n| s.with(*n));
        node.src.chunks(2).fold(this, |s, pair| {
            s.with(pair.iter().fold(0, |word, id| word << 16 | usize::from(id.0)))
        })
    }

    /// And where the plan put it.
    pub(crate) fn and_places(self, locs: &[Loc]) -> Self {
        locs.iter().fold(self, |s, loc| s.with(usize::from(loc.slot)).with(loc.offset))
    }
}
