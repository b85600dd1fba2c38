//! Stored groups as vectors of bytes, and their scales.

use crate::kernels::matmul::format::{self, Format, GROUP};
use core::arch::x86_64::*;
use dinrail_core::tensor::block::{IQ4_VALUES, MXFP4_VALUES};
use dinrail_core::tensor::float::e8m0_half_to_f32;

/// Scales and offsets of the eight groups of a block.
#[derive(Clone, Copy)]
pub struct Scales {
    /// Scales.
    pub d: __m256,
    /// The offsets in the first vector; those of the sixteen halves in both for [`Format::HALVES`].
    pub m: [__m256; 2],
}

/// Reads a type with the level's instructions. What the parts mean is [`format::Group`]'s affair.
///
/// # Safety
/// For all functions: the processor has AVX2, FMA and F16C.
pub trait Unpack: Format {
    /// 32 levels of group `g`, unsigned for a type with a [`Format::TOP`].
    ///
    /// # Safety
    /// See the trait.
    unsafe fn levels(block: &Self::Block, g: usize) -> __m256i;

    /// Of two blocks that are one group each: the first halves of both, and the second halves.
    ///
    /// # Safety
    /// See the trait.
    unsafe fn two(a: &Self::Block, b: &Self::Block) -> [__m256i; 2];

    /// The integer scales of the two halves of group `g`, each eight times as a 16-bit number. For [`Format::SCALED`].
    ///
    /// # Safety
    /// See the trait.
    unsafe fn shorts(block: &Self::Block, g: usize) -> __m256i;

    /// Scale and offset of a block that is one group.
    ///
    /// # Safety
    /// See the trait.
    unsafe fn one(block: &Self::Block) -> (f32, f32);

    /// Scales and offsets of four blocks that are one group each.
    ///
    /// # Safety
    /// See the trait.
    unsafe fn four(blocks: [&Self::Block; 4]) -> (__m128, __m128);

    /// Scales and offsets of a block of eight groups.
    ///
    /// # Safety
    /// See the trait.
    unsafe fn eight(block: &Self::Block) -> Scales;
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
fn load16<T>(bytes: &[T; 16]) -> __m128i {
    const { assert!(size_of::<T>() == 1) };
    // SAFETY: 16 readable bytes; the instruction has no alignment.
    unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) }
}

/// `N` bytes of a block from `at` on, which are inside.
#[inline(always)]
fn part<const N: usize, const B: usize>(block: &[u8; B], at: usize) -> &[u8; N] {
    match block.get(at..).and_then(|b| b.first_chunk()) {
        Some(b) => b,
        None => &[0; N],
    }
}

/// The four bytes at `at`.
#[inline(always)]
fn word<const B: usize>(block: &[u8; B], at: usize) -> u32 {
    u32::from_le_bytes(*part(block, at))
}

/// The f16 at `at`.
#[inline]
#[target_feature(enable = "avx2,f16c")]
fn half<const B: usize>(block: &[u8; B], at: usize) -> f32 {
    let bits = u16::from_le_bytes(*part(block, at)) as i32;
    _mm_cvtss_f32(_mm_cvtph_ps(_mm_cvtsi32_si128(bits)))
}

/// The f16 at the start of four blocks.
#[inline]
#[target_feature(enable = "avx2,f16c")]
fn halves<const B: usize>(blocks: [&[u8; B]; 4]) -> __m128 {
    let [a, b, c, d] = blocks;
    let bits = |b: &[u8; B]| u16::from_le_bytes(*part(b, 0)) as i32;
    let v = _mm_cvtsi32_si128(bits(a));
    let v = _mm_insert_epi16::<1>(v, bits(b));
    let v = _mm_insert_epi16::<2>(v, bits(c));
    _mm_cvtph_ps(_mm_insert_epi16::<3>(v, bits(d)))
}

/// The f16 at the start of four blocks, and the offsets that move levels down by `zero`.
#[inline]
#[target_feature(enable = "avx2,f16c")]
fn symmetric<const B: usize>(blocks: [&[u8; B]; 4], zero: f32) -> (__m128, __m128) {
    let d = halves(blocks);
    (d, _mm_mul_ps(d, _mm_set1_ps(-zero)))
}

