//! Stored groups as vectors of signed bytes.

use crate::kernels::matmul::format::{self, Format};
use core::arch::aarch64::*;
use dinrail_core::tensor::block::{IQ4_VALUES, MXFP4_VALUES};

/// Reads a type's levels with NEON. Scales come from the portable description, which compilers do well.
pub trait Unpack: Format {
    /// The first and the second half of group `g`.
    ///
    /// # Safety
    /// The processor has NEON.
    #[inline]
    #[target_feature(enable = "neon")]
    unsafe fn levels(block: &Self::Block, g: usize) -> [int8x16_t; 2] {
        let w = Self::group(block, g);
        two(&w.q)
    }
}

/// 32 signed bytes.
#[inline]
#[target_feature(enable = "neon")]
pub fn two(x: &[i8; 32]) -> [int8x16_t; 2] {
    let p = x.as_ptr();
    // SAFETY: 16 readable bytes.
    let low = unsafe { vld1q_s8(p) };
    // SAFETY: 16 readable bytes.
    [low, unsafe { vld1q_s8(p.wrapping_add(16)) }]
}

/// `N` bytes of a block from `at` on, which are inside.
#[inline(always)]
fn part<const N: usize, const B: usize>(block: &[u8; B], at: usize) -> &[u8; N] {
    match block.get(at..).and_then(|b| b.first_chunk()) {
        Some(b) => b,
        None => &[0; N],
    }
}

/// 16 bytes of a block.
#[inline]
#[target_feature(enable = "neon")]
fn load<const B: usize>(block: &[u8; B], at: usize) -> uint8x16_t {
    let bytes: &[u8; 16] = part(block, at);
    // SAFETY: 16 readable bytes.
    unsafe { vld1q_u8(bytes.as_ptr()) }
}

/// 32 bytes of a block.
#[inline]
#[target_feature(enable = "neon")]
fn pair<const B: usize>(block: &[u8; B], at: usize) -> [uint8x16_t; 2] {
    [load(block, at), load(block, at + 16)]
}

/// Unsigned levels below 128 as signed ones.
#[inline]
#[target_feature(enable = "neon")]
fn signed(v: [uint8x16_t; 2]) -> [int8x16_t; 2] {
    [vreinterpretq_s8_u8(v[0]), vreinterpretq_s8_u8(v[1])]
}

/// 32 nibbles of 16 bytes, the low ones first.
#[inline]
#[target_feature(enable = "neon")]
fn nibbles(b: uint8x16_t) -> [uint8x16_t; 2] {
    [vandq_u8(b, vdupq_n_u8(0xf)), vshrq_n_u8::<4>(b)]
}

/// Bytes shifted right by `by` bits, then masked.
#[inline]
#[target_feature(enable = "neon")]
fn field(v: [uint8x16_t; 2], by: usize, mask: u8) -> [uint8x16_t; 2] {
    let (by, mask) = (vdupq_n_s8(-(by as i8)), vdupq_n_u8(mask));
    [vandq_u8(vshlq_u8(v[0], by), mask), vandq_u8(vshlq_u8(v[1], by), mask)]
}

/// `a | b << by`.
#[inline]
#[target_feature(enable = "neon")]
fn join(a: [uint8x16_t; 2], b: [uint8x16_t; 2], by: i8) -> [uint8x16_t; 2] {
    let by = vdupq_n_s8(by);
    [vorrq_u8(a[0], vshlq_u8(b[0], by)), vorrq_u8(a[1], vshlq_u8(b[1], by))]
}

/// `v - by`.
#[inline]
#[target_feature(enable = "neon")]
fn less(v: [uint8x16_t; 2], by: i8) -> [int8x16_t; 2] {
    let (v, by) = (signed(v), vdupq_n_s8(by));
    [vsubq_s8(v[0], by), vsubq_s8(v[1], by)]
}

/// Nibbles looked up in a table.
#[inline]
#[target_feature(enable = "neon")]
fn table(values: &[i8; 16], v: [uint8x16_t; 2]) -> [int8x16_t; 2] {
    // SAFETY: 16 readable bytes.
    let values = unsafe { vld1q_s8(values.as_ptr()) };
    [vqtbl1q_s8(values, v[0]), vqtbl1q_s8(values, v[1])]
}

/// Bits of four bytes, 0 or 1 each.
#[inline]
#[target_feature(enable = "neon")]
fn bits(bytes: &[u8; 4]) -> [uint8x16_t; 2] {
    // Bit i % 8 of byte i / 8, tested in place.
    const MASK: [u8; 16] = [1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128];
    // SAFETY: 16 readable bytes.
    let mask = unsafe { vld1q_u8(MASK.as_ptr()) };
    let [a, b, c, d] = *bytes;
    let one = vdupq_n_u8(1);
    let low = vcombine_u8(vdup_n_u8(a), vdup_n_u8(b));
    let high = vcombine_u8(vdup_n_u8(c), vdup_n_u8(d));
    [vandq_u8(vtstq_u8(low, mask), one), vandq_u8(vtstq_u8(high, mask), one)]
}

macro_rules! unpack {
    ($($name:ident($b:ident, $g:ident) $body:expr;)*) => {$(
        impl Unpack for format::$name {
            #[inline]
            #[target_feature(enable = "neon")]
            unsafe fn levels($b: &Self::Block, $g: usize) -> [int8x16_t; 2] {
                let _ = $g;
                $body
            }
        }
    )*};
}

unpack! {
    Q4_0(b, g) signed(nibbles(load(b, 2)));
    Q4_1(b, g) signed(nibbles(load(b, 4)));
    Q5_0(b, g) signed(join(nibbles(load(b, 6)), bits(part(b, 2)), 4));
    Q5_1(b, g) signed(join(nibbles(load(b, 8)), bits(part(b, 4)), 4));
    Q8_0(b, g) signed(pair(b, 2));
    IQ4_NL(b, g) table(&IQ4_VALUES, nibbles(load(b, 2)));
    IQ4_XS(b, g) table(&IQ4_VALUES, nibbles(load(b, 8 + 16 * g)));
    MXFP4(b, g) table(&MXFP4_VALUES, nibbles(load(b, 1)));
    Q2_K(b, g) signed(field(pair(b, 16 + g / 4 * 32), 2 * (g % 4), 3));
    Q3_K(b, g) {
        let low = field(pair(b, 32 + g / 4 * 32), 2 * (g % 4), 3);
        less(join(low, field(pair(b, 0), g, 1), 2), 4)
    };
    Q4_K(b, g) signed(field(pair(b, 16 + g / 2 * 32), 4 * (g % 2), 0xf));
    Q5_K(b, g) {
        let low = field(pair(b, 48 + g / 2 * 32), 4 * (g % 2), 0xf);
        signed(join(low, field(pair(b, 16), g, 1), 4))
    };
    Q6_K(b, g) {
        let (h, k) = (g / 4, g % 4);
        let low = field(pair(b, 64 * h + 32 * (k % 2)), 4 * (k / 2), 0xf);
        less(join(low, field(pair(b, 128 + 32 * h), 2 * k, 3), 4), 32)
    };
    TQ2_0(b, g) signed(field(pair(b, g / 4 * 32), 2 * (g % 4), 3));
}

impl Unpack for format::TQ1_0 {}
