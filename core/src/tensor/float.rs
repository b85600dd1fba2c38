//! Conversions between float formats, and the few rounding functions that `core` has not.
//!
//! Narrow floats travel as their bits (`u16`, `u8`), because the language has no stable type for them.
//! Everything is a `const fn`, uses selects rather than branches, and gives what the conversion
//! instructions of x86-64 and AArch64 give, NaNs included.

/// An f16 (IEEE 754 binary16) as `f32`. Exact; NaNs keep their sign and payload and become quiet.
#[inline]
pub const fn f16_to_f32(h: u16) -> f32 {
    let mag = (h & 0x7fff) as u32;
    // Moving the exponent's bias from 15 to 127 is one addition, done twice to get from 31 to 255.
    let rebias = 112 << 23;
    let normal = (mag << 13) + rebias;
    let special = (normal + rebias) | ((mag > 0x7c00) as u32) << 22;
    // 0.5 has the unit of an f16 subnormal, 2^-24, in its last place: this needs no subnormal f32, which
    // some machines flush to zero.
    let tiny = (f32::from_bits(0x3f00_0000 | mag) - 0.5).to_bits();
    let bits = if mag < 0x0400 {
        tiny
    } else if mag < 0x7c00 {
        normal
    } else {
        special
    };
    f32::from_bits(bits | (h as u32 & 0x8000) << 16)
}

/// The f16 nearest to `x`, ties to even. From 65520 on the result is infinite; NaNs keep their sign and
/// the upper part of their payload and become quiet.
#[inline]
pub const fn f32_to_f16(x: f32) -> u16 {
    let bits = x.to_bits();
    let mag = bits & 0x7fff_ffff;
    // Half a unit, less one when the kept part is even; a carry runs into the exponent as it should.
    let half = 0x0fff + (mag >> 13 & 1);
    let normal = mag.wrapping_sub(112 << 23).wrapping_add(half) >> 13;
    // The addition rounds at 2^-24, the unit of f16 subnormals.
    let tiny = (f32::from_bits(mag) + 0.5).to_bits().wrapping_sub(0x3f00_0000);
    let nan = 0x7e00 | (mag >> 13 & 0x03ff);
    let out = if mag > 0x7f80_0000 {
        nan
    } else if mag >= 0x4780_0000 {
        0x7c00
    } else if mag < 0x3880_0000 {
        tiny
    } else {
        normal
    };
    (out | (bits >> 16 & 0x8000)) as u16
}

/// A bf16 (upper half of a binary32) as `f32`. Exact.
#[inline]
pub const fn bf16_to_f32(b: u16) -> f32 {
    f32::from_bits((b as u32) << 16)
}

/// The bf16 nearest to `x`, ties to even. NaNs keep their sign and the upper part of their payload and
/// become quiet.
#[inline]
pub const fn f32_to_bf16(x: f32) -> u16 {
    let bits = x.to_bits();
    let rounded = bits.wrapping_add(0x7fff + (bits >> 16 & 1));
    let out = if bits & 0x7fff_ffff > 0x7f80_0000 { bits | 0x0040_0000 } else { rounded };
    (out >> 16) as u16
}

/// The power of two `2^(e - 127)` that an E8M0 exponent stands for.
///
/// As in ggml, 255 gives infinity, although the OCP specification of the MX formats makes it NaN.
#[inline]
pub const fn e8m0_to_f32(e: u8) -> f32 {
    // 2^-127 is subnormal: its one bit sits in the mantissa.
    f32::from_bits(if e == 0 { 0x0040_0000 } else { (e as u32) << 23 })
}

/// Half the power of two of an E8M0 exponent, `2^(e - 128)`: the scale of
/// [`MXFP4_VALUES`](super::block::MXFP4_VALUES), which are stored doubled.
#[inline]
pub const fn e8m0_half_to_f32(e: u8) -> f32 {
    f32::from_bits(if e < 2 { 0x0020_0000 << e } else { (e as u32 - 1) << 23 })
}

/// `x` rounded to a whole number, halves away from zero, as C's `roundf`.
#[inline]
pub const fn round(x: f32) -> f32 {
    // From 2^23 on every float is whole.
    if x.is_nan() || x.abs() >= 8_388_608.0 {
        return x;
    }
    let whole = x as i32 as f32;
    let up = if (x - whole).abs() >= 0.5 { 1.0 } else { 0.0 };
    (whole.abs() + up).copysign(x)
}

/// `x` rounded to an integer, ties to even: the rounding of ggml's K-quant encoders.
///
/// Results are limited to ±4194303; a NaN gives 0.
#[inline]
pub const fn nearest_int(x: f32) -> i32 {
    if x.is_nan() {
        return 0;
    }
    // In [2^23, 2^24) the last place is worth one, so the addition rounds.
    let shifted = x.clamp(-4_194_303.0, 4_194_303.0) + 12_582_912.0;
    (shifted.to_bits() & 0x007f_ffff) as i32 - 0x0040_0000
}

