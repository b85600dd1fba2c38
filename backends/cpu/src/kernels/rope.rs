//! Rotary position embedding.

use super::vec::scalar_math::{ln, pow, sin_cos_exact};
use super::vec::{Elem, F16, F32, LANES, Lanes, Simd, per_level, pick, share};
use crate::{Args, Kernel, Level};
use dinrail_core::error::Result;
use dinrail_core::hal::Query;
use dinrail_core::op::{Op, Rope, RopeMode};
use dinrail_core::tensor::DType;

/// Factors that are kept on the stack, of each of cosine and sine; longer rows go in pieces.
const CACHE: usize = 256;

/// Cosines and sines of a piece of one position's angles.
struct Factors {
    cos: [f32; CACHE],
    sin: [f32; CACHE],
}

impl Factors {
    /// Sets element `i`, which is below [`CACHE`].
    #[inline(always)]
    fn set(&mut self, i: usize, cos: f32, sin: f32) {
        if let (Some(c), Some(s)) = (self.cos.get_mut(i), self.sin.get_mut(i)) {
            (*c, *s) = (cos, sin);
        }
    }
}

/// The angles of one position, pair after pair.
///
/// The frequencies are made by repeated multiplication in f32, as ggml makes them: at large positions the rounding of
/// the frequency shows in the angle, so any other way would give other results.
struct Angles {
    theta: f32,
    step: f32,
    pair: usize,
    factors: Option<*const f32>,
    scale: f32,
    magnitude: f32,
    ext_factor: f32,
    low: f32,
    high: f32,
}

impl Angles {
    /// For position 0.
    fn new(r: &Rope, factors: Option<*const f32>) -> Self {
        let dims = f32::from(r.dims);
        let mut a = Self {
            theta: 0.0,
            step: pow(r.base, -2.0 / dims),
            pair: 0,
            factors,
            scale: r.scale,
            magnitude: r.attn_factor,
            ext_factor: r.ext_factor,
            low: 0.0,
            high: 0.0,
        };
        if r.ext_factor != 0.0 {
            // The pair that turns `n` times over the trained context: YaRN's section 3.2.
            let turning = |n: f32| {
                let length = r.trained_context as f32 / (n * 2.0 * core::f32::consts::PI);
                let pair = f64::from(dims) * ln(f64::from(length)) / (2.0 * ln(f64::from(r.base)));
                pair as f32
            };
            let low = libm::floorf(turning(r.beta_fast));
            let high = libm::ceilf(turning(r.beta_slow));
            a.low = if low > 0.0 { low } else { 0.0 };
            a.high = if high < dims - 1.0 { high } else { dims - 1.0 };
            a.magnitude *= 1.0 + 0.1 * ln(1.0 / f64::from(r.scale)) as f32;
        }
        a
    }

    /// Starts over at a position.
    fn seek(&mut self, position: i32) {
        self.theta = position as f32;
        self.pair = 0;
    }

    /// Cosine and sine of the next pair.
    ///
    /// # Safety
    /// The frequency factors, if there are any, have an element for this pair.
    unsafe fn next(&mut self) -> (f32, f32) {
        let factor = match self.factors {
            // SAFETY: the caller's promise.
            Some(p) => unsafe { p.wrapping_add(self.pair).read_unaligned() },
            None => 1.0,
        };
        let extrapolated = self.theta / factor;
        let interpolated = self.scale * extrapolated;
        let angle = if self.ext_factor == 0.0 {
            interpolated
        } else {
            let width = self.high - self.low;
            let width = if width > 0.001 { width } else { 0.001 };
            let y = (self.pair as f32 - self.low) / width;
            let y = if y > 0.0 { y } else { 0.0 };
            let mix = (1.0 - if y < 1.0 { y } else { 1.0 }) * self.ext_factor;
            interpolated * (1.0 - mix) + extrapolated * mix
        };
        self.theta *= self.step;
        self.pair += 1;
        let (sin, cos) = sin_cos_exact(angle);
        (cos * self.magnitude, sin * self.magnitude)
    }
}

