//! The graph: nodes in storage that the caller owns.
//!
//! A graph holds no pointers. A [`Node`] names its sources by index and its data by a [`Place`]; which memory that is,
//! [`Bindings`](crate::program::Binding) say at run time. So a graph is plain data: it can be built in a `const`, live
//! in flash, be sent elsewhere, or be hashed.
//!
//! ```
//! use dinrail_core::graph::GraphBuf;
//! use dinrail_core::tensor::{DType, Desc};
//!
//! const fn build() -> GraphBuf<4> {
//!     let mut buf = GraphBuf::new();
//!     let mut b = buf.builder();
//!     let x = b.input(DType::F32, [64, 1, 1, 1]);
//!     let w = b.leaf(DType::Q8_0, [64, 32, 1, 1], 1, 0);
//!     let y = b.mul_mat(w, x);
//!     b.output(y);
//!     match b.finish() {
//!         Ok(_) => buf,
//!         Err(_) => panic!("the graph is wrong"),
//!     }
//! }
//! const GRAPH: GraphBuf<4> = build();
//! assert_eq!(GRAPH.graph().len(), 3);
//! ```

mod build;

pub use build::Builder;

use crate::error::{Error, Result};
use crate::op::Op;
use crate::tensor::{DType, Desc};

/// Most sources that a node can have.
pub const MAX_SRC: usize = 8;

/// The slot that the planner's arena is bound to.
pub const ARENA: u8 = 0;

/// Index of a node in its graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[repr(transparent)]
pub struct NodeId(pub u16);

impl NodeId {
    /// No node.
    pub const NONE: Self = Self(u16::MAX);

    /// The index.
    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// Whether this names no node.
    #[inline]
    pub const fn is_none(self) -> bool {
        self.0 == u16::MAX
    }
}

/// Where a node's data lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Place {
    /// Wherever the planner puts it in the arena.
    Arena,
    /// At a fixed offset of what the caller binds to a slot.
    Slot {
        /// Number of the slot.
        slot: u8,
        /// First byte.
        offset: usize,
    },
    /// In the memory of one of its own sources: a view, or an operation that writes in place.
    Within {
        /// Which source.
        source: u8,
        /// First byte, counted from that source's first byte.
        offset: usize,
    },
}

/// Marks on a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Flags(pub u8);

impl Flags {
    /// The caller writes it before each run.
    pub const INPUT: Self = Self(1);
    /// The caller reads it after the run, so its memory is not used again.
    pub const OUTPUT: Self = Self(2);
    /// Weights: read often, written never.
    pub const WEIGHT: Self = Self(4);

    /// Whether all marks of `other` are set.
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Both sets of marks.
    pub const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// A node: an operation on earlier nodes, or a leaf.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Node {
    /// Type, lengths and strides of the result.
    pub desc: Desc,
    /// The operation.
    pub op: Op,
    /// Its sources; `NodeId::NONE` where there is none.
    pub src: [NodeId; MAX_SRC],
    /// Where the result lives.
    pub place: Place,
    /// Marks.
    pub flags: Flags,
}

impl Node {
    /// Unused storage.
    pub const EMPTY: Self = Self {
        desc: Desc { ne: [0; 4], nb: [0; 4], dtype: DType::F32 },
        op: Op::None,
        src: [NodeId::NONE; MAX_SRC],
        place: Place::Arena,
        flags: Flags(0),
    };

    /// Source `i`, if the node has one.
    #[inline]
    pub const fn source(&self, i: usize) -> Option<NodeId> {
        if i < MAX_SRC && !self.src[i].is_none() { Some(self.src[i]) } else { None }
    }
}

/// A finished graph, borrowed. Every node has passed its operation's shape rule and names only earlier nodes.
#[derive(Clone, Copy, Debug)]
pub struct Graph<'a> {
    nodes: &'a [Node],
}

impl<'a> Graph<'a> {
    /// Nodes that this crate laid down itself.
    pub(crate) const fn trusted(nodes: &'a [Node]) -> Self {
        Self { nodes }
    }

    /// Number of nodes, leaves included.
    #[inline]
    pub const fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there are no nodes.
    pub const fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// The nodes in the order of computation.
    #[inline]
    pub const fn nodes(&self) -> &'a [Node] {
        self.nodes
    }

    /// A node.
    #[inline]
    pub const fn node(&self, id: NodeId) -> Option<&'a Node> {
        if id.index() < self.nodes.len() { Some(&self.nodes[id.index()]) } else { None }
    }

    /// A number that is equal for equal graphs, on every machine (FNV-1a over all that a node says).
    /// For caches keyed by graph; not for security.
    pub fn fingerprint(&self) -> u64 {
        use core::hash::{Hash, Hasher};
        let mut h = Fnv(0xcbf2_9ce4_8422_2325);
        for n in self.nodes {
            (n.op.kind() as u8).hash(&mut h);
            n.op.hash_parameters(&mut h);
            h.write_u8(n.desc.dtype as u8);
            for i in 0..4 {
                h.write_u64(n.desc.ne[i] as u64);
                h.write_u64(n.desc.nb[i] as u64);
            }
            for s in n.src {
                h.write_u16(s.0);
            }
            let (tag, which, offset) = match n.place {
                Place::Arena => (0u8, 0u8, 0usize),
                Place::Slot { slot, offset } => (1, slot, offset),
                Place::Within { source, offset } => (2, source, offset),
            };
            h.write_u8(tag);
            h.write_u8(which);
            h.write_u64(offset as u64);
            h.write_u8(n.flags.0);
        }
        h.finish()
    }
}

