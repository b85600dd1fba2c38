//! [`Q6_K`].

use crate::tensor::block::fit::{EPSILON, strongest, symmetric};
use crate::tensor::block::layout::layout;
use crate::tensor::float::{f16_to_f32, f32_to_f16, nearest_int};

layout! {
    /// 256 elements in 16 groups of 16: `x[i] = (q[i] - 32) * d * scales[g]`.
    ///
    /// In half `h` of the block, elements `128 * h + 32 * k + j` with `j < 32` and `k < 4`, the low four
    /// bits are in `ql[64 * h + 32 * (k % 2) + j]` (low nibble for `k < 2`, high nibble otherwise) and
    /// the upper two are bits `2 * k` and `2 * k + 1` of `qh[32 * h + j]`.
    Q6_K {
        /// Low four bits, two elements a byte.
        ql: [u8; 128],
        /// Upper two bits, four elements a byte.
        qh: [u8; 64],
        /// Group scales.
        scales: [i8; 16],
        /// Scale of the scales, an f16.
        d: u16,
    }
}

impl Q6_K {
    /// The elements of this block.
    pub fn decode(&self, out: &mut [f32; Self::LEN]) {
        let d = f16_to_f32(self.d);
        for (i, y) in out.iter_mut().enumerate() {
            let (h, k, j) = (i / 128, i % 128 / 32, i % 32);
            let low = self.ql[64 * h + 32 * (k % 2) + j] >> (4 * (k / 2)) & 0xf;
            let high = self.qh[32 * h + j] >> (2 * k) & 3;
            *y = d * self.scales[i / 16] as f32 * ((low | high << 4) as i32 - 32) as f32;
        }
    }

    /// The block for `src`: the scale of each group by weighted least squares over 19 candidates.
    pub fn encode(src: &[f32; Self::LEN]) -> Self {
        let groups = src.as_chunks::<16>().0;
        let mut levels = [0u8; Self::LEN];
        let mut fits = [0f32; 16];
        for (g, q) in levels.as_chunks_mut::<16>().0.iter_mut().enumerate() {
            fits[g] = symmetric(32, &groups[g], q);
        }
        let mut block = Self { ql: [0; 128], qh: [0; 64], scales: [0; 16], d: 0 };
        let max = strongest(&fits);
        if max.abs() < EPSILON {
            return block;
        }
        let iscale = -128.0 / max;
        block.d = f32_to_f16(1.0 / iscale);
        block.scales = fits.map(|s| nearest_int(iscale * s).clamp(-128, 127) as i8);
        let d = f16_to_f32(block.d);
        for (g, q) in levels.as_chunks_mut::<16>().0.iter_mut().enumerate() {
            let step = d * block.scales[g] as f32;
            if step != 0.0 {
                *q = groups[g].map(|x| (nearest_int(x / step).clamp(-32, 31) + 32) as u8);
            }
        }
        for (i, &q) in levels.iter().enumerate() {
            let (h, k, j) = (i / 128, i % 128 / 32, i % 32);
            block.ql[64 * h + 32 * (k % 2) + j] |= (q & 0xf) << (4 * (k / 2));
            block.qh[32 * h + j] |= (q >> 4) << (2 * k);
        }
        block
    }
}
