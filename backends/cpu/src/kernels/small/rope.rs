//! `ROPE` without YaRN and frequency factors, of a power of two of elements.

use super::{f32s, math};
use crate::kernels::vec::scalar_math::sin_cos;
use crate::{Args, Kernel};
use dinrail_core::error::Result;
use dinrail_core::hal::Query;
use dinrail_core::op::{Op, Rope, RopeMode};

pub(super) const fn resolve(q: &Query<'_>) -> Option<Kernel> {
    let (Some(a), Op::Rope(r)) = (q.src.source(0), q.op) else { return None };
    let plain = r.ext_factor == 0.0 && q.src.source(2).is_none() && r.dims.is_power_of_two();
    let mode = matches!(r.mode, RopeMode::Normal | RopeMode::NeoX);
    let one = a.ne[2] == 1 && a.ne[3] == 1;
    if f32s(a) && f32s(q.dst) && plain && mode && one { Some(rotate) } else { None }
}

/// # Safety
/// As [`Kernel`], for a node that [`resolve`] gave it to.
unsafe fn rotate(args: &Args<'_>) -> Result<()> {
    let ([Some(a), Some(positions), ..], Op::Rope(rope)) = (args.src, args.op) else {
        return Ok(());
    };
    let d = args.dst.desc;
    let Rope { dims, mode, base, scale, attn_factor, .. } = *rope;
    let dims = usize::from(dims);
    let heads = args.worker.share(d.ne[1]);
    // SAFETY: core has checked that there is one position per token.
    let mut theta = unsafe { positions.ptr.cast::<i32>().read_unaligned() } as f32;
    let step = math::step(base, dims);
    // Distance of a pair's elements, and from pair to pair.
    let (apart, pair) = match mode {
        RopeMode::NeoX => (dims / 2, 1),
        _ => (1, 2),
    };
    let row = |h: usize| {
        let from = a.ptr.wrapping_add(a.desc.row_offset(h, 0, 0)).cast::<f32>();
        (from, args.dst.ptr.wrapping_add(d.row_offset(h, 0, 0)).cast::<f32>())
    };
    for i in 0..dims / 2 {
        let (sin, cos) = sin_cos(theta * scale);
        let (sin, cos) = (sin * attn_factor, cos * attn_factor);
        theta *= step;
        for h in heads.clone() {
            let (from, to) = row(h);
            let (first, second) = (pair * i, pair * i + apart);
            // SAFETY: the row has `dims` elements at least; a pair is read before it is written.
            let x = unsafe { from.wrapping_add(first).read() };
            // SAFETY: as above.
            let y = unsafe { from.wrapping_add(second).read() };
            // SAFETY: as above; the row is this worker's.
            unsafe { to.wrapping_add(first).write(x * cos - y * sin) };
            // SAFETY: as above.
            unsafe { to.wrapping_add(second).write(x * sin + y * cos) };
        }
    }
    for h in heads {
        let (from, to) = row(h);
        for i in dims..d.ne[0] {
            // SAFETY: the row has so many elements.
            let x = unsafe { from.wrapping_add(i).read() };
            // SAFETY: as above; the row is this worker's.
            unsafe { to.wrapping_add(i).write(x) };
        }
    }
    Ok(())
}
