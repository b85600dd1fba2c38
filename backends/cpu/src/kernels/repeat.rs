//! `REPEAT`: a tensor as a tile of a larger one.

use super::mem::Mem;
use super::walk::Rows;
use crate::{Args, Kernel};
use dinrail_core::error::Result;
use dinrail_core::hal::Query;

/// The kernel, for every type.
pub(super) const fn resolve(q: &Query<'_>) -> Option<Kernel> {
    match q.src.source(0) {
        Some(a) if a.dtype as u8 == q.dst.dtype as u8 => Some(repeat),
        _ => None,
    }
}

/// # Safety
/// As [`Kernel`].
unsafe fn repeat(args: &Args<'_>) -> Result<()> {
    let Some(src) = args.src[0] else { return Ok(()) };
    // SAFETY: the contract of `Kernel`; workers write disjoint rows.
    let dst = unsafe { Mem::new(&args.dst) };
    // SAFETY: as above.
    let src = unsafe { Mem::new(&src) };
    let (d, s) = (dst.desc, src.desc);
    let (block, size) = (d.dtype.block_len(), d.dtype.block_bytes());
    let (tile, all) = (s.ne[0] / block, d.ne[0] / block);
    for [i1, i2, i3] in Rows::new(&d.ne, args.worker.share(d.rows())) {
        let to = d.row_offset(i1, i2, i3);
        let from = s.row_offset(i1 % s.ne[1], i2 % s.ne[2], i3 % s.ne[3]);
        if tile == 1 {
            // One block all along: a source that doesn't move on.
            dst.copy_blocks((to, d.nb[0]), (&src, from, 0), all, size);
            continue;
        }
        for start in (0..all).step_by(tile) {
            dst.copy_blocks((to + start * d.nb[0], d.nb[0]), (&src, from, s.nb[0]), tile, size);
        }
    }
    Ok(())
}
