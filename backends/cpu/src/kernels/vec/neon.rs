//! NEON: eight lanes in two registers.

use super::{Lanes, Simd};
use core::arch::aarch64::*;
use core::arch::asm;
use core::ops::{Add, Div, Mul, Neg, Sub};

/// Proof of NEON.
#[derive(Clone, Copy)]
pub(crate) struct Neon(());

impl Neon {
    /// # Safety
    /// The processor has NEON, and it is enabled.
    #[inline(always)]
    pub(crate) unsafe fn new() -> Self {
        Self(())
    }
}

/// Eight lanes. Only a token makes one.
#[derive(Clone, Copy)]
pub(crate) struct F32x8(float32x4_t, float32x4_t);

/// Eight truth values, as all-ones and all-zeros lanes.
#[derive(Clone, Copy)]
pub(crate) struct Mask(uint32x4_t, uint32x4_t);

/// An instruction that is there because a token was made.
macro_rules! op {
    ($e:expr) => {{
        // SAFETY: whoever made the token promised the instructions; a vector comes from a token.
        unsafe { $e }
    }};
}

/// A load or store, with the caller's promise about the pointer.
macro_rules! memory {
    ($e:expr) => {{
        // SAFETY: the token promises the instructions, the caller the memory.
        unsafe { $e }
    }};
}

/// One instruction on both halves.
macro_rules! both {
    ($f:ident, $a:expr) => {
        F32x8(op!($f($a.0)), op!($f($a.1)))
    };
    ($f:ident, $a:expr, $b:expr) => {
        F32x8(op!($f($a.0, $b.0)), op!($f($a.1, $b.1)))
    };
}

/// Four halfs as f32. The language has no stable f16 type for the intrinsic.
#[inline(always)]
fn widen(h: uint16x4_t) -> float32x4_t {
    let out;
    // SAFETY: reads and writes registers only.
    unsafe {
        asm!("fcvtl {o:v}.4s, {i:v}.4h", i = in(vreg) h, o = lateout(vreg) out,
            options(pure, nomem, nostack, preserves_flags));
    }
    out
}

/// Four f32 as halfs, rounded to nearest even.
#[inline(always)]
fn narrow(x: float32x4_t) -> uint16x4_t {
    let out;
    // SAFETY: reads and writes registers only.
    unsafe {
        asm!("fcvtn {o:v}.4h, {i:v}.4s", i = in(vreg) x, o = lateout(vreg) out,
            options(pure, nomem, nostack, preserves_flags));
    }
    out
}

impl Simd for Neon {
    type F = F32x8;
    type Map = Self;
    const WIDE: bool = true;

    #[inline(always)]
    fn map(self) -> Self {
        self
    }

    #[inline(always)]
    fn splat(self, x: f32) -> F32x8 {
        let v = op!(vdupq_n_f32(x));
        F32x8(v, v)
    }

    #[inline(always)]
    unsafe fn load(self, p: *const f32) -> F32x8 {
        F32x8(memory!(vld1q_f32(p)), memory!(vld1q_f32(p.wrapping_add(4))))
    }

    #[inline(always)]
    unsafe fn store(self, p: *mut f32, v: F32x8) {
        memory!(vst1q_f32(p, v.0));
        memory!(vst1q_f32(p.wrapping_add(4), v.1))
    }

    #[inline(always)]
    unsafe fn load_f16(self, p: *const u16) -> F32x8 {
        let h = memory!(vld1q_u16(p));
        F32x8(widen(op!(vget_low_u16(h))), widen(op!(vget_high_u16(h))))
    }

    #[inline(always)]
    unsafe fn store_f16(self, p: *mut u16, v: F32x8) {
        let h = op!(vcombine_u16(narrow(v.0), narrow(v.1)));
        memory!(vst1q_u16(p, h))
    }

    #[inline(always)]
    unsafe fn load_bf16(self, p: *const u16) -> F32x8 {
        let h = memory!(vld1q_u16(p));
        let low = op!(vshll_n_u16::<16>(vget_low_u16(h)));
        let high = op!(vshll_n_u16::<16>(vget_high_u16(h)));
        F32x8(op!(vreinterpretq_f32_u32(low)), op!(vreinterpretq_f32_u32(high)))
    }

    #[inline(always)]
    unsafe fn load_i8(self, p: *const i8) -> F32x8 {
        let b = memory!(vld1_s8(p));
        let w = op!(vmovl_s8(b));
        let low = op!(vmovl_s16(vget_low_s16(w)));
        let high = op!(vmovl_s16(vget_high_s16(w)));
        F32x8(op!(vcvtq_f32_s32(low)), op!(vcvtq_f32_s32(high)))
    }
}

macro_rules! operator {
    ($trait:ident $name:ident $instruction:ident) => {
        impl $trait for F32x8 {
            type Output = Self;

            #[inline(always)]
            fn $name(self, o: Self) -> Self {
                both!($instruction, self, o)
            }
        }
    };
}
operator!(Add add vaddq_f32);
operator!(Sub sub vsubq_f32);
operator!(Mul mul vmulq_f32);
operator!(Div div vdivq_f32);

