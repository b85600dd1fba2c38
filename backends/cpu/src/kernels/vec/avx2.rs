//! AVX2 with FMA and F16C: eight lanes in one register.

use super::{Lanes, Simd};
use core::arch::x86_64::*;
use core::ops::{Add, Div, Mul, Neg, Sub};

/// Proof of AVX2, FMA and F16C.
#[derive(Clone, Copy)]
pub(crate) struct Avx2(());

impl Avx2 {
    /// # Safety
    /// The processor has AVX2, FMA and F16C, and the system saves their registers.
    #[inline(always)]
    pub(crate) unsafe fn new() -> Self {
        Self(())
    }
}

/// Eight lanes. Only a token makes one.
#[derive(Clone, Copy)]
pub(crate) struct F32x8(__m256);

/// Eight truth values, as all-ones and all-zeros lanes.
#[derive(Clone, Copy)]
pub(crate) struct Mask(__m256);

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

impl Simd for Avx2 {
    type F = F32x8;
    type Map = Self;
    const WIDE: bool = true;

    #[inline(always)]
    fn map(self) -> Self {
        self
    }

    #[inline(always)]
    fn splat(self, x: f32) -> F32x8 {
        F32x8(op!(_mm256_set1_ps(x)))
    }

    #[inline(always)]
    unsafe fn load(self, p: *const f32) -> F32x8 {
        F32x8(memory!(_mm256_loadu_ps(p)))
    }

    #[inline(always)]
    unsafe fn store(self, p: *mut f32, v: F32x8) {
        memory!(_mm256_storeu_ps(p, v.0))
    }

    #[inline(always)]
    unsafe fn load_f16(self, p: *const u16) -> F32x8 {
        let h = memory!(_mm_loadu_si128(p.cast()));
        F32x8(op!(_mm256_cvtph_ps(h)))
    }

    #[inline(always)]
    unsafe fn store_f16(self, p: *mut u16, v: F32x8) {
        let h = op!(_mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(v.0));
        memory!(_mm_storeu_si128(p.cast(), h))
    }

    #[inline(always)]
    unsafe fn load_bf16(self, p: *const u16) -> F32x8 {
        let h = memory!(_mm_loadu_si128(p.cast()));
        let w = op!(_mm256_cvtepu16_epi32(h));
        let w = op!(_mm256_slli_epi32::<16>(w));
        F32x8(op!(_mm256_castsi256_ps(w)))
    }

    #[inline(always)]
    unsafe fn load_i8(self, p: *const i8) -> F32x8 {
        let b = memory!(_mm_loadl_epi64(p.cast()));
        let w = op!(_mm256_cvtepi8_epi32(b));
        F32x8(op!(_mm256_cvtepi32_ps(w)))
    }
}

macro_rules! operator {
    ($trait:ident $name:ident $instruction:ident) => {
        impl $trait for F32x8 {
            type Output = Self;

            #[inline(always)]
            fn $name(self, o: Self) -> Self {
                Self(op!($instruction(self.0, o.0)))
            }
        }
    };
}
operator!(Add add _mm256_add_ps);
operator!(Sub sub _mm256_sub_ps);
operator!(Mul mul _mm256_mul_ps);
operator!(Div div _mm256_div_ps);

impl Neg for F32x8 {
    type Output = Self;

    #[inline(always)]
    fn neg(self) -> Self {
        Self(op!(_mm256_xor_ps(self.0, sign())))
    }
}

/// The sign bit of each lane. Only for use where a token was made.
#[inline(always)]
fn sign() -> __m256 {
    op!(_mm256_set1_ps(-0.0))
}

impl Lanes for F32x8 {
    type Mask = Mask;
    const N: usize = 8;
    type Token = Avx2;

    #[inline(always)]
    fn token(self) -> Avx2 {
        Avx2(())
    }

    #[inline(always)]
    fn mul_add(self, b: Self, c: Self) -> Self {
        Self(op!(_mm256_fmadd_ps(self.0, b.0, c.0)))
    }

    #[inline(always)]
    fn min(self, o: Self) -> Self {
        Self(op!(_mm256_min_ps(self.0, o.0)))
    }

    #[inline(always)]
    fn max(self, o: Self) -> Self {
        Self(op!(_mm256_max_ps(self.0, o.0)))
    }

    #[inline(always)]
    fn lt(self, o: Self) -> Mask {
        Mask(op!(_mm256_cmp_ps::<_CMP_LT_OQ>(self.0, o.0)))
    }

