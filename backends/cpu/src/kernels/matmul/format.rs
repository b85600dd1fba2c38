//! How each quantised type is read: groups of 32 small integers with a scale.
//!
//! Whatever the type, element `i` of a group is `q[i] * s[i / 16] * d + m[i / 16]`: integers that a dot product
//! multiplies, one float scale, and a float offset that meets the activations' sum. A symmetric type with an offset
//! (`Q4_0`: `(q - 8) * d`) keeps its raw unsigned levels and says `m = -8 * d`, so that all levels share one formula.

use dinrail_core::tensor::DType;
use dinrail_core::tensor::block::{IQ4_VALUES, MXFP4_VALUES, scale_min};
use dinrail_core::tensor::float::{e8m0_half_to_f32, f16_to_f32};

/// Elements of a group: the unit in which weights and activations meet.
pub const GROUP: usize = 32;

/// 32 decoded elements.
#[derive(Clone, Copy)]
pub struct Group {
    /// The levels.
    pub q: [i8; GROUP],
    /// Integer scales of the two halves; ones unless [`Format::SCALED`].
    pub s: [i8; 2],
    /// Scale.
    pub d: f32,
    /// Offsets of the two halves; equal unless [`Format::HALVES`], zeros unless [`Format::OFFSET`].
    pub m: [f32; 2],
}

/// A quantised weight type.
///
/// # Implementors
/// * `|q * s|` of a group is at most 4096, so that a group's dot product with activations of ±127 is an integer below
///   2^24, which an `f32` holds exactly.
pub trait Format {
    /// The bytes of a block.
    type Block;
    /// The type in core.
    const DTYPE: DType;
    /// Groups of a block.
    const GROUPS: usize = Self::DTYPE.block_len() / GROUP;
    /// The largest level of a type whose levels start at 0; 0 for one with levels on both sides.
    const TOP: u8 = 0;
    /// Whether `s` says anything.
    const SCALED: bool = false;
    /// Whether `m` says anything.
    const OFFSET: bool = false;
    /// Whether the offsets of the halves differ.
    const HALVES: bool = false;

    /// Group `g` of a block, `g` being below [`GROUPS`](Self::GROUPS).
    fn group(block: &Self::Block, g: usize) -> Group;
}

/// A byte of a block. The offset is always inside; the check keeps a panic out where the compiler can't see that.
#[inline(always)]
fn at<const N: usize>(block: &[u8; N], i: usize) -> u8 {
    if i < N { block[i] } else { 0 }
}

/// The f16 at `i`.
#[inline(always)]
fn half<const N: usize>(block: &[u8; N], i: usize) -> f32 {
    f16_to_f32(u16::from_le_bytes([at(block, i), at(block, i + 1)]))
}

/// 32 levels, each from its index.
#[inline(always)]
fn levels(f: impl Fn(usize) -> u8) -> [i8; GROUP] {
    core::array::from_fn(|i| f(i) as i8)
}

/// Nibble `i` of a group whose second 16 elements are the high nibbles of the 16 bytes at `from`.
#[inline(always)]
fn nibble<const N: usize>(block: &[u8; N], from: usize, i: usize) -> u8 {
    at(block, from + i % 16) >> (4 * (i / 16)) & 0xf
}

