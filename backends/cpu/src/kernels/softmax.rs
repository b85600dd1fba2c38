//! Soft-max of rows, with mask, ALiBi and sinks.

use super::vec::row::{self, map_row};
use super::vec::scalar_math::alibi_slope;
use super::vec::{Elem, F16, F32, Lanes, Simd, lanes, math, per_level, pick, share, split};
use crate::{Args, Kernel, Level};
use dinrail_core::error::Result;
use dinrail_core::hal::Query;
use dinrail_core::op::Op;
use dinrail_core::tensor::DType;

/// `softmax(x * scale + slope * mask)` by row. A row of nothing but minus infinity gives zeros.
///
/// # Safety
/// As [`Kernel`].
#[inline(always)]
unsafe fn run<S: Simd, M: Elem>(s: S, args: &Args<'_>) -> Result<()> {
    let [Some(src), mask, sinks, ..] = args.src else { return Ok(()) };
    let Op::SoftMax { scale, max_bias } = *args.op else { return Ok(()) };
    let (from, to) = (src.desc, args.dst.desc);
    let n = to.ne[0];
    for r in share(args.worker, to.rows(), n.saturating_mul(4)) {
        let (i1, i2, i3) = split(r, &to.ne);
        let x = src.ptr.wrapping_add(from.row_offset(i1, i2, i3)).cast::<f32>();
        let y = args.dst.ptr.wrapping_add(to.row_offset(i1, i2, i3)).cast::<f32>();
        let mask = mask.map(|m| {
            let d = m.desc;
            m.ptr.wrapping_add(d.row_offset(i1, i2 % d.ne[2].max(1), i3 % d.ne[3].max(1)))
        });
        let slope = alibi_slope(max_bias, i2, to.ne[2]);
        // SAFETY: all three rows have `n` elements.
        unsafe {
            logits::<S::Map, M>(s.map(), x, mask.map(<*mut u8>::cast_const), y, scale, slope, n)
        };
        // SAFETY: the row has `n` elements.
        let mut max = unsafe { row::largest(s, y, n) };
        let sink = sinks.map(|k| {
            // SAFETY: core has checked that there is one value per head.
            unsafe {
                k.ptr.wrapping_add(i2.wrapping_mul(k.desc.nb[0])).cast::<f32>().read_unaligned()
            }
        });
        if let Some(k) = sink {
            max = if k > max { k } else { max };
        }
        // Nothing but -inf, or NaNs among them, which must come through: any shift will do.
        let shift = if max == f32::NEG_INFINITY { 0.0 } else { max };
        {
            let s = s.map();
            let shift = s.splat(shift);
            map_row!(s, F32, y.cast(), y.cast(), n, |v| math::exp(v - shift));
        }
        // SAFETY: the row has `n` elements.
        let mut sum = unsafe { row::sum(s, y, n) };
        if let Some(k) = sink {
            sum += math::exp(s.map().splat(k - shift)).first();
        }
        let factor = if sum == 0.0 { 0.0 } else { 1.0 / sum };
        // SAFETY: the row has `n` elements.
        unsafe { row::scale(s, y, factor, n) };
    }
    Ok(())
}

/// `y = x * scale + slope * mask`.
///
/// # Safety
/// `x` and the mask are readable and `y` is writable for `n` elements; `x` and `y` may be the same.
#[inline(always)]
unsafe fn logits<S: Simd, M: Elem>(
    s: S,
    x: *const f32,
    mask: Option<*const u8>,
    y: *mut f32,
    scale: f32,
    slope: f32,
    n: usize,
) {
    let scale = s.splat(scale);
    let Some(mask) = mask else {
        map_row!(s, F32, x.cast(), y.cast(), n, |v| v * scale);
        return;
    };
    let slope = s.splat(slope);
    let mut i = 0;
    while i + lanes(s) <= n {
        // SAFETY: `i + lanes <= n`.
        let v = unsafe { s.load(x.wrapping_add(i)) };
        // SAFETY: `i + lanes <= n`.
        let m = unsafe { M::load(s, mask.wrapping_add(i * M::SIZE)) };
        // SAFETY: `i + lanes <= n`.
        unsafe { s.store(y.wrapping_add(i), v.mul_add(scale, slope * m)) };
        i += lanes(s);
    }
    if i < n {
        // SAFETY: `n - i` elements are left.
        let v = unsafe { F32::load_part(s, x.wrapping_add(i).cast(), n - i) };
        // SAFETY: `n - i` elements are left.
        let m = unsafe { M::load_part(s, mask.wrapping_add(i * M::SIZE), n - i) };
        let at = y.wrapping_add(i).cast();
        // SAFETY: `n - i` elements are left.
        unsafe { F32::store_part(s, at, v.mul_add(scale, slope * m), n - i) };
    }
}

per_level! {
    mask_f32 = run::<_, F32>;
    mask_f16 = run::<_, F16>;
}

/// The kernel of a level for a node.
pub(super) const fn resolve(level: Level, q: &Query<'_>) -> Option<Kernel> {
    let Some(a) = q.src.source(0) else { return None };
    let f32s = a.dtype as u8 == DType::F32 as u8 && q.dst.dtype as u8 == DType::F32 as u8;
    if !f32s || !a.rows_contiguous() || !q.dst.rows_contiguous() {
        return None;
    }
    match q.src.source(1) {
        Some(m) if m.dtype as u8 == DType::F16 as u8 => Some(pick!(level, mask_f16)),
        Some(m) if m.dtype as u8 != DType::F32 as u8 => None,
        _ => Some(pick!(level, mask_f32)),
    }
}

#[cfg(test)]
pub(super) mod tests;
