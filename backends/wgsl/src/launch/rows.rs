//! Rows by number.

use super::{Work, layout};
use crate::Args;
use crate::table::Family;
use dinrail_core::hal::Query;
use dinrail_core::tensor::DType::{F32, I32, I64};

pub(super) fn get<'w>(args: &'w mut Args, q: &Query<'_>) -> Option<Work<'w>> {
    let (a, b) = (q.src.source(0)?, q.src.source(1)?);
    if a.dtype == I32 {
        let mut w = Work::new(args, Family::GetWords, [I32; 3], q.dst, &[a, b]);
        w.n([q.dst.elements(), a.ne[1], 0, 0]);
        w.invocations(q.dst.elements());
        return Some(w);
    }
    let mut w = Work::new(args, Family::GetRows, [F32, a.dtype, I32], q.dst, &[a, b]);
    let n = layout::chunks(a) * b.elements();
    w.n([n, layout::chunks(a), a.ne[1], 0]);
    w.invocations(n);
    Some(w)
}

pub(super) fn set<'w>(args: &'w mut Args, q: &Query<'_>) -> Option<Work<'w>> {
    let (a, b) = (q.src.source(0)?, q.src.source(1)?);
    if q.dst.dtype.is_quantized() {
        let blocks = a.ne[0] / q.dst.dtype.block_len();
        let types = [q.dst.dtype, a.dtype, I32];
        let mut w = Work::new(args, Family::SetBlocks, types, q.dst, &[a, b]);
        let n = blocks * a.rows();
        w.n([n, if b.dtype == I64 { 2 } else { 1 }, q.dst.ne[1], blocks]);
        w.invocations(n);
        return Some(w);
    }
    let mut w = Work::new(args, Family::SetRows, [q.dst.dtype, a.dtype, I32], q.dst, &[a, b]);
    w.n([a.elements(), if b.dtype == I64 { 2 } else { 1 }, q.dst.ne[1], 0]);
    w.invocations(a.elements());
    Some(w)
}
