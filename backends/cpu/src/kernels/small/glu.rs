//! `GLU` of two sources with a sigmoid: `SWIGLU`.

use super::f32s;
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
        // SAFETY: the rows have so many elements, aligned, and the result's is this worker's.
        unsafe { row(to, x, g, d.ne[0]) };
    }
    Ok(())
}

/// `to[i] = x[i] / (1 + e^-x[i]) * gate[i]`, for `len` elements.
///
/// # Safety
/// * `x` and `gate` are readable and `to` writable for `len` floats, all aligned. `to` may be one of them.
unsafe fn row(to: *mut f32, x: *const f32, gate: *const f32, len: usize) {
    #[cfg(cortex_m_fpu)]
    if len > 0 {
        // SAFETY: the caller's promise.
        unsafe { crate::kernels::cortex_m::glu::swiglu(to, x, gate, len) };
    }
    #[cfg(not(cortex_m_fpu))]
    for i in 0..len {
        // SAFETY: the caller's promise.
        let v = unsafe { x.wrapping_add(i).read() };
        // SAFETY: the caller's promise.
        let g = unsafe { gate.wrapping_add(i).read() };
        let y = v / (1.0 + super::math::exp(-v)) * g;
        // SAFETY: the caller's promise; what was here has been read.
        unsafe { to.wrapping_add(i).write(y) };
    }
}
