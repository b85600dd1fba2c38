//! Functions of single numbers, for cores without vectors and without f64.

use crate::kernels::vec::scalar_math::sqrt;

/// `e^x` to two ulps from -87 to 88, and what these give beyond.
#[inline]
pub(super) fn exp(x: f32) -> f32 {
    /// Added and subtracted again, rounds to an integer: 1.5 * 2^23. The sum's low bits are that integer.
    const ROUNDER: f32 = 12_582_912.0;
    // In this order, so that a NaN comes through.
    let x = if x < -87.0 { -87.0 } else { x };
    let x = if x > 88.0 { 88.0 } else { x };
    let shifted = x * core::f32::consts::LOG2_E + ROUNDER;
    let n = shifted - ROUNDER;
    // ln 2 in two parts, the first of few bits: its product with n is exact.
    let r = (x - n * 0.693_359_4) + n * 2.121_944_4e-4;
    // Taylor's series within half of ln 2, its last two terms bent to fit there.
    let p = 1.666_665_8e-1 + r * (4.166_579_5e-2 + r * (8.333_452e-3 + r * 1.398_2e-3));
    let p = 1.0 + r * (1.0 + r * (0.5 + r * p));
    p * f32::from_bits((shifted.to_bits() << 23).wrapping_add(0x3f80_0000))
}

/// `base^(-2 / dims)` for a positive base and a power of two: a chain of square roots, each in f64 from one step after
/// the f32 root.
pub(super) fn step(base: f32, dims: usize) -> f32 {
    let mut x = f64::from(base);
    for _ in 1..dims.max(2).ilog2() {
        let y = sqrt(x as f32);
        let wide = f64::from(y);
        x = wide + (x - wide * wide) * f64::from(0.5 / y);
    }
    let y = f64::from(1.0 / x as f32);
    (y * (2.0 - x * y)) as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponential() {
        let mut x = -87.0f32;
        while x < 88.0 {
            let want = f64::from(x).exp();
            assert!((f64::from(exp(x)) / want - 1.0).abs() < 3e-7, "{x}: {} {want}", exp(x));
            x += 0.0137;
        }
        assert_eq!(exp(0.0), 1.0);
        assert!(exp(f32::NAN).is_nan());
        assert!(exp(f32::NEG_INFINITY) < 1e-37 && exp(1e9) > 1e38);
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
