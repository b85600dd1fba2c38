//! `ARGSORT`: the indices that sort each row.

use super::mem::Mem;
use super::walk::Rows;
use crate::{Args, Kernel};
use core::cmp::Ordering;
use dinrail_core::error::Result;
use dinrail_core::hal::Query;
use dinrail_core::op::Op;
use dinrail_core::tensor::DType;

/// The kernel.
pub(super) const fn resolve(q: &Query<'_>) -> Option<Kernel> {
    match q.dst.dtype {
        DType::I32 => Some(argsort),
        _ => None,
    }
}

/// Equal elements stay in the order of their indices, which makes any way of sorting stable. NaNs come last, whichever
/// the direction.
///
/// # Safety
/// As [`Kernel`].
unsafe fn argsort(args: &Args<'_>) -> Result<()> {
    let (Some(src), &Op::Argsort { descending }) = (args.src[0], args.op) else { return Ok(()) };
    // SAFETY: the contract of `Kernel`; workers write disjoint rows.
    let mut dst = unsafe { Mem::new(&args.dst) };
    // SAFETY: as above.
    let src = unsafe { Mem::new(&src) };
    let (d, s) = (dst.desc, src.desc);
    for [i1, i2, i3] in Rows::new(&d.ne, args.worker.share(d.rows())) {
        let from = s.row_offset(i1, i2, i3);
        let value = |i: i32| src.get::<f32>(from.wrapping_add(i as usize * 4));
        let Some(row) = dst.words(d.row_offset(i1, i2, i3), d.ne[0]) else { continue };
        row.iter_mut().zip(0..).for_each(|(to, i)| *to = i);
        row.sort_unstable_by(|&i, &j| {
            let (x, y) = (value(i), value(j));
            let by_value = match (x.is_nan(), y.is_nan()) {
                (false, false) if descending => y.partial_cmp(&x),
                (false, false) => x.partial_cmp(&y),
                (nan, other) => Some(nan.cmp(&other)),
            };
            by_value.unwrap_or(Ordering::Equal).then(i.cmp(&j))
        });
    }
    Ok(())
}
