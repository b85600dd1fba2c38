//! Functions of single numbers for what is computed once per row, head or position: the same bits on every level.

use core::f64::consts::{FRAC_2_PI, LN_2, SQRT_2};

/// Square root, rounded to nearest.
#[inline]
pub(crate) fn sqrt(x: f32) -> f32 {
    cfg_if::cfg_if! {
        if #[cfg(cortex_m_fpu)] {
            let root: u32;
            // SAFETY: arithmetic on registers that are declared.
            unsafe {
                core::arch::asm!(
                    "vmov s0, {x}",
                    "vsqrt.f32 s0, s0",
                    "vmov {root}, s0",
                    x = in(reg) x.to_bits(),
                    root = lateout(reg) root,
                    out("s0") _,
                    options(pure, nomem, nostack, preserves_flags),
                );
            }
            f32::from_bits(root)
        } else {
            libm::sqrtf(x)
        }
    }
}

/// One over each odd number from 1 to 23, and over each number from 1 to 14: divisions are slow where f64 is emulated.
const ODD: [f64; 12] = reciprocals(1, 2);
const ALL: [f64; 14] = reciprocals(1, 1);

const fn reciprocals<const N: usize>(first: usize, step: usize) -> [f64; N] {
    let mut out = [0.0; N];
    let mut i = 0;
    while i < N {
        out[i] = 1.0 / (first + step * i) as f64;
        i += 1;
    }
    out
}

/// `1 / x` for x from 1 to 4, to about 2e-16: a start in f32 whose error is squared twice. An emulated f64 division is a
/// kilobyte of code.
fn inverse(x: f64) -> f64 {
    let mut y = f64::from(1.0 / x as f32);
    y = y * (2.0 - x * y);
    y * (2.0 - x * y)
}

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
    let t = (m - 1.0) * inverse(m + 1.0);
    let z = t * t;
    let sum = ODD.iter().rev().fold(0.0, |sum, k| sum * z + k);
    2.0 * t * sum + f64::from(e) * LN_2
}

/// `e^x` to about 1e-15, for |x| < 700.
pub(crate) fn exp(x: f64) -> f64 {
    let scaled = x * (1.0 / LN_2);
    let n = (scaled + if scaled < 0.0 { -0.5 } else { 0.5 }) as i32;
    let r = x - f64::from(n) * LN_2;
    let sum = ALL.iter().rev().fold(1.0, |sum, k| 1.0 + sum * r * k);
    let n = n.clamp(-1022, 1023);
    sum * f64::from_bits(((n + 1023) as u64) << 52)
}

/// `base^exponent` for a positive base.
pub(crate) fn pow(base: f32, exponent: f32) -> f32 {
    exp(f64::from(exponent) * ln(f64::from(base))) as f32
}

/// Sine and cosine of an angle from those of what is left behind `n` quarter turns.
#[inline(always)]
fn turned<T: Copy + core::ops::Neg<Output = T>>(n: i32, sin: T, cos: T) -> (T, T) {
    let (a, b) = if n & 1 == 0 { (sin, cos) } else { (cos, sin) };
    let a = if n & 2 == 0 { a } else { -a };
    let b = if n.wrapping_add(1) & 2 == 0 { b } else { -b };
    (a, b)
}

/// The quarter turns of an angle, as far as they matter, and what is left, at most an eighth of a turn.
///
/// Positions of a long context give angles of a hundred thousand turns. Their integer mantissa is multiplied with 64 bits
/// of 2/pi, so nothing is rounded before the turns are taken off, and processors without f64 need no emulation of it.
fn quarters(x: f32) -> (i32, f32) {
    /// 2/pi * 2^64.
    const TWO_BY_PI: u64 = 0xa2f9_836e_4e44_1529;
    /// pi/2 / 2^32.
    const UNIT: f32 = (core::f64::consts::FRAC_PI_2 / 4_294_967_296.0) as f32;
    let magnitude = x.to_bits() & 0x7fff_ffff;
    if magnitude <= 0x3f49_0fdb {
        return (0, x);
    }
    // From 2^28 on this means nothing; of infinities and NaN it makes NaN.
    if magnitude >= 0x4d80_0000 {
        return (0, x * 0.0);
    }
    let mantissa = u64::from(magnitude & 0x007f_ffff | 0x0080_0000);
    let product =
        ((mantissa * (TWO_BY_PI >> 32)) << 4) + ((mantissa * (TWO_BY_PI & 0xffff_ffff)) >> 28);
    // The angle is the mantissa times 2^(exponent - 150), so this is quarter turns times 2^32.
    let turns = product >> (154 - (magnitude >> 23)).min(63);
    let n = (turns.wrapping_add(1 << 31) >> 32) as i32;
    let left = turns as i32 as f32 * UNIT;
    if x < 0.0 { (-n, -left) } else { (n, left) }
}

/// Sine and cosine, to about an ulp of f32 for |x| < 2^28; NaN for infinities and NaN.
pub(crate) fn sin_cos(x: f32) -> (f32, f32) {
    let (n, r) = quarters(x);
    let z = r * r;
    let sin = r + r * z * (-0.166_666_55 + z * (8.332_161e-3 + z * -1.951_529_6e-4));
    let cos = 1.0 - 0.5 * z + z * z * (4.166_664_6e-2 + z * (-1.388_731_6e-3 + z * 2.443_315_7e-5));
    turned(n, sin, cos)
}

/// As [`sin_cos`], to half an ulp but for the rarest cases: what a good C library gives. For processors that have f64.
pub(crate) fn sin_cos_exact(x: f32) -> (f32, f32) {
    const HALF_PI_1: f64 = f64::from_bits(0x3ff9_21fb_5440_0000);
    const HALF_PI_2: f64 = f64::from_bits(0x3dd0_b461_1a62_6331);
    let wide = f64::from(x);
    let turns = wide * FRAC_2_PI;
    let n = (turns + if turns < 0.0 { -0.5 } else { 0.5 }) as i32;
    let r = wide - f64::from(n) * HALF_PI_1 - f64::from(n) * HALF_PI_2;
    // Taylor's series at most an eighth of a turn from 0: the first term left out is below 1e-11.
    let z = r * r;
    let sin = r + r
        * z
        * (-1.0 / 6.0
            + z * (1.0 / 120.0
                + z * (-1.0 / 5_040.0 + z * (1.0 / 362_880.0 + z * (-1.0 / 39_916_800.0)))));
    let cos = 1.0
        + z * (-0.5
            + z * (1.0 / 24.0
                + z * (-1.0 / 720.0
                    + z * (1.0 / 40_320.0
                        + z * (-1.0 / 3_628_800.0 + z * (1.0 / 479_001_600.0))))));
    let (a, b) = turned(n, sin, cos);
    (a as f32, b as f32)
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
    fn sines_like_a_good_library() {
        let mut off = 0;
        for i in 0..200_000 {
            let x = i as f32 * 0.37;
            let (s, c) = sin_cos_exact(x);
            let (ws, wc) = f64::from(x).sin_cos();
            off += u32::from(s != ws as f32) + u32::from(c != wc as f32);
        }
        assert!(off < 20, "{off} of 400000 are not the nearest");
        assert!(sin_cos_exact(f32::NAN).0.is_nan());
    }

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
