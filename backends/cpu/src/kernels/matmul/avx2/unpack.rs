//! Stored groups as vectors of bytes.

use crate::kernels::matmul::format::{self, Format, GROUP};
use core::arch::x86_64::*;

/// A group: see [`format::Group`].
#[derive(Clone, Copy)]
pub struct Unpacked {
    /// 32 levels, unsigned for a type with a [`Format::TOP`].
    pub q: __m256i,
    /// The scales of the halves, each eight times as 16-bit numbers. Only looked at for [`Format::SCALED`].
    pub s: __m256i,
    /// Scale.
    pub d: f32,
    /// Offsets of the halves.
    pub m: [f32; 2],
}

/// Reads a group with the level's instructions.
pub trait Unpack: Format {
    /// Group `g` of `block`.
    ///
    /// # Safety
    /// The processor has AVX2, FMA and F16C.
    unsafe fn unpack(block: &Self::Block, g: usize) -> Unpacked;
}

/// 32 bytes.
#[inline]
#[target_feature(enable = "avx2")]
pub fn load32<T>(bytes: &[T; GROUP]) -> __m256i {
    const { assert!(size_of::<T>() == 1) };
    // SAFETY: 32 readable bytes; the instruction has no alignment.
    unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) }
}

/// 16 bytes.
#[inline]
#[target_feature(enable = "avx2")]
fn load16(bytes: &[u8; 16]) -> __m128i {
    // SAFETY: 16 readable bytes; the instruction has no alignment.
    unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) }
}

/// `N` bytes of a block from a constant offset on.
macro_rules! part {
    ($block:expr, $at:expr, $n:expr) => {{
        const { assert!($at + $n <= size_of::<Self::Block>()) };
        match $block.get($at..).and_then(|b| b.first_chunk::<{ $n }>()) {
            Some(b) => b,
            None => &[0; $n],
        }
    }};
}

/// The f16 in two bytes.
#[inline]
#[target_feature(enable = "avx2,f16c")]
fn half(bytes: &[u8; 2]) -> f32 {
    _mm_cvtss_f32(_mm_cvtph_ps(_mm_cvtsi32_si128(u16::from_le_bytes(*bytes) as i32)))
}

/// 32 nibbles of 16 bytes, the low ones first.
#[inline]
#[target_feature(enable = "avx2")]
fn nibbles(bytes: &[u8; 16]) -> __m256i {
    let b = load16(bytes);
    let both = _mm256_set_m128i(_mm_srli_epi16::<4>(b), b);
    _mm256_and_si256(both, _mm256_set1_epi8(0xf))
}

/// A group of a type without integer scales.
#[inline]
#[target_feature(enable = "avx2")]
fn plain(q: __m256i, d: f32, m: f32) -> Unpacked {
    Unpacked { q, s: _mm256_set1_epi16(1), d, m: [m; 2] }
}

macro_rules! unpack {
    ($name:ident, |$b:ident| $body:expr) => {
        impl Unpack for format::$name {
            #[inline]
            #[target_feature(enable = "avx2,fma,f16c")]
            unsafe fn unpack($b: &Self::Block, _: usize) -> Unpacked {
                $body
            }
        }
    };
    ($($name:ident)*) => {$(
        impl Unpack for format::$name {
            #[inline]
            #[target_feature(enable = "avx2,fma,f16c")]
            unsafe fn unpack(block: &Self::Block, g: usize) -> Unpacked {
                let w = <Self as Format>::group(block, g);
                let [low, high] = w.s.map(|s| _mm_set1_epi16(s as i16));
                Unpacked { q: load32(&w.q), s: _mm256_set_m128i(high, low), d: w.d, m: w.m }
            }
        }
    )*};
}

unpack!(Q4_0, |b| {
    let d = half(part!(b, 0, 2));
    plain(nibbles(part!(b, 2, 16)), d, -8.0 * d)
});
unpack!(Q4_1, |b| plain(nibbles(part!(b, 4, 16)), half(part!(b, 0, 2)), half(part!(b, 2, 2))));
unpack!(Q8_0, |b| plain(load32(part!(b, 2, 32)), half(part!(b, 0, 2)), 0.0));
unpack!(Q5_0 Q5_1 Q2_K Q3_K Q4_K Q5_K Q6_K IQ4_NL IQ4_XS MXFP4 TQ1_0 TQ2_0);
