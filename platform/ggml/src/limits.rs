//! What a library can't do although it does not say so.
//!
//! ggml's CPU backend answers "yes" for nearly every operation and stops the process inside a kernel that does not
//! know the types or strides; and a release knows nothing of parameters that were added after it. So a node is asked
//! about here first. Everything here is about facts of ggml's releases; a doubtful combination is a "no", and the
//! caller finds another device for the node.

use crate::numbers::Numbers;
use dinrail_core::hal::Query;
use dinrail_core::op::{GluKind, Op, Sources};
use dinrail_core::tensor::{DType, Desc};

/// Whether the release knows all of the node's parameters and sources.
pub(crate) fn of_release(numbers: &Numbers, q: &Query<'_>) -> bool {
    let has = &numbers.has;
    let one_plane =
        |m: Option<&Desc>| has.set_rows || m.is_none_or(|m| m.ne[2] == 1 && m.ne[3] == 1);
    match q.op {
        Op::Scale { bias, .. } => *bias == 0.0 || has.scale_bias,
        Op::SoftMax { .. } => {
            (q.src.source(2).is_none() || has.soft_max_sinks) && one_plane(q.src.source(1))
        }
        Op::FlashAttn { .. } => {
            (q.src.source(4).is_none() || has.flash_sinks) && one_plane(q.src.source(3))
        }
        // Row numbers of 32 bits came with version 2.
        Op::SetRows => {
            !matches!(numbers.layout, crate::abi::Layout::V1)
                || q.src.source(1).is_some_and(|b| b.dtype == DType::I64)
        }
        _ => true,
    }
}

/// Elements of a row follow each other, also where there is only one.
fn tight(d: &Desc) -> bool {
    d.nb[0] == d.dtype.block_bytes()
}

/// Rows may be apart, but evenly so through all planes.
fn even(d: &Desc) -> bool {
    tight(d)
        && (d.ne[2] == 1 || d.nb[2] == d.nb[1].wrapping_mul(d.ne[1]))
        && (d.ne[3] == 1 || d.nb[3] == d.nb[2].wrapping_mul(d.ne[2]))
}

fn is(d: &Desc, types: &[DType]) -> bool {
    types.contains(&d.dtype)
}

/// Types that weights come in: those that only intermediate results have can't be multiplied or decoded.
fn weight(t: DType) -> bool {
    t.is_quantized() && !matches!(t, DType::Q8_1 | DType::Q8_K)
}

const FLOATS: &[DType] = &[DType::F32, DType::F16, DType::BF16];

fn copies(a: &Desc, dst: &Desc, new: bool) -> bool {
    use DType::{F32, I32};
    if a.dtype == dst.dtype {
        // Old releases take a block for an element.
        let blocks = || new && a.is_contiguous() && dst.is_contiguous();
        return !a.dtype.is_quantized() || blocks();
    }
    let (from, to) = (a.dtype, dst.dtype);
    if FLOATS.contains(&from) && FLOATS.contains(&to) {
        return new || from == F32 || to == F32;
    }
    if (from, to) == (F32, I32) || (from, to) == (I32, F32) {
        return new;
    }
    if FLOATS.contains(&from) && weight(to) {
        // The working memory is measured by the result's rows and used by the source's.
        return tight(a) && dst.is_contiguous() && a.ne[0] == dst.ne[0];
    }
    weight(from) && to == F32 && tight(a) && dst.is_contiguous() && (new || a.same_shape(dst))
}

fn binary(src: &Sources, op: &Op, new: bool) -> bool {
    use DType::{BF16, F16, F32};
    let (Some(a), Some(b)) = (src.source(0), src.source(1)) else { return false };
    if !tight(a) {
        return false;
    }
    let add = matches!(op, Op::Add);
    match (a.dtype, b.dtype) {
        (F32, F32) => true,
        (F16, F16 | F32) | (BF16, BF16 | F32) => new || add && tight(b) && a.same_shape(b),
        (t, F32) if t.is_quantized() => add && weight(t) && tight(b) && a.same_shape(b),
        _ => false,
    }
}

