//! 5-bit blocks of 32 elements: [`Q5_0`] and [`Q5_1`].

use super::fit::{inverse, range, strongest};
use super::layout::layout;
use crate::tensor::float::{f16_to_f32, f32_to_f16};

layout! {
    /// 32 elements: `x[i] = (q[i] - 16) * d`.
    ///
    /// The low four bits of `q[j]` and `q[j + 16]` are the low and high nibble of `qs[j]`; the fifth bit
    /// of `q[i]` is bit `i` of `qh`, read as a little-endian `u32`.
    Q5_0 {
        /// Scale, an f16.
        d: u16,
        /// Fifth bits.
        qh: [u8; 4],
        /// Low four bits, two elements a byte.
        qs: [u8; 16],
    }
}

layout! {
    /// 32 elements: `x[i] = q[i] * d + m`. Bits as in [`Q5_0`].
    Q5_1 {
        /// Scale, an f16.
        d: u16,
        /// Minimum, an f16.
        m: u16,
        /// Fifth bits.
        qh: [u8; 4],
        /// Low four bits, two elements a byte.
        qs: [u8; 16],
    }
}

/// The 32 five-bit levels of a block.
fn unpack(qh: [u8; 4], qs: &[u8; 16]) -> [u8; 32] {
    let high = u32::from_le_bytes(qh);
    core::array::from_fn(|i| {
        let low = if i < 16 { qs[i] & 0xf } else { qs[i - 16] >> 4 };
        low | ((high >> i) as u8 & 1) << 4
    })
}

/// `levels`, each below 32, as (`qh`, `qs`).
fn pack(levels: &[u8; 32]) -> ([u8; 4], [u8; 16]) {
    let mut high = 0u32;
    for (i, &q) in levels.iter().enumerate() {
        high |= (q as u32 >> 4 & 1) << i;
    }
    let qs = core::array::from_fn(|j| levels[j] & 0xf | (levels[j + 16] & 0xf) << 4);
    (high.to_le_bytes(), qs)
}

impl Q5_0 {
    /// The elements of this block.
    pub fn decode(&self, out: &mut [f32; Self::LEN]) {
        let d = f16_to_f32(self.d);
        for (y, q) in out.iter_mut().zip(unpack(self.qh, &self.qs)) {
            *y = (q as i32 - 16) as f32 * d;
        }
    }

    /// The block nearest to `src`, for a scale that maps the strongest element to -16.
    ///
    /// The error is at most half a scale, and a whole one at the end that +16 would have.
    pub fn encode(src: &[f32; Self::LEN]) -> Self {
        let d = strongest(src) / -16.0;
        let id = inverse(d);
        let (qh, qs) = pack(&src.map(|x| ((x * id + 16.5) as u8).min(31)));
        Self { d: f32_to_f16(d), qh, qs }
    }
}

impl Q5_1 {
    /// The elements of this block.
    pub fn decode(&self, out: &mut [f32; Self::LEN]) {
        let (d, m) = (f16_to_f32(self.d), f16_to_f32(self.m));
        for (y, q) in out.iter_mut().zip(unpack(self.qh, &self.qs)) {
            *y = q as f32 * d + m;
        }
    }

    /// The block nearest to `src`, with 32 levels from its minimum to its maximum.
    pub fn encode(src: &[f32; Self::LEN]) -> Self {
        let (min, max) = range(src);
        let d = (max - min) / 31.0;
        let id = inverse(d);
        let (qh, qs) = pack(&src.map(|x| (((x - min) * id + 0.5) as u8).min(31)));
        Self { d: f32_to_f16(d), m: f32_to_f16(min), qh, qs }
    }
}
