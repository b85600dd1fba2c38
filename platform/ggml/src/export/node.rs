//! One tensor of a host's as a node of ours.

use super::buffer;
use super::codes::Codes;
use super::device;
use super::face::Dev;
use crate::abi::{self, Tensor};
use dinrail_core::graph::{Flags, Graph, MAX_SRC, Node, NodeId, Place};
use dinrail_core::hal::Query;
use dinrail_core::op::{Kind, Op, Sources};
use dinrail_core::tensor::Desc;

/// What a tensor's operation is to us.
pub(crate) struct Meaning {
    pub(crate) op: Op,
    pub(crate) desc: Desc,
    /// The source that is the result's own memory, where the tensor doesn't name it as such.
    pub(crate) own: Option<usize>,
}

/// Sources of a tensor, as references.
///
/// # Safety
/// `t` is a whole tensor whose sources live as long as the result is used.
pub(crate) unsafe fn source(t: &Tensor, i: usize) -> Option<&Tensor> {
    let p = *t.src.get(i)?;
    // SAFETY: the caller promises.
    (!p.is_null()).then(|| unsafe { &*p })
}

/// Whether a host's node computes nothing.
#[inline]
pub(crate) const fn is_view(kind: Kind) -> bool {
    matches!(kind, Kind::None | Kind::Reshape | Kind::View | Kind::Permute | Kind::Transpose)
}

/// What the tensor asks for; `None` where dinrail can't say it. Views mean [`Op::View`].
///
/// # Safety
/// As [`source`].
pub(crate) unsafe fn meaning(codes: &Codes, t: &Tensor) -> Option<Meaning> {
    let kind = codes.kind(t.op)?;
    let desc = codes.desc(t)?;
    let mut op = codes.op(kind, t)?;
    if is_view(kind) {
        return Some(Meaning { op, desc, own: None });
    }
    if t.src.get(MAX_SRC..).is_some_and(|rest| rest.iter().any(|s| !s.is_null())) {
        return None;
    }
    // SAFETY: the caller promises.
    let src = |i: usize| unsafe { source(t, i) };
    let me = core::ptr::from_ref(t);
    let mut own = None;
    match op {
        // A cast names itself as its target.
        Op::Cpy => {
            let target = src(1).filter(|s| !core::ptr::eq(*s, me) && s.data == t.data);
            if target.and_then(|s| codes.desc(s)) != Some(desc) {
                own = Some(1);
            }
        }
        Op::SetRows => {
            let target = src(2)?;
            if codes.desc(target)? != desc {
                return None;
            }
            if target.data != t.data {
                own = Some(2);
            }
        }
        // ggml's may change lengths and types as well, which is what a copy does here.
        Op::Cont | Op::Dup => {
            let a = codes.desc(src(0)?)?;
            if a.dtype != desc.dtype || !a.same_shape(&desc) || !desc.is_contiguous() {
                (op, own) = (Op::Cpy, Some(1));
            }
        }
        // ggml's own kernel passes over strides inside rows, so what such a sum means to hosts is not what it says.
        Op::Sum if !codes.desc(src(0)?)?.rows_contiguous() => return None,
        // SAFETY: the caller promises.
        _ if !unsafe { in_place(codes, &op, t, &desc) } => return None,
        _ => {}
    }
    Some(Meaning { op, desc, own })
}

/// Whether a result that lies in a source's memory by definition may do so with our kernels.
///
/// # Safety
/// As [`source`].
unsafe fn in_place(codes: &Codes, op: &Op, t: &Tensor, desc: &Desc) -> bool {
    if t.view_src.is_null() {
        return true;
    }
    (0..op.max_sources()).any(|i| {
        // SAFETY: the caller promises.
        let Some(s) = (unsafe { source(t, i) }) else { return false };
        let whole = core::ptr::eq(s, t.view_src) && t.view_offs == 0;
        let part = s.view_src == t.view_src && s.view_offs == t.view_offs;
        (whole || part) && op.may_reuse(i) && codes.desc(s).is_some_and(|d| d.same_layout(desc))
    })
}

