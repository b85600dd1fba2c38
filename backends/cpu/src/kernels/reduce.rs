//! `SUM`, `SUM_ROWS`, `MEAN`, `ARGMAX`: many elements to one.
//!
//! Sums are kept in `f64`, in eight parts by position in the row and one after the other, so the bits depend on
//! nothing but the row.

use super::mem::{Mem, STAGE};
use super::walk::Rows;
use crate::{Args, Kernel};
use dinrail_core::error::Result;
use dinrail_core::hal::Query;
use dinrail_core::op::Op;
use dinrail_core::tensor::DType;

/// The kernel. `SUM` takes `F32`, `F16` and `BF16`.
pub(super) const fn resolve(q: &Query<'_>) -> Option<Kernel> {
    match q.op {
        Op::Sum if matches!(q.dst.dtype, DType::F32 | DType::F16 | DType::BF16) => Some(sum),
        Op::SumRows | Op::Mean => Some(rows),
        Op::Argmax => Some(argmax),
        _ => None,
    }
}

/// The sum of a row that starts at byte `at`.
fn total(src: &Mem<'_>, at: usize) -> f64 {
    let mut parts = [0.0f64; 8];
    let mut stage = [0.0f32; STAGE];
    let (n, step) = (src.desc.ne[0], src.desc.nb[0]);
    for start in (0..n).step_by(STAGE) {
        let Some(x) = stage.get_mut(..(n - start).min(STAGE)) else { break };
        src.load(at.wrapping_add(start.wrapping_mul(step)), step, x);
        for eight in x.chunks(8) {
            for (part, x) in parts.iter_mut().zip(eight) {
                *part += f64::from(*x);
            }
        }
    }
    let [a, b, c, d, e, f, g, h] = parts;
    ((a + e) + (c + g)) + ((b + f) + (d + h))
}

/// Never divided: the first worker does it.
///
/// # Safety
/// As [`Kernel`].
unsafe fn sum(args: &Args<'_>) -> Result<()> {
    let Some(src) = args.src[0] else { return Ok(()) };
    if args.worker.index() != 0 {
        return Ok(());
    }
    // SAFETY: the contract of `Kernel`; one worker writes.
    let dst = unsafe { Mem::new(&args.dst) };
    // SAFETY: as above.
    let src = unsafe { Mem::new(&src) };
    let s = src.desc;
    let mut all = 0.0;
    if !s.is_empty() {
        for [i1, i2, i3] in Rows::new(&s.ne, 0..s.rows()) {
            all += total(&src, s.row_offset(i1, i2, i3));
        }
    }
    dst.store(0, dst.desc.nb[0], &[all as f32]);
    Ok(())
}

/// # Safety
/// As [`Kernel`].
unsafe fn rows(args: &Args<'_>) -> Result<()> {
    let Some(src) = args.src[0] else { return Ok(()) };
    // SAFETY: the contract of `Kernel`; workers write disjoint rows.
    let dst = unsafe { Mem::new(&args.dst) };
    // SAFETY: as above.
    let src = unsafe { Mem::new(&src) };
    let n = src.desc.ne[0] as f64;
    let mean = matches!(args.op, Op::Mean);
    for [i1, i2, i3] in Rows::new(&dst.desc.ne, args.worker.share(dst.desc.rows())) {
        let sum = total(&src, src.desc.row_offset(i1, i2, i3));
        let value = if mean { sum / n } else { sum };
        dst.set(dst.desc.row_offset(i1, i2, i3), value as f32);
    }
    Ok(())
}

/// The first of the largest elements. A NaN is never the largest; a row of nothing else gives 0.
///
/// # Safety
/// As [`Kernel`].
unsafe fn argmax(args: &Args<'_>) -> Result<()> {
    let Some(src) = args.src[0] else { return Ok(()) };
    // SAFETY: the contract of `Kernel`; workers write disjoint elements.
    let dst = unsafe { Mem::new(&args.dst) };
    // SAFETY: as above.
    let src = unsafe { Mem::new(&src) };
    let s = src.desc;
    for r in args.worker.share(s.ne[1]) {
        let row = r * s.nb[1];
        let mut best: Option<(i32, f32)> = None;
        for i in 0..s.ne[0] {
            let x: f32 = src.get(row + i * 4);
            if !x.is_nan() && best.is_none_or(|(_, most)| x > most) {
                best = Some((i as i32, x));
            }
        }
        dst.set(r * dst.desc.nb[0], best.map_or(0, |(i, _)| i));
    }
    Ok(())
}
