//! Products of sixteen bytes, summed in four lanes.

use crate::Level;
use core::arch::aarch64::*;

/// How a level multiplies bytes.
pub trait Dot {
    /// The level.
    const LEVEL: Level;

    /// `sum` plus the products of `a` and `b`, four or so neighbours in each lane. Which lane a product goes to is the
    /// level's choice; the total is exact.
    ///
    /// # Safety
    /// The processor has the level's instructions.
    unsafe fn dot(sum: int32x4_t, a: int8x16_t, b: int8x16_t) -> int32x4_t;
}

/// NEON's widening multiplications.
pub struct Plain;

impl Dot for Plain {
    const LEVEL: Level = Level::Neon;

    #[inline]
    #[target_feature(enable = "neon")]
    unsafe fn dot(sum: int32x4_t, a: int8x16_t, b: int8x16_t) -> int32x4_t {
        // Activations are within ±127, so that a product is below 2^14 and two of them below 2^15.
        let two =
            vmlal_s8(vmull_s8(vget_low_s8(a), vget_low_s8(b)), vget_high_s8(a), vget_high_s8(b));
        vpadalq_s16(sum, two)
    }
}

/// The dot-product instructions.
#[cfg(feature = "dotprod")]
pub struct Sdot;

#[cfg(feature = "dotprod")]
impl Dot for Sdot {
    const LEVEL: Level = Level::Dotprod;

    #[inline]
    #[target_feature(enable = "neon")]
    unsafe fn dot(sum: int32x4_t, a: int8x16_t, b: int8x16_t) -> int32x4_t {
        let mut out = sum;
        // The language has no stable name for the instruction.
        // SAFETY: works on registers only, and the caller promises the instruction.
        unsafe {
            core::arch::asm!(
                ".arch_extension dotprod",
                "sdot {out:v}.4s, {a:v}.16b, {b:v}.16b",
                out = inout(vreg) out,
                a = in(vreg) a,
                b = in(vreg) b,
                options(pure, nomem, nostack, preserves_flags),
            );
        }
        out
    }
}
