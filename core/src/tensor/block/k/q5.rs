//! [`Q5_K`].

use super::{encode_groups, group_scale_min};
use crate::tensor::block::fit::Tries;
use crate::tensor::block::layout::layout;

layout! {
    /// 256 elements in 8 groups of 32: `x[i] = q[i] * d * s[g] - dmin * m[g]`.
    ///
    /// Low four bits and scales as in [`Q4_K`](super::Q4_K). The fifth bit of element `32 * g + j`, for `j < 32`, is bit
    /// `g` of `qh[j]`.
    Q5_K {
        /// Scale of the scales, an f16.
        d: u16,
        /// Scale of the minimums, an f16.
        dmin: u16,
        /// Group scales and minimums, six bits each.
        scales: [u8; 12],
        /// Fifth bits.
        qh: [u8; 32],
        /// Low four bits, two elements a byte.
        qs: [u8; 128],
    }
}

impl Q5_K {
    /// The elements of this block.
    pub fn decode(&self, out: &mut [f32; Self::LEN]) {
        for (g, out) in out.as_chunks_mut::<32>().0.iter_mut().enumerate() {
            let (step, min) = group_scale_min(self.d, self.dmin, &self.scales, g);
            for (j, y) in out.iter_mut().enumerate() {
                let low = self.qs[32 * (g / 2) + j] >> (4 * (g % 2)) & 0xf;
                let high = self.qh[j] >> g & 1;
                *y = step * (low | high << 4) as f32 - min;
            }
        }
    }

    /// The block for `src`: step and minimum of each group by a search for the least sum of squared
    /// errors, each weighted with the element's magnitude plus the group's root mean square.
    pub fn encode(src: &[f32; Self::LEN]) -> Self {
        const TRIES: Tries = Tries { first: -0.5, step: 0.1, count: 15 };
        let mut levels = [0u8; Self::LEN];
        let (d, dmin, scales) = encode_groups(31, src, &mut levels, TRIES);
        let qs = core::array::from_fn(|b| {
            let first = b / 32 * 64 + b % 32;
            levels[first] & 0xf | (levels[first + 32] & 0xf) << 4
        });
        let qh = core::array::from_fn(|j| {
            (0..8).fold(0, |byte, g| byte | (levels[32 * g + j] >> 4) << g)
        });
        Self { d, dmin, scales, qh, qs }
    }
}
