//! Building a graph, at run time or in a `const`.

use super::{Flags, Graph, MAX_SRC, Node, NodeId, Place, first};
use crate::error::{Error, Result, What};
use crate::op::{self, Glu, GluKind, Kind, Op, Precision, Reason, Rope, Sources, Unary, Window};
use crate::tensor::{DType, Desc};

/// Adds nodes to borrowed storage.
///
/// Every method returns the new node. The first mistake is remembered and makes every later call return
/// [`NodeId::NONE`]; [`finish`](Self::finish) reports it. So building code needs no error handling of its own.
#[derive(Debug)]
pub struct Builder<'a> {
    nodes: &'a mut [Node],
    len: usize,
    done: Option<&'a mut usize>,
    error: Option<Error>,
}

impl<'a> Builder<'a> {
    /// Builds into a slice; its length is the capacity.
    pub const fn new(nodes: &'a mut [Node]) -> Self {
        Self::with_len(nodes, None)
    }

    pub(super) const fn with_len(nodes: &'a mut [Node], done: Option<&'a mut usize>) -> Self {
        Self { nodes, len: 0, done, error: None }
    }

    /// The finished graph.
    ///
    /// # Errors
    /// The first mistake made while building.
    pub const fn finish(self) -> Result<Graph<'a>> {
        if let Some(e) = self.error {
            return Err(e);
        }
        if let Some(done) = self.done {
            *done = self.len;
        }
        Ok(Graph { nodes: first(self.nodes, self.len) })
    }

    /// Nodes so far.
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no nodes yet.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The first mistake, if there was one.
    pub const fn error(&self) -> Option<Error> {
        self.error
    }

    /// Type, lengths and strides of a node; `None` for `NodeId::NONE`.
    pub const fn desc(&self, id: NodeId) -> Option<Desc> {
        if id.index() < self.len { Some(self.nodes[id.index()].desc) } else { None }
    }

    /// Remembers a mistake that the caller found.
    pub const fn fail(&mut self, error: Error) -> NodeId {
        if self.error.is_none() {
            self.error = Some(error);
        }
        NodeId::NONE
    }

    const fn wrong(&mut self, op: Kind, reason: Reason) -> NodeId {
        let node = NodeId(if self.len < u16::MAX as usize { self.len as u16 } else { u16::MAX });
        self.fail(Error::Node { node, op, reason })
    }

    const fn push(&mut self, node: Node) -> NodeId {
        if self.error.is_some() {
            return NodeId::NONE;
        }
        if self.len >= self.nodes.len() || self.len >= u16::MAX as usize - 1 {
            let have = self.nodes.len();
            return self.fail(Error::Full { what: What::Nodes, need: self.len + 1, have });
        }
        let id = NodeId(self.len as u16);
        self.nodes[self.len] = node;
        self.len += 1;
        id
    }

    /// A leaf that the caller fills before each run, placed in the arena. Its memory may be used again after the
    /// last node that reads it, so fill it anew before the next run.
    pub const fn input(&mut self, dtype: DType, ne: [usize; 4]) -> NodeId {
        self.place_leaf(dtype, ne, Place::Arena, Flags::INPUT)
    }

    /// A leaf at a fixed offset of a slot: a weight, a cache, an input in memory of the caller's own.
    pub const fn leaf(&mut self, dtype: DType, ne: [usize; 4], slot: u8, offset: usize) -> NodeId {
        self.place_leaf(dtype, ne, Place::Slot { slot, offset }, Flags(0))
    }

    /// A [`leaf`](Self::leaf) that is marked as weights.
    pub const fn weight(&mut self, dtype: DType, ne: [usize; 4], slot: u8, at: usize) -> NodeId {
        self.place_leaf(dtype, ne, Place::Slot { slot, offset: at }, Flags::WEIGHT)
    }

    const fn place_leaf(
        &mut self,
        dtype: DType,
        ne: [usize; 4],
        place: Place,
        flags: Flags,
    ) -> NodeId {
        match op::fresh(dtype, ne) {
            Ok(desc) => {
                self.push(Node { desc, op: Op::None, src: [NodeId::NONE; MAX_SRC], place, flags })
            }
            Err(reason) => self.wrong(Kind::None, reason),
        }
    }

    /// A node that is wholly described by the caller; checked like any other.
    pub const fn node(&mut self, node: Node) -> NodeId {
        if self.error.is_some() {
            return NodeId::NONE;
        }
        match check_node(first(self.nodes, self.len), self.len, &node) {
            Ok(()) => self.push(node),
            Err(e) => self.fail(e),
        }
    }

    /// Any operation on up to five sources; `NodeId::NONE` stands for an optional source that is left out.
    pub const fn op(&mut self, op: Op, src: &[NodeId]) -> NodeId {
        self.op_to(op, src, None)
    }

    /// As [`op`](Self::op), with the lengths of the result where the operation doesn't fix them.
    pub const fn op_to(&mut self, op: Op, src: &[NodeId], want: Option<[usize; 4]>) -> NodeId {
        if self.error.is_some() {
            return NodeId::NONE;
        }
        let kind = op.kind();
        let mut ids = [NodeId::NONE; MAX_SRC];
        if src.len() > MAX_SRC {
            return self.wrong(kind, Reason::TooManySources);
        }
        let mut i = 0;
        while i < src.len() {
            ids[i] = src[i];
            i += 1;
        }
        let sources = match gather(first(self.nodes, self.len), &ids) {
            Ok(s) => s,
            Err(reason) => return self.wrong(kind, reason),
        };
        let desc = match op::infer(&op, &sources, want) {
            Ok(d) => d,
            Err(reason) => return self.wrong(kind, reason),
        };
        let place = match op.alias() {
            Some(source) => Place::Within { source: source as u8, offset: 0 },
            None => Place::Arena,
        };
        self.push(Node { desc, op, src: ids, place, flags: Flags(0) })
    }

    /// Marks a node's data to be read after the run. A view's mark protects the memory behind it.
    pub const fn output(&mut self, id: NodeId) {
        self.mark(id, Flags::OUTPUT);
    }

    /// Adds marks to a node.
    pub const fn mark(&mut self, id: NodeId, flags: Flags) {
        if id.index() < self.len {
            let node = &mut self.nodes[id.index()];
            node.flags = node.flags.or(flags);
        }
    }

    /// A window on `a`: lengths `ne`, strides `nb` of dimensions 1 to 3 in bytes, from byte `offset` of `a`.
    pub const fn view(
        &mut self,
        a: NodeId,
        ne: [usize; 4],
        nb: [usize; 3],
        offset: usize,
    ) -> NodeId {
        let Some(of) = self.desc(a) else {
            return self.wrong(Kind::View, Reason::UnknownSource);
        };
        let desc = Desc { ne, nb: [of.dtype.block_bytes(), nb[0], nb[1], nb[2]], dtype: of.dtype };
        let mut src = [NodeId::NONE; MAX_SRC];
        src[0] = a;
        let place = Place::Within { source: 0, offset };
        self.node(Node { desc, op: Op::View, src, place, flags: Flags(0) })
    }

    /// A window of packed rows: `n` elements from byte `offset`.
    pub const fn view_1d(&mut self, a: NodeId, n: usize, offset: usize) -> NodeId {
        let Some(of) = self.desc(a) else {
            return self.wrong(Kind::View, Reason::UnknownSource);
        };
        let row = crate::tensor::shape::packed(of.dtype, &[n, 1, 1, 1])[1];
        self.view(a, [n, 1, 1, 1], [row, row, row], offset)
    }
}

