//! Sums, norms, order.

use super::Work;
use crate::Args;
use crate::table::Family;
use dinrail_core::hal::Query;
use dinrail_core::op::Op;
use dinrail_core::tensor::DType::{F32, I32};

pub(super) fn sums<'w>(args: &'w mut Args, q: &Query<'_>) -> Option<Work<'w>> {
    let a = q.src.source(0)?;
    let mut w = Work::new(args, Family::RowSum, [q.dst.dtype, a.dtype, F32], q.dst, &[a]);
    let all = matches!(q.op, Op::Sum);
    w.n([if all { a.elements() } else { a.ne[0] }, usize::from(all), 0, 0]);
    w.args.f(0, &[if matches!(q.op, Op::Mean) { 1.0 / a.ne[0] as f32 } else { 1.0 }]);
    w.groups = if all { 1 } else { a.rows() };
    Some(w)
}

pub(super) fn norm<'w>(args: &'w mut Args, q: &Query<'_>) -> Option<Work<'w>> {
    let a = q.src.source(0)?;
    let types = [q.dst.dtype, a.dtype, F32];
    if let Op::GroupNorm { groups, eps } = *q.op {
        let (groups, channels) = (groups as usize, a.ne[2]);
        let mut w = Work::new(args, Family::GroupNorm, types, q.dst, &[a]);
        w.n([a.ne[0] * a.ne[1], channels.div_ceil(groups), groups, channels]);
        w.args.f(0, &[eps]);
        w.groups = groups * a.ne[3];
        return Some(w);
    }
    let (kind, eps) = match *q.op {
        Op::RmsNorm { eps } => (0, eps),
        Op::Norm { eps } => (1, eps),
        Op::L2Norm { eps } => (2, eps),
        _ => return None,
    };
    let mut w = Work::new(args, Family::Norm, types, q.dst, &[a]);
    w.n([a.ne[0], kind, 0, 0]);
    w.args.f(0, &[eps]);
    w.groups = a.rows();
    Some(w)
}

pub(super) fn order<'w>(args: &'w mut Args, q: &Query<'_>) -> Option<Work<'w>> {
    let a = q.src.source(0)?;
    let types = [I32, a.dtype, F32];
    match *q.op {
        Op::Argmax => {
            let mut w = Work::new(args, Family::Argmax, types, q.dst, &[a]);
            w.n([a.ne[0], 0, 0, 0]);
            w.groups = a.rows();
            Some(w)
        }
        Op::Argsort { descending } => {
            let mut w = Work::new(args, Family::Argsort, types, q.dst, &[a]);
            w.n([a.elements(), usize::from(descending), 0, 0]);
            w.invocations(a.elements());
            Some(w)
        }
        _ => None,
    }
}
