//! [`Q4_K`].

use super::{encode_groups, group_scale_min};
use crate::tensor::block::fit::Tries;
use crate::tensor::block::layout::layout;

layout! {
    /// 256 elements in 8 groups of 32: `x[i] = q[i] * d * s[g] - dmin * m[g]`.
    ///
    /// The low nibble of `qs[32 * h + j]`, for `j < 32`, is element `64 * h + j`; its high nibble is element
    /// `64 * h + 32 + j`. For the packing of `s` and `m` see [`scale_min`](super::scale_min).
    Q4_K {
        /// Scale of the scales, an f16.
        d: u16,
        /// Scale of the minimums, an f16.
        dmin: u16,
        /// Group scales and minimums, six bits each.
        scales: [u8; 12],
        /// Two elements a byte.
        qs: [u8; 128],
    }
}

impl Q4_K {
    /// The elements of this block.
    pub fn decode(&self, out: &mut [f32; Self::LEN]) {
        for (g, out) in out.as_chunks_mut::<32>().0.iter_mut().enumerate() {
            let (step, min) = group_scale_min(self.d, self.dmin, &self.scales, g);
            for (j, y) in out.iter_mut().enumerate() {
                let q = self.qs[32 * (g / 2) + j] >> (4 * (g % 2)) & 0xf;
                *y = step * q as f32 - min;
            }
        }
    }

    /// The block for `src`: step and minimum of each group by a search for the least sum of squared
    /// errors, each weighted with the element's magnitude plus the group's root mean square.
    pub fn encode(src: &[f32; Self::LEN]) -> Self {
        const TRIES: Tries = Tries { first: -1.0, step: 0.1, count: 20 };
        let mut levels = [0u8; Self::LEN];
        let (d, dmin, scales) = encode_groups(15, src, &mut levels, TRIES);
        let qs = core::array::from_fn(|b| {
            let first = b / 32 * 64 + b % 32;
            levels[first] | levels[first + 32] << 4
        });
        Self { d, dmin, scales, qs }
    }
}
