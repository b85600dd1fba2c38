//! 8-bit blocks: [`Q8_0`], and the two that hold activations, [`Q8_1`] and [`Q8_K`].

use super::fit::{inverse, strongest};
use super::layout::layout;
use crate::tensor::float::{f16_to_f32, f32_to_f16, nearest_int, round};

layout! {
    /// 32 elements: `x[i] = qs[i] * d`.
    Q8_0 {
        /// Scale, an f16.
        d: u16,
        /// One element a byte.
        qs: [i8; 32],
    }
}

layout! {
    /// 32 elements: `x[i] = qs[i] * d`, with their sum at hand for types that have a minimum.
    Q8_1 {
        /// Scale, an f16.
        d: u16,
        /// `d` times the sum of `qs`, an f16.
        s: u16,
        /// One element a byte.
        qs: [i8; 32],
    }
}

layout! {
    /// 256 elements: `x[i] = qs[i] * d`, with integer sums at hand for types that have minimums.
    Q8_K {
        /// Scale.
        d: f32,
        /// One element a byte.
        qs: [i8; 256],
        /// `bsums[g]` is the sum of `qs[16 * g .. 16 * g + 16]`.
        bsums: [i16; 16],
    }
}

/// Scale and levels of 32 elements, the strongest at 127 or -127; halves go away from zero.
fn levels(src: &[f32; 32]) -> (f32, [i8; 32]) {
    let d = strongest(src).abs() / 127.0;
    let id = inverse(d);
    (d, src.map(|x| round(x * id) as i8))
}

impl Q8_0 {
    /// The elements of this block.
    pub fn decode(&self, out: &mut [f32; Self::LEN]) {
        let d = f16_to_f32(self.d);
        for (y, &q) in out.iter_mut().zip(&self.qs) {
            *y = q as f32 * d;
        }
    }

    /// The block nearest to `src`, for a scale that maps the strongest element to ±127.
    pub fn encode(src: &[f32; Self::LEN]) -> Self {
        let (d, qs) = levels(src);
        Self { d: f32_to_f16(d), qs }
    }
}

impl Q8_1 {
    /// The elements of this block. The stored sum is not looked at.
    pub fn decode(&self, out: &mut [f32; Self::LEN]) {
        let d = f16_to_f32(self.d);
        for (y, &q) in out.iter_mut().zip(&self.qs) {
            *y = q as f32 * d;
        }
    }

    /// The block nearest to `src`, for a scale that maps the strongest element to ±127.
    pub fn encode(src: &[f32; Self::LEN]) -> Self {
        let (d, qs) = levels(src);
        let sum: i32 = qs.iter().map(|&q| q as i32).sum();
        Self { d: f32_to_f16(d), s: f32_to_f16(sum as f32 * d), qs }
    }
}

impl Q8_K {
    /// The elements of this block. The stored sums are not looked at.
    pub fn decode(&self, out: &mut [f32; Self::LEN]) {
        for (y, &q) in out.iter_mut().zip(&self.qs) {
            *y = q as f32 * self.d;
        }
    }

    /// The block nearest to `src`, for a scale that maps the strongest element to -127.
    pub fn encode(src: &[f32; Self::LEN]) -> Self {
        let max = strongest(src);
        let iscale = -127.0 / max;
        if max == 0.0 || !iscale.is_finite() {
            return Self { d: 0.0, qs: [0; 256], bsums: [0; 16] };
        }
        let qs = src.map(|x| nearest_int(iscale * x).clamp(-128, 127) as i8);
        let sum = |g: usize| qs[16 * g..16 * g + 16].iter().map(|&q| q as i16).sum();
        Self { d: inverse(iscale), qs, bsums: core::array::from_fn(sum) }
    }
}