/// The two f16 at the start of four blocks.
#[inline]
#[target_feature(enable = "avx2,f16c")]
fn pairs<const B: usize>(blocks: [&[u8; B]; 4]) -> (__m128, __m128) {
    let [a, b, c, d] = blocks;
    let v = _mm_cvtsi32_si128(word(a, 0) as i32);
    let v = _mm_insert_epi32::<1>(v, word(b, 0) as i32);
    let v = _mm_insert_epi32::<2>(v, word(c, 0) as i32);
    let all = _mm256_cvtph_ps(_mm_insert_epi32::<3>(v, word(d, 0) as i32));
    let (low, high) = (_mm256_castps256_ps128(all), _mm256_extractf128_ps::<1>(all));
    (_mm_shuffle_ps::<0x88>(low, high), _mm_shuffle_ps::<0xdd>(low, high))
}

/// 32 nibbles of 16 bytes, the low ones first.
#[inline]
#[target_feature(enable = "avx2")]
fn nibbles(bytes: &[u8; 16]) -> __m256i {
    let b = load16(bytes);
    let both = _mm256_set_m128i(_mm_srli_epi16::<4>(b), b);
    _mm256_and_si256(both, _mm256_set1_epi8(0xf))
}

/// The nibbles of twice 16 bytes: the low ones of both, then the high ones.
#[inline]
#[target_feature(enable = "avx2")]
fn two_nibbles(a: &[u8; 16], b: &[u8; 16]) -> [__m256i; 2] {
    let both = _mm256_set_m128i(load16(b), load16(a));
    let mask = _mm256_set1_epi8(0xf);
    [_mm256_and_si256(both, mask), _mm256_and_si256(_mm256_srli_epi16::<4>(both), mask)]
}

/// `value` for each of 32 bytes whose bit is set.
#[inline]
#[target_feature(enable = "avx2")]
fn spread_bits(bits: u32, value: i8) -> __m256i {
    ordered_bits(_mm256_set1_epi32(bits as i32), [0, 1, 2, 3], value)
}

/// `value` for each byte whose bit is set, eight bits from each of the bytes `from` of `all`.
#[inline]
#[target_feature(enable = "avx2")]
fn ordered_bits(all: __m256i, from: [i64; 4], value: i8) -> __m256i {
    let [a, b, c, d] = from;
    const EACH: i64 = 0x0101_0101_0101_0101;
    let order = _mm256_setr_epi64x(a * EACH, b * EACH, c * EACH, d * EACH);
    let mask = _mm256_set1_epi64x(0x8040_2010_0804_0201_u64 as i64);
    let chosen = _mm256_and_si256(_mm256_shuffle_epi8(all, order), mask);
    _mm256_and_si256(_mm256_cmpeq_epi8(chosen, mask), _mm256_set1_epi8(value))
}

/// The two levels of [`two_nibbles`] with fifth bits.
#[inline]
#[target_feature(enable = "avx2")]
fn two_fives(low: [__m256i; 2], a: u32, b: u32) -> [__m256i; 2] {
    let all = _mm256_set_m128i(_mm_set1_epi32(b as i32), _mm_set1_epi32(a as i32));
    [
        _mm256_or_si256(low[0], ordered_bits(all, [0, 1, 0, 1], 16)),
        _mm256_or_si256(low[1], ordered_bits(all, [2, 3, 2, 3], 16)),
    ]
}

/// Every byte shifted right by `by` bits, then masked.
#[inline]
#[target_feature(enable = "avx2")]
fn field(v: __m256i, by: usize, mask: i8) -> __m256i {
    let v = _mm256_srl_epi16(v, _mm_cvtsi32_si128(by as i32));
    _mm256_and_si256(v, _mm256_set1_epi8(mask))
}

/// Nibbles looked up in a table.
#[inline]
#[target_feature(enable = "avx2")]
fn table(values: &[i8; 16], nibbles: __m256i) -> __m256i {
    _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(load16(values)), nibbles)
}

/// Twice 32 bytes: the first halves of both, then the second ones.
#[inline]
#[target_feature(enable = "avx2")]
fn two_bytes(a: &[u8; 32], b: &[u8; 32]) -> [__m256i; 2] {
    let half = |at: usize| _mm256_set_m128i(load16(part(b, at)), load16(part(a, at)));
    [half(0), half(16)]
}

/// The values of [`two_nibbles`] in a table.
#[inline]
#[target_feature(enable = "avx2")]
fn two_tables(values: &[i8; 16], a: &[u8; 16], b: &[u8; 16]) -> [__m256i; 2] {
    let [low, high] = two_nibbles(a, b);
    [table(values, low), table(values, high)]
}

/// Eight bytes as floats.
#[inline]
#[target_feature(enable = "avx2")]
fn floats(bytes: __m128i) -> __m256 {
    _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(bytes))
}