const LEAF: Node = Node { place: Place::Slot { slot: 1, offset: 0 }, ..Node::EMPTY };

/// Asks `f` about a node by itself, if it obeys our rules.
///
/// # Safety
/// `t` points to a whole tensor with its sources.
unsafe fn ask(codes: &Codes, t: *const Tensor, f: impl FnOnce(&Query<'_>) -> bool) -> bool {
    if t.is_null() {
        return false;
    }
    // SAFETY: the caller promises.
    let t = unsafe { &*t };
    // SAFETY: as above.
    let Some(m) = (unsafe { meaning(codes, t) }) else { return false };
    if m.op.is_view() {
        return true;
    }
    let mut nodes = [LEAF; MAX_SRC + 1];
    let mut sources = Sources::NONE;
    let mut node = Node { desc: m.desc, op: m.op, flags: Flags(0), ..LEAF };
    let mut n = 0;
    for i in 0..MAX_SRC {
        // SAFETY: as above.
        let desc = match (m.own == Some(i), unsafe { source(t, i) }) {
            (true, _) => m.desc,
            (false, None) => continue,
            (false, Some(s)) => match codes.desc(s) {
                Some(d) => d,
                None => return false,
            },
        };
        sources = sources.with(i, desc);
        if let (Some(leaf), Some(to)) = (nodes.get_mut(n), node.src.get_mut(i)) {
            leaf.desc = desc;
            *to = NodeId(n as u16);
        }
        n += 1;
    }
    if let Some(last) = nodes.get_mut(n) {
        *last = node;
    }
    let whole = nodes.get(..=n).unwrap_or(&[]);
    Graph::check(whole).is_ok() && f(&Query { op: &node.op, dst: &node.desc, src: &sources })
}

/// Whether a source lies in memory in another order, which only weights of a product may.
///
/// # Safety
/// As [`source`].
unsafe fn repacked_elsewhere(t: &Tensor, op: &Op) -> bool {
    (0..MAX_SRC).any(|i| {
        // SAFETY: the caller promises.
        let Some(s) = (unsafe { source(t, i) }) else { return false };
        if s.buffer.is_null() {
            return false;
        }
        // SAFETY: a tensor's buffer.
        let repacked =
            unsafe { buffer::held(s.buffer) }.is_some_and(|h| h.buffer.buffer_type().is_repacked());
        repacked && !(i == 0 && matches!(op, Op::MulMat { .. }))
    })
}

/// Whether the device computes the tensor.
///
/// # Safety
/// `t` is null or points to a whole tensor with its sources.
pub(crate) unsafe fn supports(dev: &Dev, t: *const Tensor) -> bool {
    let codes = &dev.face().host.codes;
    // SAFETY: the caller promises.
    let Some(tensor) = (unsafe { t.as_ref() }) else { return false };
    let near = |q: &Query<'_>| {
        // SAFETY: as above.
        !unsafe { repacked_elsewhere(tensor, q.op) }
    };
    // SAFETY: as above.
    unsafe { ask(codes, t, |q| dev.device.supports(q) && near(q)) }
}

/// Whether the device wants the tensor though its weights lie elsewhere.
///
/// # Safety
/// As [`supports`].
pub(crate) unsafe fn offload(dev: &Dev, t: *const Tensor) -> bool {
    let codes = &dev.face().host.codes;
    // SAFETY: the caller promises.
    unsafe { ask(codes, t, |q| !q.op.is_view() && dev.device.offload(q)) }
}

/// Whether kernels can reach the memory of a buffer, ours or another's.
///
/// # Safety
/// `b` points to a buffer.
pub(crate) unsafe fn reaches(dev: &Dev, b: *mut abi::Buffer) -> bool {
    // SAFETY: the caller promises; the host's layout was checked.
    let ty = unsafe { (*b.cast::<buffer::Head>()).tail.buft };
    if ty.is_null() {
        return false;
    }
    // SAFETY: the kind of memory of a buffer.
    match unsafe { device::ours(ty) } {
        Some(t) => dev.device.supports_buffer_type(t.ty),
        // SAFETY: as above.
        None => dev.host_memory && unsafe { device::is_host(ty) },
    }
}
