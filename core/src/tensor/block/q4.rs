//! 4-bit blocks of 32 elements: [`Q4_0`] and [`Q4_1`].

use super::fit::{inverse, range, strongest};
use super::layout::layout;
use crate::tensor::float::{f16_to_f32, f32_to_f16};

layout! {
    /// 32 elements: `x[i] = (q[i] - 8) * d`.
    ///
    /// `q[j]` is the low nibble of `qs[j]` and `q[j + 16]` its high nibble.
    Q4_0 {
        /// Scale, an f16.
        d: u16,
        /// Two elements a byte.
        qs: [u8; 16],
    }
}

layout! {
    /// 32 elements: `x[i] = q[i] * d + m`. Nibbles as in [`Q4_0`].
    Q4_1 {
        /// Scale, an f16.
        d: u16,
        /// Minimum, an f16.
        m: u16,
        /// Two elements a byte.
        qs: [u8; 16],
    }
}

impl Q4_0 {
    /// The elements of this block.
    pub fn decode(&self, out: &mut [f32; Self::LEN]) {
        let d = f16_to_f32(self.d);
        for (j, &q) in self.qs.iter().enumerate() {
            out[j] = ((q & 0xf) as i32 - 8) as f32 * d;
            out[j + 16] = ((q >> 4) as i32 - 8) as f32 * d;
        }
    }

    /// The block nearest to `src`, for a scale that maps the strongest element to -8.
    ///
    /// The error is at most half a scale, and a whole one at the end that +8 would have.
    pub fn encode(src: &[f32; Self::LEN]) -> Self {
        let d = strongest(src) / -8.0;
        let id = inverse(d);
        let level = |x: f32| ((x * id + 8.5) as u8).min(15);
        let qs = core::array::from_fn(|j| level(src[j]) | level(src[j + 16]) << 4);
        Self { d: f32_to_f16(d), qs }
    }
}

impl Q4_1 {
    /// The elements of this block.
    pub fn decode(&self, out: &mut [f32; Self::LEN]) {
        let (d, m) = (f16_to_f32(self.d), f16_to_f32(self.m));
        for (j, &q) in self.qs.iter().enumerate() {
            out[j] = (q & 0xf) as f32 * d + m;
            out[j + 16] = (q >> 4) as f32 * d + m;
        }
    }

    /// The block nearest to `src`, with 16 levels from its minimum to its maximum.
    pub fn encode(src: &[f32; Self::LEN]) -> Self {
        let (min, max) = range(src);
        let d = (max - min) / 15.0;
        let id = inverse(d);
        let level = |x: f32| (((x - min) * id + 0.5) as u8).min(15);
        let qs = core::array::from_fn(|j| level(src[j]) | level(src[j + 16]) << 4);
        Self { d: f32_to_f16(d), m: f32_to_f16(min), qs }
    }
}