/// Bytes `2 * g` and `2 * g + 1` of sixteen signed ones, each eight times as a 16-bit number.
#[inline]
#[target_feature(enable = "avx2")]
fn short_pair(bytes: __m128i, g: usize) -> __m256i {
    let order = (2 * g as i64) * 0x0101_0101_0101_0101;
    let order = _mm_set_epi64x(order + 0x0101_0101_0101_0101, order);
    _mm256_cvtepi8_epi16(_mm_shuffle_epi8(bytes, order))
}

/// Scales and minimums of `Q4_K` and `Q5_K`, whose 16 bytes of scales begin a block.
#[inline]
#[target_feature(enable = "avx2,f16c")]
fn six_bits<const B: usize>(b: &[u8; B]) -> Scales {
    const LOW: u32 = 0x0f0f_0f0f;
    const SIX: u32 = 0x3f3f_3f3f;
    const TOP: u32 = 0x3030_3030;
    let [x, y, z] = [word(b, 4), word(b, 8), word(b, 12)];
    let join = |low: u32, high: u32| _mm_set_epi64x(0, (low as u64 | (high as u64) << 32) as i64);
    let s = join(x & SIX, z & LOW | x >> 2 & TOP);
    let m = join(y & SIX, z >> 4 & LOW | y >> 2 & TOP);
    let d = _mm256_mul_ps(_mm256_set1_ps(half(b, 0)), floats(s));
    let m = _mm256_mul_ps(_mm256_set1_ps(-half(b, 2)), floats(m));
    Scales { d, m: [m, _mm256_setzero_ps()] }
}

/// One scale for all groups, and an offset.
#[inline]
#[target_feature(enable = "avx2")]
fn same(d: f32, m: f32) -> Scales {
    Scales { d: _mm256_set1_ps(d), m: [_mm256_set1_ps(m), _mm256_setzero_ps()] }
}

/// The sixteen scales of a `Q3_K` block.
#[inline]
#[target_feature(enable = "avx2")]
fn q3_scales(b: &<format::Q3_K as Format>::Block) -> __m128i {
    const LOW: u32 = 0x0f0f_0f0f;
    const TWO: u32 = 0x0303_0303;
    let [x, y, z] = [word(b, 96), word(b, 100), word(b, 104)];
    let low = |w: u32, k: u32| (w & LOW | (z >> (2 * k) & TWO) << 4) as i32;
    let all = _mm_setr_epi32(low(x, 0), low(y, 1), low(x >> 4, 2), low(y >> 4, 3));
    _mm_sub_epi8(all, _mm_set1_epi8(32))
}