impl Neg for F32x8 {
    type Output = Self;

    #[inline(always)]
    fn neg(self) -> Self {
        both!(vnegq_f32, self)
    }
}

impl Lanes for F32x8 {
    type Mask = Mask;
    const N: usize = 8;
    type Token = Neon;

    #[inline(always)]
    fn token(self) -> Neon {
        Neon(())
    }

    #[inline(always)]
    fn mul_add(self, b: Self, c: Self) -> Self {
        F32x8(op!(vfmaq_f32(c.0, self.0, b.0)), op!(vfmaq_f32(c.1, self.1, b.1)))
    }

    #[inline(always)]
    fn min(self, o: Self) -> Self {
        Self::select(self.lt(o), self, o)
    }

    #[inline(always)]
    fn max(self, o: Self) -> Self {
        Self::select(o.lt(self), self, o)
    }

    #[inline(always)]
    fn lt(self, o: Self) -> Mask {
        Mask(op!(vcltq_f32(self.0, o.0)), op!(vcltq_f32(self.1, o.1)))
    }

    #[inline(always)]
    fn le(self, o: Self) -> Mask {
        Mask(op!(vcleq_f32(self.0, o.0)), op!(vcleq_f32(self.1, o.1)))
    }

    #[inline(always)]
    fn select(m: Mask, a: Self, b: Self) -> Self {
        F32x8(op!(vbslq_f32(m.0, a.0, b.0)), op!(vbslq_f32(m.1, a.1, b.1)))
    }

    #[inline(always)]
    fn abs(self) -> Self {
        both!(vabsq_f32, self)
    }

    #[inline(always)]
    fn copysign(self, s: Self) -> Self {
        let m = op!(vdupq_n_u32(0x8000_0000));
        Self::select(Mask(m, m), s, self)
    }

    #[inline(always)]
    fn nearest(self) -> Self {
        both!(vrndnq_f32, self)
    }

    #[inline(always)]
    fn floor(self) -> Self {
        both!(vrndmq_f32, self)
    }

    #[inline(always)]
    fn ceil(self) -> Self {
        both!(vrndpq_f32, self)
    }

    #[inline(always)]
    fn trunc(self) -> Self {
        both!(vrndq_f32, self)
    }

    #[inline(always)]
    fn exp2i(self) -> Self {
        F32x8(exp2i(self.0), exp2i(self.1))
    }

    #[inline(always)]
    fn split(self) -> (Self, Self) {
        let (m0, e0) = split(self.0);
        let (m1, e1) = split(self.1);
        (F32x8(m0, m1), F32x8(e0, e1))
    }

    #[inline(always)]
    fn sum(self) -> f32 {
        let four = op!(vaddq_f32(self.0, self.1));
        op!(vaddvq_f32(four))
    }

    #[inline(always)]
    fn largest(self) -> f32 {
        let four = Self::max(F32x8(self.0, self.0), F32x8(self.1, self.1)).0;
        op!(vmaxvq_f32(four))
    }

    #[inline(always)]
    fn first(self) -> f32 {
        op!(vgetq_lane_f32::<0>(self.0))
    }

    #[inline(always)]
    fn swap_pairs(self) -> Self {
        both!(vrev64q_f32, self)
    }

    #[inline(always)]
    fn sum4(v: [Self; 4]) -> [f32; 4] {
        let [a, b, c, d] = v.map(|x| op!(vaddq_f32(x.0, x.1)));
        let ab = op!(vpaddq_f32(a, b));
        let cd = op!(vpaddq_f32(c, d));
        let sums = op!(vpaddq_f32(ab, cd));
        let mut out = [0.0; 4];
        // SAFETY: the array has four elements, and the token promises the instruction.
        unsafe { vst1q_f32(out.as_mut_ptr(), sums) };
        out
    }
}

/// `2^x` for an integer in range. Only for use where a token was made.
#[inline(always)]
fn exp2i(x: float32x4_t) -> float32x4_t {
    let n = op!(vcvtq_s32_f32(x));
    let e = op!(vaddq_s32(n, vdupq_n_s32(127)));
    let e = op!(vshlq_n_s32::<23>(e));
    op!(vreinterpretq_f32_s32(e))
}

/// Mantissa and exponent. Only for use where a token was made.
#[inline(always)]
fn split(x: float32x4_t) -> (float32x4_t, float32x4_t) {
    let bits = op!(vreinterpretq_s32_f32(x));
    let fraction = op!(vandq_s32(bits, vdupq_n_s32(0x007f_ffff)));
    let mantissa = op!(vorrq_s32(fraction, vdupq_n_s32(0x3f80_0000)));
    let e = op!(vshrq_n_s32::<23>(bits));
    let e = op!(vsubq_s32(e, vdupq_n_s32(127)));
    (op!(vreinterpretq_f32_s32(mantissa)), op!(vcvtq_f32_s32(e)))
}
