//! `CONCAT`: two tensors one after the other along a dimension.

use super::mem::Mem;
use super::walk::Rows;
use crate::{Args, Kernel};
use dinrail_core::error::Result;
use dinrail_core::hal::Query;
use dinrail_core::op::Op;

/// The kernel, for every type and dimension.
pub(super) const fn resolve(q: &Query<'_>) -> Option<Kernel> {
    match (q.src.source(0), q.src.source(1)) {
        (Some(a), Some(b))
            if a.dtype as u8 == q.dst.dtype as u8 && b.dtype as u8 == q.dst.dtype as u8 =>
        {
            Some(concat)
        }
        _ => None,
    }
}

/// # Safety
/// As [`Kernel`].
unsafe fn concat(args: &Args<'_>) -> Result<()> {
    let ([Some(a), Some(b), ..], &Op::Concat { dim }) = (args.src, args.op) else { return Ok(()) };
    // SAFETY: the contract of `Kernel`; workers write disjoint rows.
    let dst = unsafe { Mem::new(&args.dst) };
    // SAFETY: as above.
    let a = unsafe { Mem::new(&a) };
    // SAFETY: as above.
    let b = unsafe { Mem::new(&b) };
    let d = dst.desc;
    let (block, size, dim) = (d.dtype.block_len(), d.dtype.block_bytes(), usize::from(dim));
    let row = |to: usize, from: &Mem<'_>, [i1, i2, i3]: [usize; 3]| {
        let at = from.desc.row_offset(i1, i2, i3);
        let n = from.desc.ne[0] / block;
        dst.copy_blocks((to, d.nb[0]), (from, at, from.desc.nb[0]), n, size);
    };
    for mut i in Rows::new(&d.ne, args.worker.share(d.rows())) {
        let to = d.row_offset(i[0], i[1], i[2]);
        if dim == 0 {
            row(to, &a, i);
            row(to + a.desc.ne[0] / block * d.nb[0], &b, i);
        } else if i[dim - 1] < a.desc.ne[dim] {
            row(to, &a, i);
        } else {
            i[dim - 1] -= a.desc.ne[dim];
            row(to, &b, i);
        }
    }
    Ok(())
}