/// Descriptions of the sources `ids` among `nodes`.
const fn gather(nodes: &[Node], ids: &[NodeId; MAX_SRC]) -> Result<Sources, Reason> {
    let mut sources = Sources::NONE;
    let mut i = 0;
    while i < MAX_SRC {
        if !ids[i].is_none() {
            if ids[i].index() >= nodes.len() {
                return Err(Reason::UnknownSource);
            }
            sources = sources.with(i, nodes[ids[i].index()].desc);
        }
        i += 1;
    }
    Ok(sources)
}

/// Checks node `i` against the nodes before it.
pub(super) const fn check_node(nodes: &[Node], i: usize, n: &Node) -> Result<()> {
    match check(first(nodes, i), n) {
        Ok(()) => Ok(()),
        Err(reason) => {
            let node = NodeId(if i < u16::MAX as usize { i as u16 } else { u16::MAX });
            Err(Error::Node { node, op: n.op.kind(), reason })
        }
    }
}

const fn check(before: &[Node], n: &Node) -> Result<(), Reason> {
    let span = match n.desc.checked_span() {
        Ok(b) => b,
        Err(e) => return Err(Reason::from_size(e)),
    };
    let sources = match gather(before, &n.src) {
        Ok(s) => s,
        Err(e) => return Err(e),
    };
    match n.op {
        Op::None => {
            if sources.source(0).is_some() {
                return Err(Reason::TooManySources);
            }
        }
        Op::View => {
            if sources.source(0).is_none() {
                return Err(Reason::MissingSource);
            }
        }
        _ => {
            let d = match op::infer(&n.op, &sources, Some(n.desc.ne)) {
                Ok(d) => d,
                Err(e) => return Err(e),
            };
            if d.dtype as u8 != n.desc.dtype as u8 || !d.same_shape(&n.desc) {
                return Err(Reason::ResultShape);
            }
            // Only a permutation's strides are the operation's business.
            if matches!(n.op, Op::Permute { .. } | Op::Transpose) && !d.same_layout(&n.desc) {
                return Err(Reason::ResultShape);
            }
        }
    }
    match n.place {
        Place::Within { source, offset } => {
            let Some(of) = sources.source(source as usize) else {
                return Err(Reason::MissingSource);
            };
            let whole = of.bytes();
            if span > 0 && (offset > whole || span > whole - offset) {
                return Err(Reason::OutOfRange);
            }
        }
        Place::Arena if n.op.alias().is_some() => return Err(Reason::OutOfRange),
        _ => {}
    }
    Ok(())
}

