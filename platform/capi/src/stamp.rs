//! What a thing was made of, in one word.
//!
//! Plans, programs and runs refer to memory of the caller's. A C program closes a buffer, fills the nodes of another graph into
//! the same array or leaves the block in which its slots were, and goes on; so what was found sound once is compared with
//! what is there now, before anything follows a pointer into it.

use core::hash::Hasher;
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

    /// All of a graph.
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
        let this = node.src.chunks(2).fold(this, |s, pair| {
            s.with(pair.iter().fold(0, |word, id| word << 16 | usize::from(id.0)))
        });
        // What a device keeps of a program has them in it.
        let mut parameters = Words(this);
        node.op.hash_parameters(&mut parameters);
        parameters.0
    }

    /// And where the plan put it.
    pub(crate) fn and_places(self, locs: &[Loc]) -> Self {
        locs.iter().fold(self, |s, loc| s.with(usize::from(loc.slot)).with(loc.offset))
    }
}

/// Takes four bytes at a time.
struct Words(Stamp);

impl Hasher for Words {
    fn write(&mut self, bytes: &[u8]) {
        for piece in bytes.chunks(4) {
            let word = piece.iter().fold(0, |word, b| word << 8 | usize::from(*b));
            self.0 = self.0.with(word);
        }
    }

    fn finish(&self) -> u64 {
        self.0.0 as u64
    }
}

#[cfg(test)]
mod tests {
    use super::Stamp;
    use dinrail::graph::{Builder, GraphBuf, NodeId};
    use dinrail::op::Unary;
    use dinrail::tensor::DType;

    fn stamp(last: impl FnOnce(&mut Builder<'_>, [NodeId; 2]) -> NodeId) -> Stamp {
        let mut buf = GraphBuf::<8>::new();
        let mut b = buf.builder();
        let x = b.input(DType::F32, [4, 4, 1, 1]);
        let w = b.weight(DType::F32, [4, 4, 1, 1], 1, 0);
        let y = last(&mut b, [x, w]);
        b.output(y);
        Stamp::of_graph(b.finish().unwrap())
    }

    /// Whatever differs, all shapes being alike.
    #[test]
    fn one_difference_is_enough() {
        let leaf = |slot, offset| {
            stamp(move |b, [x, _]| {
                let w = b.leaf(DType::F32, [4, 4, 1, 1], slot, offset);
                b.add(x, w)
            })
        };
        let view = |offset| {
            stamp(move |b, [x, _]| {
                let v = b.view(x, [2, 2, 1, 1], [16, 64, 64], offset);
                b.cont(v)
            })
        };
        let all = [
            stamp(|b, [x, w]| b.add(x, w)),
            stamp(|b, [x, w]| b.add(w, x)),
            stamp(|b, [x, w]| b.sub(x, w)),
            stamp(|b, [x, _]| b.unary(x, Unary::Relu)),
            stamp(|b, [x, _]| b.unary(x, Unary::Silu)),
            stamp(|b, [x, _]| b.scale(x, 2.0, 0.0)),
            stamp(|b, [x, _]| b.scale(x, 3.0, 0.0)),
            stamp(|b, [x, _]| b.scale(x, 3.0, 1.0)),
            stamp(|b, [x, _]| b.rms_norm(x, 1e-5)),
            stamp(|b, [x, _]| b.rms_norm(x, 1e-6)),
            leaf(1, 64),
            leaf(2, 64),
            leaf(1, 128),
            view(0),
            view(4),
        ];
        for (i, a) in all.iter().enumerate() {
            assert!(all.iter().take(i).all(|b| a != b), "{i}");
        }
    }
}
