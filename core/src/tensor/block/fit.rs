//! What the encoders share: measuring a group, and searching for the scale that fits it best.
//!
//! The searches take the same steps in the same order and precision as ggml's reference encoders, so
//! that both write the same bytes.

use crate::tensor::float::nearest_int;

/// A group with no magnitude above this is encoded as zeros by the types that search for a scale.
pub(super) const EPSILON: f32 = 1e-15;

/// The element of greatest magnitude, with its sign; the first of several. NaNs don't count.
pub(super) fn strongest(x: &[f32]) -> f32 {
    let mut max = 0.0f32;
    for &x in x {
        if x.abs() > max.abs() {
            max = x;
        }
    }
    max
}

/// The largest element above zero, or zero. NaNs don't count.
pub(super) fn largest(x: &[f32]) -> f32 {
    x.iter().fold(0.0, |max, &x| if x > max { x } else { max })
}

/// Minimum and maximum. NaNs don't count.
pub(super) fn range(x: &[f32]) -> (f32, f32) {
    let (mut min, mut max) = (f32::MAX, f32::MIN);
    for &x in x {
        min = if x < min { x } else { min };
        max = if x > max { x } else { max };
    }
    (min, max)
}

/// `1 / d`, or zero where that is not finite: a scale that small is zero in every format.
pub(super) fn inverse(d: f32) -> f32 {
    let id = 1.0 / d;
    if id.is_finite() { id } else { 0.0 }
}

/// `n / d`, or zero for a `d` that is not above zero.
pub(super) fn ratio(n: f32, d: f32) -> f32 {
    if d > 0.0 { n / d } else { 0.0 }
}

/// `x` in steps, limited to `-n..n`.
fn signed(x: f32, n: i32) -> i32 {
    nearest_int(x).clamp(-n, n - 1)
}

/// Least-squares sums for levels `l`, each element weighted with its square: of level times element,
/// and of squared levels.
fn sums(x: &[f32], l: impl Fn(f32) -> i32) -> (f32, f32) {
    let (mut lx, mut ll) = (0.0f32, 0.0f32);
    for &x in x {
        let (w, l) = (x * x, l(x) as f32);
        lx += w * x * l;
        ll += w * l * l;
    }
    (lx, ll)
}

/// The scale of levels `-n..n` that fits `x` best, among those that map the strongest element to
/// `-n ± 0.9` in steps of 0.1, and the levels counted from zero. Zeros for a group without magnitude.
pub(super) fn symmetric<const N: usize>(n: i32, x: &[f32; N], levels: &mut [u8; N]) -> f32 {
    let max = strongest(x);
    levels.fill(0);
    if max.abs() < EPSILON {
        return 0.0;
    }
    let mut best_id = -(n as f32) / max;
    let (lx, ll) = sums(x, |x| signed(best_id * x, n));
    let mut scale = if ll != 0.0 { lx / ll } else { 0.0 };
    let mut best = scale * lx;
    for shift in (-9i8..=9).filter(|&s| s != 0) {
        let id = -(n as f32 + 0.1 * shift as f32) / max;
        let (lx, ll) = sums(x, |x| signed(id * x, n));
        if ll > 0.0 && lx * lx > best * ll {
            scale = lx / ll;
            best = scale * lx;
            best_id = id;
        }
    }
    *levels = x.map(|x| (signed(best_id * x, n) + n) as u8);
    scale
}

/// The scale of levels `-n..n` for `x`, and the levels counted from zero, found by moving one level at a
/// time while that improves the fit. Zeros for a group without magnitude.
pub(super) fn descend<const N: usize>(n: i32, x: &[f32; N], levels: &mut [u8; N]) -> f32 {
    let max = strongest(x);
    if max.abs() < EPSILON {
        levels.fill(0);
        return 0.0;
    }
    let id = -(n as f32) / max;
    let mut l: [i32; N] = x.map(|x| signed(id * x, n));
    let (mut lx, mut ll) = (0.0f32, 0.0f32);
    for (&x, &l) in x.iter().zip(&l) {
        let (w, l) = (x * x, l as f32);
        lx += w * x * l;
        ll += w * l * l;
    }
    for _ in 0..5 {
        let mut changed = false;
        for (&x, l) in x.iter().zip(&mut l) {
            let (w, old) = (x * x, *l as f32);
            let rest_lx = lx - w * x * old;
            if rest_lx > 0.0 {
                let rest_ll = ll - w * old * old;
                let new = signed(x * rest_ll / rest_lx, n);
                if new != *l {
                    let new_lx = rest_lx + w * x * new as f32;
                    let new_ll = rest_ll + w * new as f32 * new as f32;
                    if new_ll > 0.0 && new_lx * new_lx * ll > lx * lx * new_ll {
                        (*l, lx, ll) = (new, new_lx, new_ll);
                        changed = true;
                    }
                }
            }
        }
        if !changed {
            break;
        }
    }
    *levels = l.map(|l| (l + n) as u8);
    if ll > 0.0 { lx / ll } else { 0.0 }
}

