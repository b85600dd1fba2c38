//! `GLU` of two sources with a sigmoid: `SWIGLU`.

use super::{f32s, math};
use crate::kernels::walk::Rows;
use crate::{Args, Kernel};
use dinrail_core::error::Result;
use dinrail_core::hal::Query;
use dinrail_core::op::{GluKind, Op};

pub(super) const fn resolve(q: &Query<'_>) -> Option<Kernel> {
    let (Some(a), Some(b), Op::Glu(g)) = (q.src.source(0), q.src.source(1), q.op) else {
        return None;
    };
    let plain = f32s(a) && f32s(b) && f32s(q.dst);
    if plain && matches!(g.kind, GluKind::Swiglu) { Some(swiglu) } else { None }
}

/// # Safety
/// As [`Kernel`], for a node that [`resolve`] gave it to.
unsafe fn swiglu(args: &Args<'_>) -> Result<()> {
    let [Some(a), Some(b), ..] = args.src else { return Ok(()) };
    let d = args.dst.desc;
    for [i1, i2, i3] in Rows::new(&d.ne, args.worker.share(d.rows())) {
        let to = args.dst.ptr.wrapping_add(d.row_offset(i1, i2, i3)).cast::<f32>();
        let x = a.ptr.wrapping_add(a.desc.row_offset(i1, i2, i3)).cast::<f32>();
        let g = b.ptr.wrapping_add(b.desc.row_offset(i1, i2, i3)).cast::<f32>();
        for i in 0..d.ne[0] {
            // SAFETY: the rows have so many elements. Where the result is a source's memory, each is read before it is
            // written.
            let x = unsafe { x.wrapping_add(i).read() };
            // SAFETY: as above.
            let g = unsafe { g.wrapping_add(i).read() };
            let y = x / (1.0 + math::exp(-x)) * g;
            // SAFETY: as above; the row is this worker's.
            unsafe { to.wrapping_add(i).write(y) };
        }
    }
    Ok(())
}
