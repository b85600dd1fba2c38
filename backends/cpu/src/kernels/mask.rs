//! `DIAG_MASK_INF`: what a row may not see becomes minus infinity.

use super::mem::Mem;
use super::walk::Rows;
use crate::{Args, Kernel};
use dinrail_core::error::Result;
use dinrail_core::hal::Query;
use dinrail_core::op::Op;
use dinrail_core::tensor::DType;

/// The kernel.
pub(super) const fn resolve(q: &Query<'_>) -> Option<Kernel> {
    match q.dst.dtype {
        DType::F32 => Some(diag_mask_inf),
        _ => None,
    }
}

/// # Safety
/// As [`Kernel`].
unsafe fn diag_mask_inf(args: &Args<'_>) -> Result<()> {
    let (Some(src), &Op::DiagMaskInf { past }) = (args.src[0], args.op) else { return Ok(()) };
    // SAFETY: the contract of `Kernel`; workers write disjoint rows.
    let dst = unsafe { Mem::new(&args.dst) };
    // SAFETY: as above. Where both are the same memory, an element is copied to itself.
    let src = unsafe { Mem::new(&src) };
    let (d, s) = (dst.desc, src.desc);
    for [i1, i2, i3] in Rows::new(&d.ne, args.worker.share(d.rows())) {
        let (to, from) = (d.row_offset(i1, i2, i3), s.row_offset(i1, i2, i3));
        let seen = i1.saturating_add(past as usize).saturating_add(1).min(d.ne[0]);
        dst.copy_blocks((to, d.nb[0]), (&src, from, s.nb[0]), seen, 4);
        for i in seen..d.ne[0] {
            dst.set(to + i * d.nb[0], f32::NEG_INFINITY);
        }
    }
    Ok(())
}
