//! Functions of single numbers for what is computed once per row, head or position: the same bits on every level.

use core::f64::consts::{FRAC_2_PI, LN_2, SQRT_2};

/// Natural logarithm of a positive normal number, to about 1e-15.
pub(crate) fn ln(x: f64) -> f64 {
    let bits = x.to_bits();
    let mut e = (bits >> 52) as i32 - 1023;
    let mut m = f64::from_bits(bits & ((1 << 52) - 1) | 1023 << 52);
    if m > SQRT_2 {
        m *= 0.5;
        e += 1;
    }
    // 2 atanh(t), |t| <= 0.172: the terms fall by 34 each.
    let t = (m - 1.0) / (m + 1.0);
    let z = t * t;
    let mut sum = 0.0;
    let mut k = 23;
    while k >= 1 {
        sum = sum * z + 1.0 / f64::from(k);
        k -= 2;
    }
    2.0 * t * sum + f64::from(e) * LN_2
}

/// `e^x` to about 1e-15, for |x| < 700.
pub(crate) fn exp(x: f64) -> f64 {
    let scaled = x * (1.0 / LN_2);
    let n = (scaled + if scaled < 0.0 { -0.5 } else { 0.5 }) as i32;
    let r = x - f64::from(n) * LN_2;
    let mut sum = 1.0;
    let mut k = 14;
    while k >= 1 {
        sum = 1.0 + sum * r / f64::from(k);
        k -= 1;
    }
    let n = n.clamp(-1022, 1023);
    sum * f64::from_bits(((n + 1023) as u64) << 52)
}

/// `base^exponent` for a positive base.
pub(crate) fn pow(base: f32, exponent: f32) -> f32 {
    exp(f64::from(exponent) * ln(f64::from(base))) as f32
}

/// Sine and cosine, to about an ulp of f32 for |x| < 2^28; NaN for infinities and NaN.
///
/// Positions of a long context give angles of a hundred thousand turns, so the reduction runs in f64 with pi/2 in two
/// parts, of which the first has 33 bits and is multiplied exactly.
pub(crate) fn sin_cos(x: f32) -> (f32, f32) {
    const HALF_PI_1: f64 = f64::from_bits(0x3ff9_21fb_5440_0000);
    const HALF_PI_2: f64 = f64::from_bits(0x3dd0_b461_1a62_6331);
    let wide = f64::from(x);
    let turns = wide * FRAC_2_PI;
    // Saturates where the result means nothing anyway.
    let n = (turns + if turns < 0.0 { -0.5 } else { 0.5 }) as i32;
    let r = wide - f64::from(n) * HALF_PI_1 - f64::from(n) * HALF_PI_2;
    let r = r as f32;
    let z = r * r;
    let sin = r + r * z * (-0.166_666_55 + z * (8.332_161e-3 + z * -1.951_529_6e-4));
    let cos = 1.0 - 0.5 * z + z * z * (4.166_664_6e-2 + z * (-1.388_731_6e-3 + z * 2.443_315_7e-5));
    let (a, b) = if n & 1 == 0 { (sin, cos) } else { (cos, sin) };
    let a = if n & 2 == 0 { a } else { -a };
    let b = if n.wrapping_add(1) & 2 == 0 { b } else { -b };
    (a, b)
}

/// The ALiBi slope of a head: a geometric series over the heads, continued at half steps where their number is no power
/// of two (arXiv:2108.12409). 1 without a bias.
pub(crate) fn alibi_slope(max_bias: f32, head: usize, heads: usize) -> f32 {
    if max_bias <= 0.0 || heads == 0 {
        return 1.0;
    }
    let whole = 1usize << heads.ilog2();
    let max_bias = f64::from(max_bias);
    let step = max_bias / whole as f64;
    let power = if head < whole {
        step * (head + 1) as f64
    } else {
        step * 0.5 * (2 * (head - whole) + 1) as f64
    };
    exp(-power * LN_2) as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logarithm_and_power() {
        for i in 1..2000 {
            let x = f64::from(i) * 0.37 * f64::from(i);
            assert!((ln(x) - x.ln()).abs() < 2e-15 * x.ln().abs().max(1.0), "{x}");
            let y = f64::from(i - 1000) * 0.05;
            assert!((exp(y) / y.exp() - 1.0).abs() < 2e-14, "{y}");
        }
        for base in [1000.0f32, 10_000.0, 500_000.0, 1e6] {
            for dims in [2, 6, 8, 64, 80, 128, 256] {
                let e = -2.0 / dims as f32;
                assert_eq!(pow(base, e), f64::from(base).powf(f64::from(e)) as f32);
            }
        }
        assert_eq!(pow(1.0, -0.25), 1.0);
    }

    #[test]
    fn sine_and_cosine_of_large_angles() {
        let mut worst = 0f64;
        let mut x = 1e-6f32;
        while x < 4.0e6 {
            for x in [x, -x] {
                let (s, c) = sin_cos(x);
                let wide = f64::from(x);
                worst = worst.max((f64::from(s) - wide.sin()).abs());
                worst = worst.max((f64::from(c) - wide.cos()).abs());
            }
            x = x * 1.000_13 + 1e-7;
        }
        assert!(worst < 1.2e-7, "{worst}");
        for i in 0..131_072u32 {
            let (s, c) = sin_cos(i as f32);
            let wide = f64::from(i);
            assert!((f64::from(s) - wide.sin()).abs() < 1.2e-7, "{i}");
            assert!((f64::from(c) - wide.cos()).abs() < 1.2e-7, "{i}");
        }
        for x in [f32::INFINITY, f32::NEG_INFINITY, f32::NAN] {
            let (s, c) = sin_cos(x);
            assert!(s.is_nan() && c.is_nan());
        }
        assert_eq!(sin_cos(0.0), (0.0, 1.0));
    }

    #[test]
    fn slopes_are_the_published_ones() {
        for h in 0..8 {
            assert_eq!(alibi_slope(8.0, h, 8), 0.5f32.powi(h as i32 + 1));
        }
        // Twelve heads: eight whole steps, then the odd half steps.
        assert_eq!(alibi_slope(8.0, 7, 12), 1.0 / 256.0);
        assert!((alibi_slope(8.0, 8, 12) - 0.5f32.sqrt()).abs() < 1e-7);
        assert_eq!(alibi_slope(0.0, 3, 8), 1.0);
        assert_eq!(alibi_slope(8.0, 0, 0), 1.0);
    }
}