/// Rotates rows; workers share them out by rows, and heads of one position share its factors.
///
/// # Safety
/// As [`Kernel`].
#[inline(always)]
unsafe fn run<S: Simd, E: Elem>(s: S, args: &Args<'_>) -> Result<()> {
    let [Some(src), Some(positions), factors, ..] = args.src else { return Ok(()) };
    let Op::Rope(rope) = args.op else { return Ok(()) };
    let (from, to) = (src.desc, args.dst.desc);
    let heads = to.ne[1].max(1);
    let (dims, n) = (usize::from(rope.dims), to.ne[0]);
    let neox = matches!(rope.mode, RopeMode::NeoX);
    let mut angles = Angles::new(rope, factors.map(|f| f.ptr.cast_const().cast()));
    let mut cache = Factors { cos: [0.0; CACHE], sin: [0.0; CACHE] };
    let mine = share(args.worker, to.rows(), n.saturating_mul(2));
    let mut row = mine.start;
    while row < mine.end {
        let outer = row / heads;
        let (i2, i3) = (outer % to.ne[2].max(1), outer / to.ne[2].max(1));
        let first = row % heads;
        let last = heads.min(first + (mine.end - row));
        let at = positions.ptr.wrapping_add(i2.wrapping_mul(positions.desc.nb[0])).cast::<i32>();
        // SAFETY: core has checked that there is one position per token.
        angles.seek(unsafe { at.read_unaligned() });
        let per_pair = if neox { 1 } else { 2 };
        let mut done = 0;
        while done < dims / 2 {
            let pairs = (dims / 2 - done).min(CACHE / per_pair);
            for i in 0..pairs {
                // SAFETY: core has checked that there is a factor for each pair.
                let (cos, sin) = unsafe { angles.next() };
                if neox {
                    cache.set(i, cos, sin);
                } else {
                    cache.set(2 * i, cos, -sin);
                    cache.set(2 * i + 1, cos, sin);
                }
            }
            for i1 in first..last {
                let x = src.ptr.wrapping_add(from.row_offset(i1, i2, i3));
                let y = args.dst.ptr.wrapping_add(to.row_offset(i1, i2, i3));
                if neox {
                    let (a, b) = (done * E::SIZE, (done + dims / 2) * E::SIZE);
                    let x = [x.wrapping_add(a).cast_const(), x.wrapping_add(b).cast_const()];
                    let y = [y.wrapping_add(a), y.wrapping_add(b)];
                    // SAFETY: both halves of the row have `pairs` elements from `done` on.
                    unsafe { halves::<S, E>(s, x, y, &cache, pairs) };
                } else {
                    let a = 2 * done * E::SIZE;
                    // SAFETY: the row has `2 * pairs` elements from `2 * done` on.
                    unsafe {
                        neighbours::<S, E>(s, x.wrapping_add(a), y.wrapping_add(a), &cache, pairs)
                    };
                }
            }
            done += pairs;
        }
        for i1 in first..last {
            let at = dims * E::SIZE;
            let x = src.ptr.wrapping_add(from.row_offset(i1, i2, i3).wrapping_add(at));
            let y = args.dst.ptr.wrapping_add(to.row_offset(i1, i2, i3).wrapping_add(at));
            if n > dims && !core::ptr::eq(x, y) {
                // SAFETY: both rows have `n` elements; they are the same or apart.
                unsafe { core::ptr::copy(x, y, (n - dims) * E::SIZE) };
            }
        }
        row += last - first;
    }
    Ok(())
}