    #[inline(always)]
    fn le(self, o: Self) -> Mask {
        Mask(op!(_mm256_cmp_ps::<_CMP_LE_OQ>(self.0, o.0)))
    }

    #[inline(always)]
    fn select(m: Mask, a: Self, b: Self) -> Self {
        Self(op!(_mm256_blendv_ps(b.0, a.0, m.0)))
    }

    #[inline(always)]
    fn abs(self) -> Self {
        Self(op!(_mm256_andnot_ps(sign(), self.0)))
    }

    #[inline(always)]
    fn copysign(self, s: Self) -> Self {
        let s = op!(_mm256_and_ps(sign(), s.0));
        Self(op!(_mm256_or_ps(self.abs().0, s)))
    }

    #[inline(always)]
    fn nearest(self) -> Self {
        Self(op!(_mm256_round_ps::<{ _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC }>(self.0)))
    }

    #[inline(always)]
    fn floor(self) -> Self {
        Self(op!(_mm256_round_ps::<{ _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC }>(self.0)))
    }

    #[inline(always)]
    fn ceil(self) -> Self {
        Self(op!(_mm256_round_ps::<{ _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC }>(self.0)))
    }

    #[inline(always)]
    fn trunc(self) -> Self {
        Self(op!(_mm256_round_ps::<{ _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC }>(self.0)))
    }

    #[inline(always)]
    fn exp2i(self) -> Self {
        let n = op!(_mm256_cvtps_epi32(self.0));
        let bias = op!(_mm256_set1_epi32(127));
        let e = op!(_mm256_add_epi32(n, bias));
        let e = op!(_mm256_slli_epi32::<23>(e));
        Self(op!(_mm256_castsi256_ps(e)))
    }

    #[inline(always)]
    fn split(self) -> (Self, Self) {
        let bits = op!(_mm256_castps_si256(self.0));
        let fraction = op!(_mm256_and_si256(bits, _mm256_set1_epi32(0x007f_ffff)));
        let mantissa = op!(_mm256_or_si256(fraction, _mm256_set1_epi32(0x3f80_0000)));
        let e = op!(_mm256_srli_epi32::<23>(bits));
        let e = op!(_mm256_sub_epi32(e, _mm256_set1_epi32(127)));
        (Self(op!(_mm256_castsi256_ps(mantissa))), Self(op!(_mm256_cvtepi32_ps(e))))
    }

    #[inline(always)]
    fn sum(self) -> f32 {
        let low = op!(_mm256_castps256_ps128(self.0));
        let high = op!(_mm256_extractf128_ps::<1>(self.0));
        let four = op!(_mm_add_ps(low, high));
        let upper = op!(_mm_movehl_ps(four, four));
        let two = op!(_mm_add_ps(four, upper));
        let upper = op!(_mm_movehdup_ps(two));
        let one = op!(_mm_add_ss(two, upper));
        op!(_mm_cvtss_f32(one))
    }

    #[inline(always)]
    fn largest(self) -> f32 {
        let low = op!(_mm256_castps256_ps128(self.0));
        let high = op!(_mm256_extractf128_ps::<1>(self.0));
        let four = op!(_mm_max_ps(low, high));
        let upper = op!(_mm_movehl_ps(four, four));
        let two = op!(_mm_max_ps(four, upper));
        let upper = op!(_mm_movehdup_ps(two));
        let one = op!(_mm_max_ss(two, upper));
        op!(_mm_cvtss_f32(one))
    }

    #[inline(always)]
    fn first(self) -> f32 {
        op!(_mm256_cvtss_f32(self.0))
    }

    #[inline(always)]
    fn swap_pairs(self) -> Self {
        Self(op!(_mm256_permute_ps::<0b10_11_00_01>(self.0)))
    }

    #[inline(always)]
    fn sum4(v: [Self; 4]) -> [f32; 4] {
        let [a, b, c, d] = v;
        let ab = op!(_mm256_hadd_ps(a.0, b.0));
        let cd = op!(_mm256_hadd_ps(c.0, d.0));
        let abcd = op!(_mm256_hadd_ps(ab, cd));
        let low = op!(_mm256_castps256_ps128(abcd));
        let high = op!(_mm256_extractf128_ps::<1>(abcd));
        let sums = op!(_mm_add_ps(low, high));
        let mut out = [0.0; 4];
        // SAFETY: the array has four elements, and the token promises the instruction.
        unsafe { _mm_storeu_ps(out.as_mut_ptr(), sums) };
        out
    }
}
