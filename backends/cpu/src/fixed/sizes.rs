//! How large a graph's table is, and which of its entries several nodes share.

use dinrail_core::graph::{Graph, MAX_SRC, Node, Place};
use dinrail_core::op::{GluKind, Op, Rope, Unary};

/// How long the parts of a [`Fixed`](super::Fixed) table are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// Nodes that compute.
    pub steps: usize,
    /// Operands of all of them.
    pub operands: usize,
    /// Distinct types and shapes.
    pub descs: usize,
    /// Distinct operations.
    pub ops: usize,
    /// Slots, the arena among them.
    pub slots: usize,
}

impl Sizes {
    /// Counts. Only for graphs of up to [`MOST_NODES`].
    pub const fn of(graph: Graph<'_>) -> Self {
        let nodes = graph.nodes();
        let used = used(nodes);
        let mut sizes = Self { steps: 0, operands: 0, descs: 0, ops: 0, slots: 1 };
        let mut i = 0;
        while i < nodes.len() {
            let node = &nodes[i];
            if let Place::Slot { slot, .. } = node.place
                && sizes.slots <= slot as usize
            {
                sizes.slots = slot as usize + 1;
            }
            if computes(node) {
                sizes.steps += 1;
                sizes.operands += 1 + sources(node);
                if first_op(nodes, i) == i {
                    sizes.ops += 1;
                }
            }
            if used[i] && first_desc(nodes, &used, i) == i {
                sizes.descs += 1;
            }
            i += 1;
        }
        sizes
    }
}

pub(super) const fn computes(node: &Node) -> bool {
    !node.op.is_view() && !node.desc.is_empty()
}

/// Places that a node's sources take: up to the last one that is there.
pub(super) const fn sources(node: &Node) -> usize {
    let mut n = MAX_SRC;
    while n > 0 && node.src[n - 1].is_none() {
        n -= 1;
    }
    n
}

/// Most nodes of a graph that a table can be made of.
pub const MOST_NODES: usize = 1024;

/// Whether each node is the result or a source of a node that computes.
pub(super) const fn used(nodes: &[Node]) -> [bool; MOST_NODES] {
    let mut used = [false; MOST_NODES];
    let mut i = 0;
    while i < nodes.len() && i < MOST_NODES {
        if computes(&nodes[i]) {
            used[i] = true;
            let mut k = 0;
            while k < MAX_SRC {
                if !nodes[i].src[k].is_none() {
                    used[nodes[i].src[k].index()] = true;
                }
                k += 1;
            }
        }
        i += 1;
    }
    used
}

/// The first used node of the same type and shape.
pub(super) const fn first_desc(nodes: &[Node], used: &[bool; MOST_NODES], i: usize) -> usize {
    let mut j = 0;
    while j < i {
        if used[j] && nodes[j].desc.same_layout(&nodes[i].desc) {
            return j;
        }
        j += 1;
    }
    i
}

/// The first node that computes the same operation.
pub(super) const fn first_op(nodes: &[Node], i: usize) -> usize {
    let mut j = 0;
    while j < i {
        if computes(&nodes[j]) && same_op(&nodes[j].op, &nodes[i].op) {
            return j;
        }
        j += 1;
    }
    i
}

const fn same(a: f32, b: f32) -> bool {
    a.to_bits() == b.to_bits()
}

/// Whether one copy serves both. `false` is always right, and costs flash only.
pub(super) const fn same_op(a: &Op, b: &Op) -> bool {
    match (a, b) {
        (Op::RmsNorm { eps: a }, Op::RmsNorm { eps: b })
        | (Op::Norm { eps: a }, Op::Norm { eps: b }) => same(*a, *b),
        (Op::MulMat { precision: a }, Op::MulMat { precision: b }) => *a as u8 == *b as u8,
        (Op::Unary(Unary::Relu), Op::Unary(Unary::Relu))
        | (Op::Unary(Unary::Silu), Op::Unary(Unary::Silu))
        | (Op::Add, Op::Add)
        | (Op::Mul, Op::Mul)
        | (Op::GetRows, Op::GetRows)
        | (Op::SetRows, Op::SetRows) => true,
        (Op::Glu(a), Op::Glu(b)) => {
            matches!((a.kind, b.kind), (GluKind::Swiglu, GluKind::Swiglu)) && a.swapped == b.swapped
        }
        (Op::Rope(a), Op::Rope(b)) => same_rope(a, b),
        (
            Op::FlashAttn { scale: a, max_bias: b, softcap: c, precision: p },
            Op::FlashAttn { scale: d, max_bias: e, softcap: f, precision: q },
        ) => same(*a, *d) && same(*b, *e) && same(*c, *f) && *p as u8 == *q as u8,
        _ => false,
    }
}

const fn same_rope(a: &Rope, b: &Rope) -> bool {
    a.dims == b.dims
        && a.mode as u8 == b.mode as u8
        && a.trained_context == b.trained_context
        && same(a.base, b.base)
        && same(a.scale, b.scale)
        && same(a.ext_factor, b.ext_factor)
        && same(a.attn_factor, b.attn_factor)
        && same(a.beta_fast, b.beta_fast)
        && same(a.beta_slow, b.beta_slow)
}