fn flash(src: &Sources, new: bool) -> bool {
    use DType::{F16, F32};
    let (Some(q), Some(k), Some(v)) = (src.source(0), src.source(1), src.source(2)) else {
        return false;
    };
    let type_ok = |t: DType| t == F16 || weight(t) || new && t == F32;
    let good = type_ok(k.dtype) && type_ok(v.dtype) && (new || k.ne[0] == v.ne[0]);
    good && tight(q) && tight(k) && tight(v) && src.source(3).is_none_or(tight)
}

/// Whether the kernels of ggml's CPU backend take the node.
pub(crate) fn of_cpu(numbers: &Numbers, q: &Query<'_>) -> bool {
    use DType::{BF16, F16, F32, I8, I16, I32};
    if q.op.is_view() {
        return true;
    }
    // Kernels of July 2025 and later take more types.
    let new = numbers.has.set_rows;
    let (src, dst) = (q.src, q.dst);
    let sources = || (0..dinrail_core::graph::MAX_SRC).filter_map(|i| src.source(i));
    if !dst.is_empty() && sources().any(Desc::is_empty) {
        return false;
    }
    let first = |f: &dyn Fn(&Desc) -> bool| src.source(0).is_some_and(f);
    let second = |f: &dyn Fn(&Desc) -> bool| src.source(1).is_some_and(f);
    let float_rows = |d: &Desc| is(d, &[F32]) && tight(d);
    match q.op {
        Op::Cont | Op::Dup | Op::Cpy => first(&|a| copies(a, dst, new)),
        Op::Add | Op::Sub | Op::Mul | Op::Div => binary(src, q.op, new),
        Op::Add1 => {
            let pair =
                |a: &Desc, b: &Desc| b.dtype == a.dtype || b.dtype == F32 && is(a, &[F16, BF16]);
            first(&|a| is(a, FLOATS) && tight(a) && second(&|b| pair(a, b)))
        }
        Op::Acc(_) => second(&tight) && first(&|a| is(a, &[F32])),
        Op::Set(_) => second(&tight) && first(&|a| is(a, &[F32]) || new && is(a, &[I32])),
        Op::Scale { .. } => first(&|a| is(a, &[F32]) && a.is_contiguous() && tight(a)),
        Op::Sqr | Op::Sqrt | Op::Log | Op::Sin | Op::Cos | Op::Unary(_) => {
            first(&|a| (is(a, &[F32]) || new && is(a, &[F16])) && even(a))
        }
        Op::Glu(g) => {
            let half = !matches!(g.kind, GluKind::SwigluOai { .. });
            sources().all(|a| (is(a, &[F32]) || half && is(a, &[F16])) && even(a))
        }
        Op::Sum => first(&|a| is(a, FLOATS) && tight(a)),
        Op::SumRows | Op::Mean | Op::Argmax => first(&float_rows),
        Op::Argsort { .. } => first(&|a| is(a, &[F32]) && even(a)),
        Op::Repeat => first(&|a| is(a, &[F32, F16, BF16, I16, I32]) && tight(a)),
        Op::Concat { .. } => {
            sources().all(|a| is(a, &[F32, I32]) || new && is(a, &[F16, BF16, I16, I8]))
        }
        Op::Norm { eps } | Op::RmsNorm { eps } => (new || *eps > 0.0) && first(&float_rows),
        Op::L2Norm { .. } | Op::GroupNorm { .. } => first(&float_rows),
        Op::MulMat { .. } => {
            first(&|a| (is(a, FLOATS) || weight(a.dtype)) && tight(a)) && second(&tight)
        }
        Op::GetRows => first(&|a| (is(a, &[F32, F16, BF16, I32]) || weight(a.dtype)) && tight(a)),
        Op::SetRows => {
            first(&float_rows) && src.source(2).is_some_and(|c| is(c, FLOATS) || weight(c.dtype))
        }
        Op::DiagMaskInf { .. } => first(&|a| is(a, &[F32]) && a.is_contiguous() && tight(a)),
        Op::SoftMax { .. } => {
            first(&|a| is(a, &[F32]) && tight(a)) && src.source(1).is_none_or(Desc::is_contiguous)
        }
        Op::Rope(_) => first(&|a| is(a, &[F32, F16]) && tight(a)),
        Op::Clamp { .. } => first(&|a| (is(a, &[F32]) || new && is(a, &[F16])) && even(a)),
        Op::FlashAttn { .. } => flash(src, new),
        Op::Arange { .. } => true,
        _ => false,
    }
}