/// Rotates pairs that lie in two halves.
///
/// # Safety
/// Each `x` is readable and each `y` writable for `pairs` elements; `pairs` is at most [`CACHE`].
#[inline(always)]
unsafe fn halves<S: Simd, E: Elem>(
    s: S,
    x: [*const u8; 2],
    y: [*mut u8; 2],
    f: &Factors,
    pairs: usize,
) {
    let mut i = 0;
    while i < pairs {
        let at = i * E::SIZE;
        let n = (pairs - i).min(LANES);
        // SAFETY: at most 256 factors are in use; a whole vector fits behind every multiple of 8.
        let cos = unsafe { s.load(f.cos.as_ptr().wrapping_add(i)) };
        // SAFETY: as the cosines.
        let sin = unsafe { s.load(f.sin.as_ptr().wrapping_add(i)) };
        // SAFETY: `n` elements are left.
        let a = unsafe { load::<S, E>(s, x[0].wrapping_add(at), n) };
        // SAFETY: `n` elements are left.
        let b = unsafe { load::<S, E>(s, x[1].wrapping_add(at), n) };
        // SAFETY: `n` elements are left.
        unsafe { store::<S, E>(s, y[0].wrapping_add(at), a * cos - b * sin, n) };
        // SAFETY: `n` elements are left.
        unsafe { store::<S, E>(s, y[1].wrapping_add(at), a * sin + b * cos, n) };
        i += LANES;
    }
}

/// Rotates pairs of neighbours.
///
/// # Safety
/// `x` is readable and `y` writable for `2 * pairs` elements; `pairs` is at most half of [`CACHE`].
#[inline(always)]
unsafe fn neighbours<S: Simd, E: Elem>(s: S, x: *const u8, y: *mut u8, f: &Factors, pairs: usize) {
    let mut i = 0;
    while i < 2 * pairs {
        let at = i * E::SIZE;
        let n = (2 * pairs - i).min(LANES);
        // SAFETY: at most 256 factors are in use; a whole vector fits behind every multiple of 8.
        let cos = unsafe { s.load(f.cos.as_ptr().wrapping_add(i)) };
        // SAFETY: as the cosines.
        let sin = unsafe { s.load(f.sin.as_ptr().wrapping_add(i)) };
        // SAFETY: `n` elements are left.
        let v = unsafe { load::<S, E>(s, x.wrapping_add(at), n) };
        // SAFETY: `n` elements are left.
        unsafe { store::<S, E>(s, y.wrapping_add(at), v * cos + v.swap_pairs() * sin, n) };
        i += LANES;
    }
}

/// # Safety
/// `p` is readable for `n` elements, 1 to [`LANES`].
#[inline(always)]
unsafe fn load<S: Simd, E: Elem>(s: S, p: *const u8, n: usize) -> S::F {
    if n == LANES {
        // SAFETY: the caller's promise.
        unsafe { E::load(s, p) }
    } else {
        // SAFETY: the caller's promise.
        unsafe { E::load_part(s, p, n) }
    }
}

/// # Safety
/// `p` is writable for `n` elements, 1 to [`LANES`].
#[inline(always)]
unsafe fn store<S: Simd, E: Elem>(s: S, p: *mut u8, v: S::F, n: usize) {
    if n == LANES {
        // SAFETY: the caller's promise.
        unsafe { E::store(s, p, v) }
    } else {
        // SAFETY: the caller's promise.
        unsafe { E::store_part(s, p, v, n) }
    }
}

per_level! {
    rope_f32 = run::<_, F32>;
    rope_f16 = run::<_, F16>;
}

/// The kernel of a level for a node.
pub(super) const fn resolve(level: Level, q: &Query<'_>) -> Option<Kernel> {
    let Some(a) = q.src.source(0) else { return None };
    if a.dtype as u8 != q.dst.dtype as u8 || !a.rows_contiguous() || !q.dst.rows_contiguous() {
        return None;
    }
    match a.dtype {
        DType::F32 => Some(pick!(level, rope_f32)),
        DType::F16 => Some(pick!(level, rope_f16)),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
