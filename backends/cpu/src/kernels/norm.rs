//! Norms of rows and of groups of channels.

use super::vec::row::{self, map_row};
use super::vec::{F32, Simd, per_level, pick, share, split};
use crate::{Args, Kernel, Level};
use dinrail_core::error::Result;
use dinrail_core::hal::Query;
use dinrail_core::op::Op;
use dinrail_core::tensor::{DType, Desc};

/// `eps` of a norm.
fn eps(op: &Op) -> f32 {
    match *op {
        Op::Norm { eps } | Op::RmsNorm { eps } | Op::L2Norm { eps } | Op::GroupNorm { eps, .. } => {
            eps
        }
        _ => 0.0,
    }
}

/// Which norm of a row.
#[derive(Clone, Copy)]
enum Rule {
    Norm,
    Rms,
    L2,
}

/// A norm of each row: `y = (x - shift) * factor`. A row is read whole before it is written.
///
/// # Safety
/// As [`Kernel`].
#[inline(always)]
unsafe fn rows<S: Simd>(s: S, args: &Args<'_>, rule: Rule) -> Result<()> {
    let [Some(src), ..] = args.src else { return Ok(()) };
    let (from, to) = (src.desc, args.dst.desc);
    let (n, eps) = (to.ne[0], eps(args.op));
    for r in share(args.worker, to.rows(), n) {
        let (i1, i2, i3) = split(r, &to.ne);
        let x = src.ptr.wrapping_add(from.row_offset(i1, i2, i3)).cast::<f32>();
        let y = args.dst.ptr.wrapping_add(to.row_offset(i1, i2, i3)).cast::<f32>();
        let (shift, factor) = match rule {
            Rule::Norm => {
                // SAFETY: the row has `n` elements.
                let mean = unsafe { row::sum(s, x, n) } / n as f32;
                // SAFETY: the row has `n` elements.
                let variance = unsafe { row::sum_squares(s, x, mean, n) } / n as f32;
                (mean, 1.0 / libm::sqrtf(variance + eps))
            }
            Rule::Rms => {
                // SAFETY: the row has `n` elements.
                let squares = unsafe { squares(x, n) };
                (0.0, 1.0 / libm::sqrtf((squares / n as f64) as f32 + eps))
            }
            Rule::L2 => {
                // SAFETY: the row has `n` elements.
                let squares = unsafe { row::sum_squares(s, x, 0.0, n) };
                let length = libm::sqrtf(squares);
                (0.0, 1.0 / if length < eps { eps } else { length })
            }
        };
        // SAFETY: both rows have `n` elements.
        unsafe { apply(s, x, y, shift, factor, n) };
    }
    Ok(())
}

/// Sum of squares, each rounded to f32 and all added in f64, as in ggml: every matrix product of a transformer reads a row
/// that was divided by this.
///
/// # Safety
/// `x` is readable for `n` elements.
#[inline(always)]
unsafe fn squares(x: *const f32, n: usize) -> f64 {
    let mut sums = [0f64; 8];
    let mut i = 0;
    while i < n {
        for (k, sum) in sums.iter_mut().enumerate() {
            if i + k < n {
                // SAFETY: `i + k < n`.
                let x = unsafe { x.wrapping_add(i + k).read_unaligned() };
                *sum += f64::from(x * x);
            }
        }
        i += sums.len();
    }
    sums.iter().sum()
}

/// `y = (x - shift) * factor`.
///
/// # Safety
/// `x` is readable and `y` writable for `n` elements; they may be the same.
#[inline(always)]
unsafe fn apply<S: Simd>(s: S, x: *const f32, y: *mut f32, shift: f32, factor: f32, n: usize) {
    let s = s.map();
    let (shift, factor) = (s.splat(shift), s.splat(factor));
    map_row!(s, F32, x.cast(), y.cast(), n, |v| (v - shift) * factor);
}

