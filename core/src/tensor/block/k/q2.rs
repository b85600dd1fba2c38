//! [`Q2_K`].

use super::relevel;
use crate::tensor::block::fit::{Error, Tries, affine, crumb, largest, pack_crumbs, ratio};
use crate::tensor::block::layout::layout;
use crate::tensor::float::{f16_to_f32, f32_to_f16, nearest_int};

layout! {
    /// 256 elements in 16 groups of 16: `x[i] = q[i] * d * s[g] - dmin * m[g]`.
    ///
    /// `s[g]` is the low nibble of `scales[g]` and `m[g]` its high nibble. Bits `2 * k` and `2 * k + 1` of
    /// `qs[32 * h + j]`, for `j < 32`, are element `128 * h + 32 * k + j`.
    Q2_K {
        /// Group scales and minimums, four bits each.
        scales: [u8; 16],
        /// Four elements a byte.
        qs: [u8; 64],
        /// Scale of the scales, an f16.
        d: u16,
        /// Scale of the minimums, an f16.
        dmin: u16,
    }
}

impl Q2_K {
    /// Step and minimum of group `g`: elements are `q * step - minimum`.
    fn group(&self, g: usize) -> (f32, f32) {
        let s = self.scales[g];
        (f16_to_f32(self.d) * (s & 0xf) as f32, f16_to_f32(self.dmin) * (s >> 4) as f32)
    }

    /// The elements of this block.
    pub fn decode(&self, out: &mut [f32; Self::LEN]) {
        for (g, out) in out.as_chunks_mut::<16>().0.iter_mut().enumerate() {
            let (step, min) = self.group(g);
            for (j, y) in out.iter_mut().enumerate() {
                *y = step * crumb(&self.qs, 16 * g + j) as f32 - min;
            }
        }
    }

    /// The block for `src`: step and minimum of each group by a search for the least sum of absolute
    /// errors, each weighted with the element's magnitude.
    pub fn encode(src: &[f32; Self::LEN]) -> Self {
        const TRIES: Tries = Tries { first: -0.5, step: 0.1, count: 15 };
        let groups = src.as_chunks::<16>().0;
        let mut levels = [0u8; Self::LEN];
        let (mut steps, mut mins) = ([0f32; 16], [0f32; 16]);
        for (g, q) in levels.as_chunks_mut::<16>().0.iter_mut().enumerate() {
            let weights = groups[g].map(f32::abs);
            (steps[g], mins[g]) = affine(3, &groups[g], &weights, q, TRIES, Error::Absolute);
        }
        let (max_step, max_min) = (largest(&steps), largest(&mins));
        let (istep, imin) = (ratio(15.0, max_step), ratio(15.0, max_min));
        let nibble = |x: f32| nearest_int(x).clamp(0, 15) as u8;
        let mut block = Self {
            scales: core::array::from_fn(|g| {
                nibble(istep * steps[g]) | nibble(imin * mins[g]) << 4
            }),
            qs: [0; 64],
            d: f32_to_f16(max_step / 15.0),
            dmin: f32_to_f16(max_min / 15.0),
        };
        for (g, q) in levels.as_chunks_mut::<16>().0.iter_mut().enumerate() {
            relevel(3, &groups[g], block.group(g), q);
        }
        block.qs = pack_crumbs(&levels);
        block
    }
}
