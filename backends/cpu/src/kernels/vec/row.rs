//! Sums and other passes over whole rows.
//!
//! Every sum runs in four accumulators of eight lanes each, added up in a fixed order at the end: the result depends on
//! the row and the level only, and the rounding error grows with an 32th of the length.

use super::{Elem, F32, LANES, Lanes, Simd};

/// `sum f(a[i])` over `n` elements, for an `f` with `f(0) = 0` wherever the row has a tail.
macro_rules! sum_by {
    ($s:expr, $a:expr, $n:expr, |$x:ident, $valid:ident| $f:expr) => {{
        let (s, a, n): (_, *const f32, usize) = ($s, $a, $n);
        let mut acc = [s.splat(0.0); 4];
        let mut i = 0;
        while i + 4 * LANES <= n {
            for (k, acc) in acc.iter_mut().enumerate() {
                // SAFETY: `i + 4 * LANES <= n`.
                let $x = unsafe { s.load(a.wrapping_add(i + k * LANES)) };
                *acc = *acc + $f;
            }
            i += 4 * LANES;
        }
        let [mut first, second, third, fourth] = acc;
        while i + LANES <= n {
            // SAFETY: `i + LANES <= n`.
            let $x = unsafe { s.load(a.wrapping_add(i)) };
            first = first + $f;
            i += LANES;
        }
        let mut sum = ((first + second) + (third + fourth)).sum();
        while i < n {
            // SAFETY: `i < n`.
            let x = unsafe { a.wrapping_add(i).read_unaligned() };
            sum += $valid(x);
            i += 1;
        }
        sum
    }};
}

/// `sum a[i]`.
///
/// # Safety
/// `a` is readable for `n` elements.
#[inline(always)]
pub(crate) unsafe fn sum<S: Simd>(s: S, a: *const f32, n: usize) -> f32 {
    let one = |x: f32| x;
    sum_by!(s, a, n, |x, one| x)
}

/// `sum (a[i] - mean)^2`.
///
/// # Safety
/// `a` is readable for `n` elements.
#[inline(always)]
pub(crate) unsafe fn sum_squares<S: Simd>(s: S, a: *const f32, mean: f32, n: usize) -> f32 {
    let m = s.splat(mean);
    let one = |x: f32| (x - mean) * (x - mean);
    sum_by!(s, a, n, |x, one| {
        let d = x - m;
        d * d
    })
}

/// The largest element, -inf for none. NaNs may get lost.
///
/// # Safety
/// `a` is readable for `n` elements.
#[inline(always)]
pub(crate) unsafe fn largest<S: Simd>(s: S, a: *const f32, n: usize) -> f32 {
    let mut acc = s.splat(f32::NEG_INFINITY);
    let mut i = 0;
    while i + LANES <= n {
        // SAFETY: `i + LANES <= n`.
        acc = unsafe { s.load(a.wrapping_add(i)) }.max(acc);
        i += LANES;
    }
    let mut best = acc.largest();
    while i < n {
        // SAFETY: `i < n`.
        let x = unsafe { a.wrapping_add(i).read_unaligned() };
        best = if x > best { x } else { best };
        i += 1;
    }
    best
}

/// Calls `$body` for each vector of a row of `$n` elements of `$elem`, at `$from` and stored at `$to`; the tail goes
/// through a padded vector. Reads a vector before it writes it, so both rows may be the same.
macro_rules! map_row {
    ($s:expr, $elem:ty, $from:expr, $to:expr, $n:expr, |$x:ident| $body:expr) => {{
        #[allow(unused_imports)]
        use crate::kernels::vec::Elem as _;
        let (s, from, to, n): (_, *const u8, *mut u8, usize) = ($s, $from, $to, $n);
        let lanes = crate::kernels::vec::lanes(s);
        let size = <$elem as crate::kernels::vec::Elem>::SIZE;
        let mut i = 0;
        while i + lanes <= n {
            // SAFETY: the caller's rows have `n` elements, and `i + lanes <= n`.
            let $x = unsafe { <$elem>::load(s, from.wrapping_add(i * size)) };
            let y = $body;
            // SAFETY: as the load.
            unsafe { <$elem>::store(s, to.wrapping_add(i * size), y) };
            i += lanes;
        }
        if i < n {
            // SAFETY: `n - i` elements are left.
            let $x = unsafe { <$elem>::load_part(s, from.wrapping_add(i * size), n - i) };
            let y = $body;
            // SAFETY: `n - i` elements are left.
            unsafe { <$elem>::store_part(s, to.wrapping_add(i * size), y, n - i) };
        }
    }};
}
pub(crate) use map_row;

/// `y[i] += a * x[i]`.
///
/// # Safety
/// `x` is readable and `y` writable for `n` elements, without overlap.
#[inline(always)]
pub(crate) unsafe fn axpy<S: Simd, X: Elem>(s: S, a: f32, x: *const u8, y: *mut f32, n: usize) {
    let a = s.splat(a);
    let mut i = 0;
    while i + LANES <= n {
        // SAFETY: `i + LANES <= n`.
        let v = unsafe { X::load(s, x.wrapping_add(i * X::SIZE)) };
        let at = y.wrapping_add(i);
        // SAFETY: `i + LANES <= n`.
        let w = unsafe { s.load(at) };
        // SAFETY: `i + LANES <= n`.
        unsafe { s.store(at, v.mul_add(a, w)) };
        i += LANES;
    }
    if i < n {
        // SAFETY: `n - i` elements are left.
        let v = unsafe { X::load_part(s, x.wrapping_add(i * X::SIZE), n - i) };
        let at = y.wrapping_add(i).cast::<u8>();
        // SAFETY: `n - i` elements are left.
        let w = unsafe { F32::load_part(s, at, n - i) };
        // SAFETY: `n - i` elements are left.
        unsafe { F32::store_part(s, at, v.mul_add(a, w), n - i) };
    }
}

/// `a[i] *= f`.
///
/// # Safety
/// `a` is readable and writable for `n` elements.
#[inline(always)]
pub(crate) unsafe fn scale<S: Simd>(s: S, a: *mut f32, f: f32, n: usize) {
    let s = s.map();
    let f = s.splat(f);
    map_row!(s, F32, a.cast(), a.cast(), n, |x| x * f);
}
