//! What a thing was made of, in one word.
//!
//! Plans, programs and runs refer to memory of the caller's. A C program closes a buffer, fills the nodes of another graph into
//! the same array or leaves the block in which its slots were, and goes on; so what was found sound once is compared with
//! what is there now, before anything follows a pointer into it.

use dinrail::graph::{Graph, Place};
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

    pub(crate) fn with_bytes<const N: usize>(self, bytes: [u8; N]) -> Self {
        bytes.into_iter().fold(self, |s, b| s.with(usize::from(b)))
    }

    /// All of a graph that its plan depends on.
    pub(crate) fn of_graph(graph: Graph<'_>) -> Self {
        let mut this = Self::NEW.with(graph.len());
        for node in graph.nodes() {
            let (kind, slot, offset) = match node.place {
                Place::Arena => (0, 0, 0),
                Place::Slot { slot, offset } => (1, slot, offset),
                Place::Within { source, offset } => (2, source, offset),
            };
            let small = [node.op.kind() as u8, node.desc.dtype as u8, node.flags.0, kind, slot];
            this = this.with_bytes(small).with(offset);
            this = node.desc.ne.iter().chain(&node.desc.nb).fold(this, |s, n| s.with(*n));
            this = node.src.iter().fold(this, |s, id| s.with(usize::from(id.0)));
        }
        this
    }

    /// And where the plan put it.
    pub(crate) fn and_places(self, locs: &[Loc]) -> Self {
        locs.iter().fold(self, |s, loc| s.with(usize::from(loc.slot)).with(loc.offset))
    }
}
