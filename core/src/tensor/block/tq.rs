//! Ternary blocks of 256 elements: [`TQ1_0`] and [`TQ2_0`].

use super::fit::{crumb, inverse, pack_crumbs, strongest};
use super::layout::layout;
use crate::tensor::float::{f16_to_f32, f32_to_f16, round};

layout! {
    /// 256 elements: `x[i] = (t[i] - 1) * d` with `t[i]` in `0..=2`.
    ///
    /// A byte holds five base-3 digits, first digit the most significant, as the fraction `n / 243`
    /// scaled to 256 and rounded up: multiplying the byte by `3^k` modulo 256 and then taking the upper
    /// byte of three times that gives digit `k`. Digit `k` of `qs[j]` is element `32 * k + j` for
    /// `j < 32`, and element `160 + 16 * k + (j - 32)` from there on. `qh` holds four digits a byte (the
    /// fifth is zero): digit `k` of `qh[j]` is element `240 + 4 * k + j`.
    TQ1_0 {
        /// Elements 0 to 239, five a byte.
        qs: [u8; 48],
        /// Elements 240 to 255, four a byte.
        qh: [u8; 4],
        /// Scale, an f16.
        d: u16,
    }
}

layout! {
    /// 256 elements: `x[i] = (t[i] - 1) * d` with two bits for `t[i]`.
    ///
    /// Bits `2 * k` and `2 * k + 1` of `qs[32 * h + j]`, for `j < 32`, are element `128 * h + 32 * k + j`.
    TQ2_0 {
        /// Four elements a byte.
        qs: [u8; 64],
        /// Scale, an f16.
        d: u16,
    }
}

/// -1, 0 or 1 as a digit from 0 to 2: `x` in units of the scale whose inverse is `id`.
fn digit(x: f32, id: f32) -> u8 {
    (round(x * id).clamp(-1.0, 1.0) + 1.0) as u8
}

/// Digit `k` of a byte of five base-3 digits, with `pow` equal to `3^k`.
fn trit(byte: u8, pow: u8) -> u8 {
    ((byte.wrapping_mul(pow) as u16 * 3) >> 8) as u8
}

/// The byte of five base-3 digits, most significant first.
fn five(digits: [u8; 5]) -> u8 {
    let n = digits.iter().fold(0u16, |n, &t| n * 3 + t as u16);
    (n * 256).div_ceil(243) as u8
}

/// `3^k` for each digit of a byte.
const POWERS: [u8; 5] = [1, 3, 9, 27, 81];

impl TQ1_0 {
    /// The elements of this block.
    pub fn decode(&self, out: &mut [f32; Self::LEN]) {
        let d = f16_to_f32(self.d);
        let value = |byte, pow| (trit(byte, pow) as i32 - 1) as f32 * d;
        for (k, &pow) in POWERS.iter().enumerate() {
            for j in 0..32 {
                out[32 * k + j] = value(self.qs[j], pow);
            }
            for j in 0..16 {
                out[160 + 16 * k + j] = value(self.qs[32 + j], pow);
            }
        }
        for (k, &pow) in POWERS[..4].iter().enumerate() {
            for j in 0..4 {
                out[240 + 4 * k + j] = value(self.qh[j], pow);
            }
        }
    }

    /// The block nearest to `src`, for a scale that is the magnitude of its strongest element.
    pub fn encode(src: &[f32; Self::LEN]) -> Self {
        let d = strongest(src).abs();
        let id = inverse(d);
        let digits = src.map(|x| digit(x, id));
        let qs = core::array::from_fn(|j| {
            let (first, stride) = if j < 32 { (j, 32) } else { (128 + j, 16) };
            five(core::array::from_fn(|k| digits[first + stride * k]))
        });
        let qh = core::array::from_fn(|j| {
            five(core::array::from_fn(|k| if k < 4 { digits[240 + 4 * k + j] } else { 0 }))
        });
        Self { qs, qh, d: f32_to_f16(d) }
    }
}

impl TQ2_0 {
    /// The elements of this block. A stored 3, which no encoder writes, reads as `2 * d`.
    pub fn decode(&self, out: &mut [f32; Self::LEN]) {
        let d = f16_to_f32(self.d);
        for (i, y) in out.iter_mut().enumerate() {
            *y = (crumb(&self.qs, i) as i32 - 1) as f32 * d;
        }
    }

    /// The block nearest to `src`, for a scale that is the magnitude of its strongest element.
    pub fn encode(src: &[f32; Self::LEN]) -> Self {
        let d = strongest(src).abs();
        let id = inverse(d);
        let digits = src.map(|x| digit(x, id));
        let qs = pack_crumbs(&digits);
        Self { qs, d: f32_to_f16(d) }
    }
}