/// Implements [`Unpack`], each function as given, or after the portable description where it isn't.
macro_rules! unpack {
    ($name:ident; $($part:ident($b:ident $(, $g:ident)?) $body:expr;)*) => {
        impl Unpack for format::$name {
            unpack! { @levels [$($part($b $(, $g)?) $body;)*] }
            unpack! { @two [$($part($b $(, $g)?) $body;)*] }
            unpack! { @shorts [$($part($b $(, $g)?) $body;)*] }
            unpack! { @one [$($part($b $(, $g)?) $body;)*] }
            unpack! { @four [$($part($b $(, $g)?) $body;)*] }
            unpack! { @eight [$($part($b $(, $g)?) $body;)*] }
        }
    };
    (@levels [levels($b:ident, $g:ident) $body:expr; $($rest:tt)*]) => {
        #[inline]
        #[target_feature(enable = "avx2,fma,f16c")]
        unsafe fn levels($b: &Self::Block, $g: usize) -> __m256i {
            let _ = $g;
            $body
        }
    };
    (@levels []) => {
        #[inline]
        #[target_feature(enable = "avx2,fma,f16c")]
        unsafe fn levels(block: &Self::Block, g: usize) -> __m256i {
            load32(&Self::group(block, g).q)
        }
    };
    (@two [two($a:ident, $b:ident) $body:expr; $($rest:tt)*]) => {
        #[inline]
        #[target_feature(enable = "avx2,fma,f16c")]
        unsafe fn two($a: &Self::Block, $b: &Self::Block) -> [__m256i; 2] {
            $body
        }
    };
    (@two []) => {
        #[inline]
        #[target_feature(enable = "avx2,fma,f16c")]
        unsafe fn two(a: &Self::Block, b: &Self::Block) -> [__m256i; 2] {
            // SAFETY: the same instructions are there.
            let a = unsafe { Self::levels(a, 0) };
            // SAFETY: as above.
            let b = unsafe { Self::levels(b, 0) };
            [_mm256_permute2x128_si256::<0x20>(a, b), _mm256_permute2x128_si256::<0x31>(a, b)]
        }
    };
    (@shorts [shorts($b:ident, $g:ident) $body:expr; $($rest:tt)*]) => {
        #[inline]
        #[target_feature(enable = "avx2,fma,f16c")]
        unsafe fn shorts($b: &Self::Block, $g: usize) -> __m256i {
            $body
        }
    };
    (@shorts []) => {
        #[inline]
        #[target_feature(enable = "avx2,fma,f16c")]
        unsafe fn shorts(block: &Self::Block, g: usize) -> __m256i {
            let [low, high] = Self::group(block, g).s;
            _mm256_set_m128i(_mm_set1_epi16(high as i16), _mm_set1_epi16(low as i16))
        }
    };
    (@one [one($b:ident) $body:expr; $($rest:tt)*]) => {
        #[inline]
        #[target_feature(enable = "avx2,fma,f16c")]
        unsafe fn one($b: &Self::Block) -> (f32, f32) {
            $body
        }
    };
    (@one []) => {
        #[inline]
        #[target_feature(enable = "avx2,fma,f16c")]
        unsafe fn one(block: &Self::Block) -> (f32, f32) {
            let w = Self::group(block, 0);
            (w.d, w.m[0])
        }
    };
    (@four [four($b:ident) $body:expr; $($rest:tt)*]) => {
        #[inline]
        #[target_feature(enable = "avx2,fma,f16c")]
        unsafe fn four($b: [&Self::Block; 4]) -> (__m128, __m128) {
            $body
        }
    };
    (@four []) => {
        #[inline]
        #[target_feature(enable = "avx2,fma,f16c")]
        unsafe fn four(blocks: [&Self::Block; 4]) -> (__m128, __m128) {
            let (mut d, mut m) = ([0f32; 4], [0f32; 4]);
            for (k, block) in blocks.into_iter().enumerate() {
                // SAFETY: the same instructions are there.
                (d[k], m[k]) = unsafe { Self::one(block) };
            }
            (_mm_setr_ps(d[0], d[1], d[2], d[3]), _mm_setr_ps(m[0], m[1], m[2], m[3]))
        }
    };
    (@eight [eight($b:ident) $body:expr; $($rest:tt)*]) => {
        #[inline]
        #[target_feature(enable = "avx2,fma,f16c")]
        unsafe fn eight($b: &Self::Block) -> Scales {
            $body
        }
    };
    (@eight []) => {
        #[inline]
        #[target_feature(enable = "avx2,fma,f16c")]
        unsafe fn eight(block: &Self::Block) -> Scales {
            let w = Self::group(block, 0);
            same(w.d, w.m[0])
        }
    };
    // Another function than the one looked for: go on with the rest.
    (@$want:ident [$other:ident($b:ident $(, $g:ident)?) $body:expr; $($rest:tt)*]) => {
        unpack! { @$want [$($rest)*] }
    };
}

