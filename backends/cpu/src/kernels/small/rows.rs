//! `GET_ROWS` and `SET_ROWS` of `F32` rows by I32 numbers.

use super::f32s;
use crate::kernels::walk::Rows;
use crate::{Args, Kernel};
use dinrail_core::error::{Error, Result};
use dinrail_core::hal::Query;
use dinrail_core::op::Op;
use dinrail_core::tensor::{DType, Desc};

pub(super) const fn resolve(q: &Query<'_>) -> Option<Kernel> {
    let (Some(a), Some(index)) = (q.src.source(0), q.src.source(1)) else { return None };
    if !f32s(a) || !f32s(q.dst) || !matches!(index.dtype, DType::I32) {
        return None;
    }
    match q.op {
        Op::GetRows => Some(get),
        Op::SetRows => Some(set),
        _ => None,
    }
}

/// # Safety
/// As [`Kernel`], for a node that [`resolve`] gave it to.
unsafe fn get(args: &Args<'_>) -> Result<()> {
    // SAFETY: the same contract.
    unsafe { rows(args, true) }
}

/// # Safety
/// As [`Kernel`], for a node that [`resolve`] gave it to.
unsafe fn set(args: &Args<'_>) -> Result<()> {
    // SAFETY: the same contract.
    unsafe { rows(args, false) }
}

/// # Safety
/// As [`Kernel`], for a node that [`resolve`] gave it to.
unsafe fn rows(args: &Args<'_>, get: bool) -> Result<()> {
    let [Some(a), Some(index), ..] = args.src else { return Ok(()) };
    let (d, from, x) = (args.dst.desc, a.desc, index.desc);
    // What is gone through in order, and what by number.
    let (plain, chosen): (&Desc, &Desc) = if get { (d, from) } else { (from, d) };
    let workers = args.worker.count().max(1);
    for [i, i2, i3] in Rows::new(&plain.ne, 0..plain.rows()) {
        let at = i * x.nb[0] + i2 % x.ne[1].max(1) * x.nb[1] + i3 % x.ne[2].max(1) * x.nb[2];
        // SAFETY: core has checked that there is a number for each row.
        let wanted = unsafe { index.ptr.wrapping_add(at).cast::<i32>().read() };
        let row = wanted as usize;
        if wanted < 0 || row >= chosen.ne[1] {
            return Err(Error::Invalid { what: "row index", value: wanted.into() });
        }
        let (there, here) = (chosen.row_offset(row, i2, i3), plain.row_offset(i, i2, i3));
        let (to, at, mine) = if get { (here, there, i) } else { (there, here, row) };
        // By the target's rows: of several for one target the last one stays.
        if mine % workers != args.worker.index() {
            continue;
        }
        let to = args.dst.ptr.wrapping_add(to).cast::<f32>();
        let at = a.ptr.wrapping_add(at).cast::<f32>();
        for k in 0..d.ne[0] {
            // SAFETY: both rows have so many elements.
            let x = unsafe { at.wrapping_add(k).read() };
            // SAFETY: as above; the row is this worker's.
            unsafe { to.wrapping_add(k).write(x) };
        }
    }
    Ok(())
}