/// # Safety
/// As [`Kernel`].
#[inline(always)]
unsafe fn norm<S: Simd>(s: S, args: &Args<'_>) -> Result<()> {
    // SAFETY: the caller's promise.
    unsafe { rows(s, args, Rule::Norm) }
}

/// # Safety
/// As [`Kernel`].
#[inline(always)]
unsafe fn rms<S: Simd>(s: S, args: &Args<'_>) -> Result<()> {
    // SAFETY: the caller's promise.
    unsafe { rows(s, args, Rule::Rms) }
}

/// # Safety
/// As [`Kernel`].
#[inline(always)]
unsafe fn l2<S: Simd>(s: S, args: &Args<'_>) -> Result<()> {
    // SAFETY: the caller's promise.
    unsafe { rows(s, args, Rule::L2) }
}

/// Channels (dimension 2) in groups; each group of each sequence (dimension 3) is normed as one. A group may be large,
/// so the sums of its rows are added in f64.
///
/// # Safety
/// As [`Kernel`].
#[inline(always)]
unsafe fn group<S: Simd>(s: S, args: &Args<'_>) -> Result<()> {
    let [Some(src), ..] = args.src else { return Ok(()) };
    let Op::GroupNorm { groups, eps } = *args.op else { return Ok(()) };
    let (from, to) = (src.desc, args.dst.desc);
    let [n, n1, channels, sequences] = to.ne;
    let groups = groups as usize;
    let each = channels.div_ceil(groups.max(1));
    let cost = n.saturating_mul(n1).saturating_mul(each);
    for unit in share(args.worker, groups.saturating_mul(sequences), cost) {
        let (g, i3) = (unit % groups.max(1), unit / groups.max(1));
        let first = g.saturating_mul(each).min(channels);
        let end = first.saturating_add(each).min(channels);
        let members = n1.wrapping_mul(end - first);
        let count = members.wrapping_mul(n) as f64;
        let at = |d: &Desc, r: usize| d.row_offset(r % n1.max(1), first + r / n1.max(1), i3);
        let mut total = 0.0;
        for r in 0..members {
            let x = src.ptr.wrapping_add(at(from, r)).cast::<f32>();
            // SAFETY: the row has `n` elements.
            total += f64::from(unsafe { row::sum(s, x, n) });
        }
        let mean = (total / count) as f32;
        let mut squares = 0.0;
        for r in 0..members {
            let x = src.ptr.wrapping_add(at(from, r)).cast::<f32>();
            // SAFETY: the row has `n` elements.
            squares += f64::from(unsafe { row::sum_squares(s, x, mean, n) });
        }
        let factor = 1.0 / libm::sqrtf((squares / count) as f32 + eps);
        for r in 0..members {
            let x = src.ptr.wrapping_add(at(from, r)).cast::<f32>();
            let y = args.dst.ptr.wrapping_add(at(to, r)).cast::<f32>();
            // SAFETY: both rows have `n` elements.
            unsafe { apply(s, x, y, mean, factor, n) };
        }
    }
    Ok(())
}

per_level! {
    norm_f32 = norm;
    rms_f32 = rms;
    l2_f32 = l2;
    group_f32 = group;
}

/// The kernel of a level for a node.
pub(super) const fn resolve(level: Level, q: &Query<'_>) -> Option<Kernel> {
    let Some(a) = q.src.source(0) else { return None };
    let f32s = a.dtype as u8 == DType::F32 as u8 && q.dst.dtype as u8 == DType::F32 as u8;
    if !f32s || !a.rows_contiguous() || !q.dst.rows_contiguous() {
        return None;
    }
    Some(match q.op {
        Op::Norm { .. } => pick!(level, norm_f32),
        Op::RmsNorm { .. } => pick!(level, rms_f32),
        Op::L2Norm { .. } => pick!(level, l2_f32),
        Op::GroupNorm { .. } => pick!(level, group_f32),
        _ => return None,
    })
}

#[cfg(test)]
mod tests;
