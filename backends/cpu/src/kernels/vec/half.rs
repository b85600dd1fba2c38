//! Rounding to half precision: ties to even, and unchanged where no half is as large. A NaN stays one.

use super::{LANES, Lanes, Simd};

/// Rounds a number.
#[inline(always)]
pub(crate) fn half(x: f32) -> f32 {
    let bits = x.to_bits();
    let magnitude = bits & 0x7fff_ffff;
    let normal = f32::from_bits(bits.wrapping_add(0xfff + (bits >> 13 & 1)) & !0x1fff);
    // Below 2^-14 halves are multiples of 2^-24, which is the last place of an f32 from a half to one.
    let small = (f32::from_bits(magnitude) + 0.5) - 0.5;
    let small = f32::from_bits(small.to_bits() | bits & 0x8000_0000);
    if magnitude >= 0x477f_f000 {
        x
    } else if magnitude >= 0x3880_0000 {
        normal
    } else {
        small
    }
}

/// Rounds the lanes of a vector, by the level's own conversions.
#[inline(always)]
pub(crate) fn halves<S: Simd>(s: S, v: S::F) -> S::F {
    let mut room = [0u16; LANES];
    // SAFETY: there is room for all lanes.
    unsafe { s.store_f16(room.as_mut_ptr(), v) };
    // SAFETY: all lanes are there.
    let rounded = unsafe { s.load_f16(room.as_ptr()) };
    S::F::select(v.abs().lt(s.splat(65_520.0)), rounded, v)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::vec::Scalar;

    #[test]
    fn both_round_alike_and_as_the_format_says() {
        use dinrail_core::tensor::float::{f16_to_f32, f32_to_f16};
        let mut bits = 0u32;
        while bits < 0x7f80_0000 {
            for x in [f32::from_bits(bits), -f32::from_bits(bits)] {
                let want = if x.abs() < 65_520.0 { f16_to_f32(f32_to_f16(x)) } else { x };
                assert_eq!(half(x).to_bits(), want.to_bits(), "{x}");
                assert_eq!(halves(Scalar.single(), Scalar.single().splat(x)).first(), want, "{x}");
            }
            bits += 0x777;
        }
        assert!(half(f32::NAN).is_nan() && half(f32::INFINITY) == f32::INFINITY);
    }
}