macro_rules! formats {
    ($($(#[$doc:meta])* $name:ident { $($const:ident = $value:expr;)* } |$b:ident, $g:ident| $body:expr)+) => {$(
        $(#[$doc])*
        #[allow(non_camel_case_types)]
        pub struct $name;

        impl Format for $name {
            type Block = [u8; DType::$name.block_bytes()];
            const DTYPE: DType = DType::$name;
            $(const $const: formats!(@type $const) = $value;)*

            #[inline(always)]
            fn group($b: &Self::Block, $g: usize) -> Group {
                let _ = $g;
                $body
            }
        }
        static_assertions::assert_eq_align!(<$name as Format>::Block, u8);
    )+};
    (@type TOP) => { u8 };
    (@type $other:ident) => { bool };
}

/// A group without integer scales.
#[inline(always)]
fn plain(q: [i8; GROUP], d: f32, m: f32) -> Group {
    Group { q, s: [1; 2], d, m: [m; 2] }
}

/// The six-bit scale and minimum of group `g`, which `Q4_K` and `Q5_K` keep in the 12 bytes at 4.
#[inline(always)]
fn scale_and_min<const N: usize>(b: &[u8; N], g: usize) -> (f32, f32) {
    let packed = core::array::from_fn(|i| at(b, 4 + i));
    let (s, m) = scale_min(&packed, g & 7);
    (half(b, 0) * s as f32, -half(b, 2) * m as f32)
}

/// Two bits of element `i` of group `g`, four elements a byte from `from` on.
#[inline(always)]
fn crumb<const N: usize>(b: &[u8; N], from: usize, g: usize, i: usize) -> u8 {
    at(b, from + g / 4 * 32 + i) >> (2 * (g % 4)) & 3
}

/// Digit `k` of a byte of five base-3 digits.
#[inline(always)]
fn trit(byte: u8, k: usize) -> u8 {
    const POWERS: [u8; 8] = [1, 3, 9, 27, 81, 0, 0, 0];
    ((byte.wrapping_mul(POWERS[k & 7]) as u16 * 3) >> 8) as u8
}

formats! {
    /// `(q - 8) * d`
    Q4_0 { TOP = 15; OFFSET = true; } |b, g| {
        let d = half(b, 0);
        plain(levels(|i| nibble(b, 2, i)), d, -8.0 * d)
    }
    /// `q * d + m`
    Q4_1 { TOP = 15; OFFSET = true; } |b, g| {
        plain(levels(|i| nibble(b, 4, i)), half(b, 0), half(b, 2))
    }
    /// `(q - 16) * d`
    Q5_0 { TOP = 31; OFFSET = true; } |b, g| {
        let d = half(b, 0);
        let q = levels(|i| nibble(b, 6, i) | (at(b, 2 + i / 8) >> (i % 8) & 1) << 4);
        plain(q, d, -16.0 * d)
    }
    /// `q * d + m`
    Q5_1 { TOP = 31; OFFSET = true; } |b, g| {
        let q = levels(|i| nibble(b, 8, i) | (at(b, 4 + i / 8) >> (i % 8) & 1) << 4);
        plain(q, half(b, 0), half(b, 2))
    }
    /// `q * d`
    Q8_0 { } |b, g| plain(levels(|i| at(b, 2 + i)), half(b, 0), 0.0)
    /// `VALUES[q] * d`
    IQ4_NL { } |b, g| {
        plain(levels(|i| IQ4_VALUES[nibble(b, 2, i) as usize & 15] as u8), half(b, 0), 0.0)
    }
    /// `VALUES[q] * d`; signed, because an offset times the largest scale has no room in an `f32`.
    MXFP4 { } |b, g| {
        let q = levels(|i| MXFP4_VALUES[nibble(b, 1, i) as usize & 15] as u8);
        plain(q, e8m0_half_to_f32(at(b, 0)), 0.0)
    }
    /// `q * d * s - dmin * m`, scales and minimums of each 16.
    Q2_K { TOP = 3; SCALED = true; OFFSET = true; HALVES = true; } |b, g| {
        let (d, dmin) = (half(b, 80), half(b, 82));
        let s = [at(b, 2 * g), at(b, 2 * g + 1)];
        Group {
            q: levels(|i| crumb(b, 16, g, i)),
            s: s.map(|s| (s & 0xf) as i8),
            d,
            m: s.map(|s| -dmin * (s >> 4) as f32),
        }
    }
    /// `(q - 4) * d * (s - 32)`, scales of each 16.
    Q3_K { SCALED = true; } |b, g| {
        let scale = |h: usize| {
            let low = at(b, 96 + h % 8) >> (4 * (h / 8)) & 0xf;
            let high = at(b, 104 + h % 4) >> (2 * (h / 4)) & 3;
            (low | high << 4) as i8 - 32
        };
        let q = levels(|i| (crumb(b, 32, g, i) | (at(b, i) >> g & 1) << 2).wrapping_sub(4));
        Group { q, s: [scale(2 * g), scale(2 * g + 1)], d: half(b, 108), m: [0.0; 2] }
    }
    /// `q * d * s - dmin * m`
    Q4_K { TOP = 15; OFFSET = true; } |b, g| {
        let (d, m) = scale_and_min(b, g);
        plain(levels(|i| at(b, 16 + g / 2 * 32 + i) >> (4 * (g % 2)) & 0xf), d, m)
    }
    /// `q * d * s - dmin * m`
    Q5_K { TOP = 31; OFFSET = true; } |b, g| {
        let (d, m) = scale_and_min(b, g);
        let q = levels(|i| {
            let low = at(b, 48 + g / 2 * 32 + i) >> (4 * (g % 2)) & 0xf;
            low | (at(b, 16 + i) >> g & 1) << 4
        });
        plain(q, d, m)
    }
    /// `(q - 32) * d * s`, scales of each 16.
    Q6_K { SCALED = true; } |b, g| {
        let (h, k) = (g / 4, g % 4);
        let q = levels(|i| {
            let low = at(b, 64 * h + 32 * (k % 2) + i) >> (4 * (k / 2)) & 0xf;
            let high = at(b, 128 + 32 * h + i) >> (2 * k) & 3;
            (low | high << 4).wrapping_sub(32)
        });
        let s = [at(b, 192 + 2 * g) as i8, at(b, 193 + 2 * g) as i8];
        Group { q, s, d: half(b, 208), m: [0.0; 2] }
    }
    /// `VALUES[q] * d * (s - 32)`
    IQ4_XS { } |b, g| {
        let low = at(b, 4 + g / 2) >> (4 * (g % 2)) & 0xf;
        let high = u16::from_le_bytes([at(b, 2), at(b, 3)]) >> (2 * g) & 3;
        let s = (low as i32 | (high as i32) << 4) - 32;
        let q = levels(|i| IQ4_VALUES[nibble(b, 8 + 16 * g, i) as usize & 15] as u8);
        plain(q, half(b, 0) * s as f32, 0.0)
    }
    /// `(t - 1) * d`, five base-3 digits a byte.
    TQ1_0 { TOP = 2; OFFSET = true; } |b, g| {
        let q = levels(|i| {
            // Digit and byte of the element: three runs with different strides.
            let e = GROUP * g + i;
            let (byte, k) = match e {
                0..160 => (e % 32, e / 32),
                160..240 => (32 + (e - 160) % 16, (e - 160) / 16),
                _ => (48 + e % 4, (e - 240) / 4),
            };
            trit(at(b, byte), k)
        });
        let d = half(b, 52);
        plain(q, d, -d)
    }
    /// `(t - 1) * d`
    TQ2_0 { TOP = 3; OFFSET = true; } |b, g| {
        let d = half(b, 64);
        plain(levels(|i| crumb(b, 0, g, i)), d, -d)
    }
}