unpack! {
    Q4_0;
    levels(b, g) nibbles(part(b, 2));
    two(a, b) two_nibbles(part(a, 2), part(b, 2));
    one(b) (half(b, 0), -8.0 * half(b, 0));
    four(b) symmetric(b, 8.0);
}
unpack! {
    Q4_1;
    levels(b, g) nibbles(part(b, 4));
    two(a, b) two_nibbles(part(a, 4), part(b, 4));
    one(b) (half(b, 0), half(b, 2));
    four(b) pairs(b);
}
unpack! {
    Q5_0;
    levels(b, g) _mm256_or_si256(nibbles(part(b, 6)), spread_bits(word(b, 2), 16));
    two(a, b) two_fives(two_nibbles(part(a, 6), part(b, 6)), word(a, 2), word(b, 2));
    one(b) (half(b, 0), -16.0 * half(b, 0));
    four(b) symmetric(b, 16.0);
}
unpack! {
    Q5_1;
    levels(b, g) _mm256_or_si256(nibbles(part(b, 8)), spread_bits(word(b, 4), 16));
    two(a, b) two_fives(two_nibbles(part(a, 8), part(b, 8)), word(a, 4), word(b, 4));
    one(b) (half(b, 0), half(b, 2));
    four(b) pairs(b);
}
unpack! {
    Q8_0;
    levels(b, g) load32(part(b, 2));
    two(a, b) two_bytes(part(a, 2), part(b, 2));
    one(b) (half(b, 0), 0.0);
    four(b) (halves(b), _mm_setzero_ps());
}
unpack! {
    IQ4_NL;
    levels(b, g) table(&IQ4_VALUES, nibbles(part(b, 2)));
    two(a, b) two_tables(&IQ4_VALUES, part(a, 2), part(b, 2));
    one(b) (half(b, 0), 0.0);
    four(b) (halves(b), _mm_setzero_ps());
}
unpack! {
    MXFP4;
    levels(b, g) table(&MXFP4_VALUES, nibbles(part(b, 1)));
    two(a, b) two_tables(&MXFP4_VALUES, part(a, 1), part(b, 1));
    one(b) (e8m0_half_to_f32(b[0]), 0.0);
}
unpack! {
    Q2_K;
    levels(b, g) field(load32(part(b, 16 + g / 4 * 32)), 2 * (g % 4), 3);
    shorts(b, g) short_pair(_mm_and_si128(load16(part(b, 0)), _mm_set1_epi8(0xf)), g);
    eight(b) {
        let m = _mm_srli_epi16::<4>(load16(part(b, 0)));
        let m = _mm_and_si128(m, _mm_set1_epi8(0xf));
        let dmin = _mm256_set1_ps(-half(b, 82));
        let high = floats(_mm_unpackhi_epi64(m, m));
        let m = [_mm256_mul_ps(dmin, floats(m)), _mm256_mul_ps(dmin, high)];
        Scales { d: _mm256_set1_ps(half(b, 80)), m }
    };
}
unpack! {
    Q3_K;
    levels(b, g) {
        let low = field(load32(part(b, 32 + g / 4 * 32)), 2 * (g % 4), 3);
        let third = _mm256_and_si256(load32(part(b, 0)), _mm256_set1_epi8(1 << (g & 7)));
        // Where the third bit is missing, four is taken off.
        let missing = _mm256_cmpeq_epi8(third, _mm256_setzero_si256());
        _mm256_sub_epi8(low, _mm256_and_si256(missing, _mm256_set1_epi8(4)))
    };
    shorts(b, g) short_pair(q3_scales(b), g);
    eight(b) same(half(b, 108), 0.0);
}
unpack! {
    Q4_K;
    levels(b, g) field(load32(part(b, 16 + g / 2 * 32)), 4 * (g % 2), 0xf);
    eight(b) six_bits(b);
}
unpack! {
    Q5_K;
    levels(b, g) {
        let low = field(load32(part(b, 48 + g / 2 * 32)), 4 * (g % 2), 0xf);
        let bit = _mm256_set1_epi8(1 << (g & 7));
        let there = _mm256_cmpeq_epi8(_mm256_and_si256(load32(part(b, 16)), bit), bit);
        _mm256_or_si256(low, _mm256_and_si256(there, _mm256_set1_epi8(16)))
    };
    eight(b) six_bits(b);
}
unpack! {
    Q6_K;
    levels(b, g) {
        let (h, k) = (g / 4, g % 4);
        let low = field(load32(part(b, 64 * h + 32 * (k % 2))), 4 * (k / 2), 0xf);
        let high = field(load32(part(b, 128 + 32 * h)), 2 * k, 3);
        let all = _mm256_or_si256(low, _mm256_slli_epi16::<4>(high));
        _mm256_sub_epi8(all, _mm256_set1_epi8(32))
    };
    shorts(b, g) short_pair(load16(part(b, 192)), g);
    eight(b) same(half(b, 208), 0.0);
}
unpack! {
    IQ4_XS;
    levels(b, g) table(&IQ4_VALUES, nibbles(part(b, 8 + 16 * g)));
    eight(b) {
        let nibble = _mm256_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28);
        let low = _mm256_srlv_epi32(_mm256_set1_epi32(word(b, 4) as i32), nibble);
        let low = _mm256_and_si256(low, _mm256_set1_epi32(0xf));
        let crumb = _mm256_setr_epi32(16, 18, 20, 22, 24, 26, 28, 30);
        let high = _mm256_srlv_epi32(_mm256_set1_epi32(word(b, 0) as i32), crumb);
        let high = _mm256_slli_epi32::<4>(_mm256_and_si256(high, _mm256_set1_epi32(3)));
        let s = _mm256_sub_epi32(_mm256_or_si256(low, high), _mm256_set1_epi32(32));
        let d = _mm256_mul_ps(_mm256_set1_ps(half(b, 0)), _mm256_cvtepi32_ps(s));
        Scales { d, m: [_mm256_setzero_ps(); 2] }
    };
}
unpack! {
    TQ1_0;
    levels(b, g) load32(&Self::group(b, g).q);
    eight(b) same(half(b, 52), -half(b, 52));
}
unpack! {
    TQ2_0;
    levels(b, g) field(load32(part(b, g / 4 * 32)), 2 * (g % 4), 3);
    eight(b) same(half(b, 64), -half(b, 64));
}