macro_rules! one {
    ($($(#[$doc:meta])* $name:ident => $op:expr;)*) => {
        /// Operations of one source.
        impl Builder<'_> {
            $($(#[$doc])* pub const fn $name(&mut self, a: NodeId) -> NodeId { self.op($op, &[a]) })*
        }
    };
}

macro_rules! two {
    ($($(#[$doc:meta])* $name:ident => $op:expr;)*) => {
        /// Operations of two sources.
        impl Builder<'_> {
            $($(#[$doc])* pub const fn $name(&mut self, a: NodeId, b: NodeId) -> NodeId { self.op($op, &[a, b]) })*
        }
    };
}

one! {
    /// Dimensions 0 and 1 change places; a view.
    transpose => Op::Transpose;
    /// A contiguous copy.
    cont => Op::Cont;
    /// A contiguous copy.
    dup => Op::Dup;
    /// Squares.
    sqr => Op::Sqr;
    /// Square roots.
    sqrt => Op::Sqrt;
    /// Natural logarithms.
    log => Op::Log;
    /// Sines.
    sin => Op::Sin;
    /// Cosines.
    cos => Op::Cos;
    /// The sum of all elements.
    sum => Op::Sum;
    /// The sum of each row.
    sum_rows => Op::SumRows;
    /// The mean of each row.
    mean => Op::Mean;
    /// The index of each row's largest element.
    argmax => Op::Argmax;
    /// `max(x, 0)`.
    relu => Op::Unary(Unary::Relu);
    /// `x * sigmoid(x)`.
    silu => Op::Unary(Unary::Silu);
    /// GELU, tanh approximation.
    gelu => Op::Unary(Unary::Gelu);
}

two! {
    /// `a + b`, b repeated.
    add => Op::Add;
    /// `a - b`, b repeated.
    sub => Op::Sub;
    /// `a * b`, b repeated.
    mul => Op::Mul;
    /// `a / b`, b repeated.
    div => Op::Div;
    /// `a + b`, b a single element.
    add1 => Op::Add1;
    /// `a [k, n]`, `b [k, m]` give `[n, m]`.
    mul_mat => Op::MulMat { precision: Precision::Default };
    /// Rows of `a` at the indices `b`.
    get_rows => Op::GetRows;
    /// Copies and converts `a` into `b`.
    cpy => Op::Cpy;
}

/// Operations with parameters.
impl Builder<'_> {
    /// The same elements under other lengths; a view.
    pub const fn reshape(&mut self, a: NodeId, ne: [usize; 4]) -> NodeId {
        self.op_to(Op::Reshape, &[a], Some(ne))
    }

    /// Dimension `i` of `a` becomes dimension `axes[i]`; a view.
    pub const fn permute(&mut self, a: NodeId, axes: [u8; 4]) -> NodeId {
        self.op(Op::Permute { axes }, &[a])
    }

    /// `a` repeated to lengths `ne`.
    pub const fn repeat(&mut self, a: NodeId, ne: [usize; 4]) -> NodeId {
        self.op_to(Op::Repeat, &[a], Some(ne))
    }

    /// `a` and `b` one after the other along `dim`.
    pub const fn concat(&mut self, a: NodeId, b: NodeId, dim: u8) -> NodeId {
        self.op(Op::Concat { dim }, &[a, b])
    }

    /// `a * scale + bias`.
    pub const fn scale(&mut self, a: NodeId, scale: f32, bias: f32) -> NodeId {
        self.op(Op::Scale { scale, bias }, &[a])
    }

    /// Each element limited to `min..=max`.
    pub const fn clamp(&mut self, a: NodeId, min: f32, max: f32) -> NodeId {
        self.op(Op::Clamp { min, max }, &[a])
    }

    /// A copy of `a` with `b` added in the window.
    pub const fn acc(&mut self, a: NodeId, b: NodeId, window: Window) -> NodeId {
        self.op(Op::Acc(window), &[a, b])
    }

    /// A copy of `a` with `b` stored in the window.
    pub const fn set(&mut self, a: NodeId, b: NodeId, window: Window) -> NodeId {
        self.op(Op::Set(window), &[a, b])
    }

    /// Rows minus mean, over standard deviation.
    pub const fn norm(&mut self, a: NodeId, eps: f32) -> NodeId {
        self.op(Op::Norm { eps }, &[a])
    }

    /// Rows over their root mean square.
    pub const fn rms_norm(&mut self, a: NodeId, eps: f32) -> NodeId {
        self.op(Op::RmsNorm { eps }, &[a])
    }

    /// Norm over groups of channels.
    pub const fn group_norm(&mut self, a: NodeId, groups: u32, eps: f32) -> NodeId {
        self.op(Op::GroupNorm { groups, eps }, &[a])
    }

    /// Rows over their length.
    pub const fn l2_norm(&mut self, a: NodeId, eps: f32) -> NodeId {
        self.op(Op::L2Norm { eps }, &[a])
    }

    /// Stores the rows `rows` at the row numbers `at` of `target`.
    pub const fn set_rows(&mut self, rows: NodeId, at: NodeId, target: NodeId) -> NodeId {
        self.op(Op::SetRows, &[rows, at, target])
    }

    /// Minus infinity above the diagonal.
    pub const fn diag_mask_inf(&mut self, a: NodeId, past: u32) -> NodeId {
        self.op(Op::DiagMaskInf { past }, &[a])
    }

    /// `softmax(a * scale + mask)`; `mask` may be `NodeId::NONE`.
    pub const fn soft_max(&mut self, a: NodeId, mask: NodeId, scale: f32, max_bias: f32) -> NodeId {
        self.op(Op::SoftMax { scale, max_bias }, &[a, mask])
    }

    /// Rotary embedding; `factors` may be `NodeId::NONE`.
    pub const fn rope(&mut self, a: NodeId, at: NodeId, factors: NodeId, rope: Rope) -> NodeId {
        self.op(Op::Rope(rope), &[a, at, factors])
    }

    /// A function of one element.
    pub const fn unary(&mut self, a: NodeId, f: Unary) -> NodeId {
        self.op(Op::Unary(f), &[a])
    }

    /// A gated unit of two tensors.
    pub const fn glu(&mut self, x: NodeId, gate: NodeId, kind: GluKind) -> NodeId {
        self.op(Op::Glu(Glu { kind, swapped: false }), &[x, gate])
    }

    /// Attention in one node; `mask` may be `NodeId::NONE`.
    pub const fn flash_attn(
        &mut self,
        q: NodeId,
        k: NodeId,
        v: NodeId,
        mask: NodeId,
        scale: f32,
    ) -> NodeId {
        let precision = Precision::Default;
        self.op(Op::FlashAttn { scale, max_bias: 0.0, softcap: 0.0, precision }, &[q, k, v, mask])
    }

    /// `start, start + step, ..` below `stop`.
    pub const fn arange(&mut self, start: f32, stop: f32, step: f32) -> NodeId {
        self.op(Op::Arange { start, stop, step }, &[])
    }

    /// Indices that sort each row.
    pub const fn argsort(&mut self, a: NodeId, descending: bool) -> NodeId {
        self.op(Op::Argsort { descending }, &[a])
    }
}