/// How [`affine`] measures the error of an element.
#[derive(Clone, Copy)]
pub(super) enum Error {
    /// Its magnitude.
    Absolute,
    /// Its square.
    Squared,
}

/// The scales that [`affine`] tries: those that map the range of a group to `top + first`,
/// `top + first + step` and so on, `count` more of them.
#[derive(Clone, Copy)]
pub(super) struct Tries {
    pub(super) first: f32,
    pub(super) step: f32,
    pub(super) count: u8,
}

/// Scale and minimum for levels `0..=top`, with elements read as `level * scale - minimum`, and the
/// levels. The minimum is never below zero. Picks the smallest weighted error.
pub(super) fn affine<const N: usize>(
    top: i32,
    x: &[f32; N],
    weights: &[f32; N],
    levels: &mut [u8; N],
    tries: Tries,
    error: Error,
) -> (f32, f32) {
    let (mut min, max) = range(x);
    let (mut w_sum, mut x_sum) = (0.0f32, 0.0f32);
    for (&x, &w) in x.iter().zip(weights) {
        w_sum += w;
        x_sum += w * x;
    }
    min = min.min(0.0);
    levels.fill(0);
    // Upside down where every element is a NaN.
    if max <= min {
        return (0.0, -min);
    }
    let level = |x: f32, id: f32, min: f32| nearest_int(id * (x - min)).clamp(0, top) as u8;
    let total = |levels: &[u8; N], scale: f32, min: f32| {
        let mut sum = 0.0f32;
        for ((&x, &w), &l) in x.iter().zip(weights).zip(levels) {
            let diff = scale * l as f32 + min - x;
            sum += w * match error {
                Error::Absolute => diff.abs(),
                Error::Squared => diff * diff,
            };
        }
        sum
    };
    let id = top as f32 / (max - min);
    let mut scale = 1.0 / id;
    *levels = x.map(|x| level(x, id, min));
    let mut best = total(levels, scale, min);
    for i in 0..=tries.count {
        // From the best minimum so far, not from that of the elements.
        let id = (tries.first + tries.step * i as f32 + top as f32) / (max - min);
        let candidate = x.map(|x| level(x, id, min));
        let (mut l, mut ll, mut lx) = (0.0f32, 0.0f32, 0.0f32);
        for ((&x, &w), &q) in x.iter().zip(weights).zip(&candidate) {
            let q = q as f32;
            l += w * q;
            ll += w * q * q;
            lx += w * q * x;
        }
        let det = w_sum * ll - l * l;
        if det > 0.0 {
            let mut new_scale = (w_sum * lx - x_sum * l) / det;
            let mut new_min = (ll * x_sum - l * lx) / det;
            if new_min > 0.0 {
                new_min = 0.0;
                new_scale = lx / ll;
            }
            let sum = total(&candidate, new_scale, new_min);
            if sum < best {
                *levels = candidate;
                (best, scale, min) = (sum, new_scale, new_min);
            }
        }
    }
    (scale, -min)
}

/// Element `i` of two-bit levels: bits `2 * k` and up of `bytes[32 * h + j]` for `i = 128 * h + 32 * k + j`.
pub(super) fn crumb(bytes: &[u8; 64], i: usize) -> u8 {
    bytes[i / 128 * 32 + i % 32] >> (i % 128 / 32 * 2) & 3
}

/// The low two bits of each level in the order of [`crumb`].
pub(super) fn pack_crumbs(levels: &[u8; 256]) -> [u8; 64] {
    core::array::from_fn(|b| {
        let first = b / 32 * 128 + b % 32;
        (0..4).fold(0, |byte, k| byte | (levels[first + 32 * k] & 3) << (2 * k))
    })
}
