//! Functions of single numbers, for cores without vectors and without f64.

use crate::kernels::vec::scalar_math::sqrt;

/// What [`exp`] computes with: log2 e, ln 2 in two parts of which the second is subtracted, and a polynomial's factors from
/// the fifth power down to the second. The first part of ln 2 has few bits: its product with an exponent is exact.
#[allow(clippy::excessive_precision)]
pub(in crate::kernels) const EXP: [f32; 7] = [
    core::f32::consts::LOG2_E,
    0.693_359_4,
    2.121_944_4e-4,
    8.312_507_5e-3,
    4.189_027e-2,
    1.666_711_6e-1,
    4.999_923e-1,
];

/// `e^x` to three ulps: zero where that is below the least normal number, infinity where it is above the largest.
#[inline]
pub(super) fn exp(x: f32) -> f32 {
    /// Added and subtracted again, rounds to an integer: 1.5 * 2^23. The sum's low bits are that integer.
    const ROUNDER: f32 = 12_582_912.0;
    let [log2_e, ln_2, less, p5, p4, p3, p2] = EXP;
    let shifted = x * log2_e + ROUNDER;
    let n = shifted - ROUNDER;
    if n < -126.0 {
        return 0.0;
    }
    if n > 127.0 {
        return f32::INFINITY;
    }
    let r = (x - n * ln_2) + n * less;
    let p = 1.0 + r * (1.0 + r * (p2 + r * (p3 + r * (p4 + r * p5))));
    if x.is_nan() { x } else { f32::from_bits(p.to_bits().wrapping_add(shifted.to_bits() << 23)) }
}

/// `a * b` as a rounded product and what the rounding left out.
fn product(a: f32, b: f32) -> (f32, f32) {
    /// The upper half of a number's digits: its products have no more than all of them.
    fn upper(x: f32) -> f32 {
        let c = 4097.0 * x;
        c - (c - x)
    }
    let (p, a1, b1) = (a * b, upper(a), upper(b));
    let (a2, b2) = (a - a1, b - b1);
    (p, ((a1 * b1 - p) + a1 * b2 + a2 * b1) + a2 * b2)
}

/// `base^(-2 / dims)` for a positive base and a power of two: a chain of square roots, in pairs of f32.
pub(super) fn step(base: f32, dims: usize) -> f32 {
    let (mut x, mut rest) = (base, 0.0);
    for _ in 1..dims.max(2).ilog2() {
        let y = sqrt(x);
        let (p, left) = product(y, y);
        let more = ((x - p) - left + rest) * (0.5 / y);
        x = y + more;
        rest = more - (x - y);
    }
    let y = 1.0 / x;
    let (p, left) = product(x, y);
    y + y * (((1.0 - p) - left) - rest * y)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponential() {
        let mut x = -87.0f32;
        while x <= 88.0 {
            let want = f64::from(x).exp();
            assert!((f64::from(exp(x)) / want - 1.0).abs() < 3e-7, "{x}: {} {want}", exp(x));
            x += 0.0137;
        }
        assert_eq!(exp(0.0), 1.0);
        assert!(exp(f32::NAN).is_nan() && exp(-f32::NAN).is_nan());
        assert_eq!(exp(89.0), f32::INFINITY);
        assert_eq!(exp(f32::MAX), f32::INFINITY);
        for x in [-88.0, -200.0, -1e6, -1e8, f32::MIN, f32::NEG_INFINITY] {
            assert_eq!(exp(x), 0.0, "{x}");
        }
    }

    #[test]
    fn steps_are_the_nearest_floats() {
        for base in [1000.0f32, 10_000.0, 500_000.0, 1e6] {
            for dims in [2usize, 4, 8, 16, 32, 64, 128, 256] {
                let want = f64::from(base).powf(-2.0 / dims as f64) as f32;
                assert_eq!(step(base, dims), want, "{base} {dims}");
            }
        }
    }
}