/// FNV-1a, fed little-endian so that it doesn't depend on the machine.
pub(crate) struct Fnv(pub u64);

impl core::hash::Hasher for Fnv {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        for &b in bytes {
            self.0 = (self.0 ^ u64::from(b)).wrapping_mul(0x100_0000_01b3);
        }
    }
    fn write_u8(&mut self, v: u8) {
        self.write(&[v]);
    }
    fn write_u16(&mut self, v: u16) {
        self.write(&v.to_le_bytes());
    }
    fn write_u32(&mut self, v: u32) {
        self.write(&v.to_le_bytes());
    }
    fn write_u64(&mut self, v: u64) {
        self.write(&v.to_le_bytes());
    }
    fn write_usize(&mut self, v: usize) {
        self.write_u64(v as u64);
    }
}

/// Storage for a graph of up to `N` nodes.
#[derive(Clone, Copy, Debug)]
pub struct GraphBuf<const N: usize> {
    nodes: [Node; N],
    len: usize,
}

impl<const N: usize> GraphBuf<N> {
    /// An empty graph.
    pub const fn new() -> Self {
        const { assert!(N < u16::MAX as usize, "a graph has at most 65534 nodes") }
        Self { nodes: [Node::EMPTY; N], len: 0 }
    }

    /// Starts a new graph in this storage; the old one is gone.
    pub const fn builder(&mut self) -> Builder<'_> {
        self.len = 0;
        Builder::with_len(&mut self.nodes, Some(&mut self.len))
    }

    /// The graph that the last finished builder left.
    pub const fn graph(&self) -> Graph<'_> {
        Graph { nodes: first(&self.nodes, self.len) }
    }
}

impl<const N: usize> Default for GraphBuf<N> {
    fn default() -> Self {
        Self::new()
    }
}

/// The first `n` items, or all where there are fewer.
pub(crate) const fn first<T>(items: &[T], n: usize) -> &[T] {
    match items.split_at_checked(n) {
        Some((head, _)) => head,
        None => items,
    }
}

impl<'a> Graph<'a> {
    /// Takes nodes that somebody else laid down, checking each as the builder would: for graphs that come over a
    /// wire or through a plug-in interface.
    ///
    /// # Errors
    /// The first node that breaks its operation's rule.
    pub fn check(nodes: &'a [Node]) -> Result<Self> {
        for (i, n) in nodes.iter().enumerate() {
            build::check_node(nodes, i, n)?;
        }
        if nodes.len() >= u16::MAX as usize {
            return Err(Error::Full {
                what: crate::error::What::Nodes,
                need: nodes.len(),
                have: u16::MAX as usize - 1,
            });
        }
        Ok(Self { nodes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::Reason;

    #[test]
    fn capacity_is_exact() {
        let mut buf = GraphBuf::<3>::new();
        let mut b = buf.builder();
        let x = b.input(DType::F32, [4, 1, 1, 1]);
        let y = b.add(x, x);
        b.mul(y, y);
        assert!(b.finish().is_ok());
        let mut b = buf.builder();
        let x = b.input(DType::F32, [4, 1, 1, 1]);
        let y = b.add(x, x);
        let z = b.mul(y, y);
        assert!(b.add(z, z).is_none());
        assert!(matches!(b.finish(), Err(Error::Full { need: 4, have: 3, .. })));
        assert_eq!(buf.graph().len(), 0, "a failed builder leaves no half graph");
    }

    #[test]
    fn the_first_error_is_kept() {
        let mut buf = GraphBuf::<8>::new();
        let mut b = buf.builder();
        let x = b.input(DType::F32, [4, 2, 1, 1]);
        let w = b.leaf(DType::F32, [5, 3, 1, 1], 1, 0);
        let bad = b.mul_mat(w, x);
        let next = b.relu(bad);
        assert!(next.is_none());
        assert!(matches!(
            b.finish(),
            Err(Error::Node { node: NodeId(2), reason: Reason::InnerLength, .. })
        ));
    }

    #[test]
    fn fingerprints_tell_graphs_apart() {
        let mut one = GraphBuf::<4>::new();
        let mut b = one.builder();
        let x = b.input(DType::F32, [4, 1, 1, 1]);
        b.scale(x, 2.0, 0.0);
        let a = b.finish().unwrap().fingerprint();
        let mut b = one.builder();
        let x = b.input(DType::F32, [4, 1, 1, 1]);
        b.scale(x, 2.5, 0.0);
        assert_ne!(a, b.finish().unwrap().fingerprint());
    }
}
