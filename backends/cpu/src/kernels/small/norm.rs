//! `RMS_NORM`.

use super::f32s;
use crate::kernels::matmul::vector::total;
use crate::kernels::vec::scalar_math::sqrt;
use crate::kernels::walk::Rows;
use crate::{Args, Kernel};
use dinrail_core::error::Result;
use dinrail_core::hal::Query;
use dinrail_core::op::Op;

pub(super) const fn resolve(q: &Query<'_>) -> Option<Kernel> {
    match q.src.source(0) {
        // Short rows: longer ones deserve more than eight sums.
        Some(a) if f32s(a) && f32s(q.dst) && a.ne[0] <= 512 => Some(rms),
        _ => None,
    }
}

/// # Safety
/// As [`Kernel`], for a node that [`resolve`] gave it to.
unsafe fn rms(args: &Args<'_>) -> Result<()> {
    let ([Some(a), ..], Op::RmsNorm { eps }) = (args.src, *args.op) else { return Ok(()) };
    let d = args.dst.desc;
    let n = d.ne[0];
    for [i1, i2, i3] in Rows::new(&d.ne, args.worker.share(d.rows())) {
        let to = args.dst.ptr.wrapping_add(d.row_offset(i1, i2, i3)).cast::<f32>();
        let from = a.ptr.wrapping_add(a.desc.row_offset(i1, i2, i3)).cast::<f32>();
        let mut sums = [0.0; 8];
        for i in 0..n {
            // SAFETY: the row has `n` elements.
            let x = unsafe { from.wrapping_add(i).read() };
            if let Some(sum) = sums.get_mut(i % 8) {
                *sum += x * x;
            }
        }
        let factor = 1.0 / sqrt(total(&sums) / n as f32 + eps);
        for i in 0..n {
            // SAFETY: as above; read before it is written where both are the same row.
            let x = unsafe { from.wrapping_add(i).read() };
            // SAFETY: as above; the row is this worker's.
            unsafe { to.wrapping_add(i).write(x * factor) };
        }
    }
    Ok(())
}