/// The correctly rounded square root of `x`; NaN for negative `x`.
pub const fn sqrt(x: f32) -> f32 {
    if !(x > 0.0 && x < f32::INFINITY) {
        return if x < 0.0 { f32::NAN } else { x };
    }
    let x = x as f64;
    // Halving the exponent gives a start within 6 percent; each step of Newton's squares the error. A
    // root of an f32 is never so near to the middle between two f32 that the error of an f64 counts.
    let mut root = f64::from_bits((x.to_bits() >> 1) + (0x3ff << 51));
    let mut step = 0;
    while step < 5 {
        root = 0.5 * (root + x / root);
        step += 1;
    }
    root as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The value of a finite f16, by its definition.
    fn f16_value(h: u16) -> f64 {
        let (exp, frac) = (h as i32 >> 10 & 31, (h & 0x3ff) as f64);
        let mag = match exp {
            0 => frac * 2f64.powi(-24),
            _ => (1024.0 + frac) * 2f64.powi(exp - 25),
        };
        if h & 0x8000 == 0 { mag } else { -mag }
    }

    #[test]
    fn every_f16_has_its_value_and_comes_back() {
        for h in 0..=u16::MAX {
            let x = f16_to_f32(h);
            assert_eq!(x.is_sign_negative(), h & 0x8000 != 0);
            match h & 0x7fff {
                0..0x7c00 => assert_eq!(x as f64, f16_value(h), "{h:#06x}"),
                0x7c00 => assert!(x.is_infinite()),
                _ => assert!(x.is_nan()),
            }
            let quiet = if x.is_nan() { h | 0x0200 } else { h };
            assert_eq!(f32_to_f16(x), quiet, "{h:#06x}");
        }
    }

    #[test]
    fn f16_rounds_to_nearest_even() {
        // Between any two neighbours: the middle goes to the even one, a hair to either side does not.
        for h in 0..0x7bffu16 {
            let (lo, hi) = (f16_to_f32(h), f16_to_f32(h + 1));
            let mid = ((lo as f64 + hi as f64) / 2.0) as f32;
            assert_eq!(f32_to_f16(mid), h + (h & 1), "{h:#06x}");
            assert_eq!(f32_to_f16(mid.next_down()), h);
            assert_eq!(f32_to_f16(mid.next_up()), h + 1);
            assert_eq!(f32_to_f16(-mid.next_up()), (h + 1) | 0x8000);
        }
        assert_eq!(f32_to_f16(65519.996), 0x7bff);
        assert_eq!(f32_to_f16(65520.0), 0x7c00);
        assert_eq!(f32_to_f16(f32::MAX), 0x7c00);
        assert_eq!(f32_to_f16(f32::NEG_INFINITY), 0xfc00);
        assert_eq!(f32_to_f16(f32::from_bits(1)), 0);
        assert_eq!(f32_to_f16(f32::from_bits(0xff80_0001)), 0xfe00);
        assert_eq!(f32_to_f16(-0.0), 0x8000);
    }

    #[test]
    fn bf16_both_ways() {
        for b in 0..=u16::MAX {
            let x = bf16_to_f32(b);
            assert_eq!(f32_to_bf16(x), if x.is_nan() { b | 0x40 } else { b });
        }
        assert_eq!(f32_to_bf16(f32::from_bits(0x3f80_8000)), 0x3f80);
        assert_eq!(f32_to_bf16(f32::from_bits(0x3f81_8000)), 0x3f82);
        assert_eq!(f32_to_bf16(f32::from_bits(0x3f80_8001)), 0x3f81);
        assert_eq!(f32_to_bf16(f32::MAX), 0x7f80);
        // A payload in the lower half only must not turn into infinity.
        assert_eq!(f32_to_bf16(f32::from_bits(0x7f80_0001)), 0x7fc0);
        assert_eq!(f32_to_bf16(f32::from_bits(0xffff_ffff)), 0xffff);
    }

    #[test]
    fn exponents_are_powers_of_two() {
        for e in 0..=254u8 {
            assert_eq!(e8m0_to_f32(e) as f64, 2f64.powi(e as i32 - 127));
            assert_eq!(e8m0_half_to_f32(e) as f64, 2f64.powi(e as i32 - 128));
        }
        assert_eq!(e8m0_to_f32(255), f32::INFINITY);
        assert_eq!(e8m0_half_to_f32(255) as f64, 2f64.powi(127));
    }

    #[test]
    fn rounding_matches_std() {
        let mut bits = 1u32;
        for _ in 0..200_000 {
            bits = bits.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let x = f32::from_bits(bits);
            assert!(round(x).to_bits() == x.round().to_bits() || x.is_nan(), "{x}");
            let root = sqrt(x);
            assert!(root.to_bits() == x.sqrt().to_bits() || root.is_nan() && x < 0.0 || x.is_nan());
            if x.abs() < 4_194_303.0 {
                assert_eq!(nearest_int(x) as f32, x.round_ties_even(), "{x}");
            }
        }
        for x in [0.0, -0.0, 0.5, -0.5, 0.499_999_97, 1.5, 2.5, -2.5, 8_388_607.5, f32::INFINITY] {
            assert_eq!(round(x).to_bits(), x.round().to_bits(), "{x}");
        }
        assert_eq!([nearest_int(0.5), nearest_int(1.5), nearest_int(-2.5)], [0, 2, -2]);
        assert_eq!(nearest_int(f32::NAN), 0);
        assert_eq!(nearest_int(f32::INFINITY), 4_194_303);
        assert_eq!(nearest_int(f32::MIN), -4_194_303);
        assert_eq!(sqrt(f32::from_bits(1)), f32::from_bits(1).sqrt());
        assert_eq!(sqrt(f32::INFINITY), f32::INFINITY);
        assert_eq!(sqrt(-0.0).to_bits(), (-0.0f32).to_bits());
    }

    #[test]
    fn all_of_it_runs_at_compile_time() {
        const HALF: u16 =
            f32_to_f16(sqrt(round(1.5)) + bf16_to_f32(f32_to_bf16(1.0)) - e8m0_to_f32(127));
        const { assert!(nearest_int(f16_to_f32(HALF)) == 1) };
        assert_eq!(HALF, 0x3da8);
    }
}
