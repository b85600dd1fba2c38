//! [`Q3_K`].

use crate::tensor::block::fit::{crumb, descend, inverse, pack_crumbs, strongest};
use crate::tensor::block::layout::layout;
use crate::tensor::float::{f16_to_f32, f32_to_f16, nearest_int};

layout! {
    /// 256 elements in 16 groups of 16: `x[i] = (q[i] - 4) * d * (s[g] - 32)`.
    ///
    /// The low two bits of `q[i]` are laid out as in [`Q2_K`](super::Q2_K). The third bit of element
    /// `32 * k + j`, for `j < 32`, is bit `k` of `hmask[j]`. The low four bits of `s[g]` are the low
    /// nibble of `scales[g]` for `g < 8` and the high nibble of `scales[g - 8]` from there on; the upper
    /// two are bits `2 * (g / 4)` and `2 * (g / 4) + 1` of `scales[8 + g % 4]`.
    Q3_K {
        /// Third bits.
        hmask: [u8; 32],
        /// Low two bits, four elements a byte.
        qs: [u8; 64],
        /// Group scales, six bits each.
        scales: [u8; 12],
        /// Scale of the scales, an f16.
        d: u16,
    }
}

impl Q3_K {
    /// The scale of group `g`, -32 to 31.
    fn scale(&self, g: usize) -> i32 {
        let low = if g < 8 { self.scales[g] & 0xf } else { self.scales[g - 8] >> 4 };
        let high = self.scales[8 + g % 4] >> (2 * (g / 4)) & 3;
        (low | high << 4) as i32 - 32
    }

    /// Stores `scale`, -32 to 31, where [`scale`](Self::scale) reads it. The bits are zero so far.
    fn set_scale(&mut self, g: usize, scale: i32) {
        let stored = (scale + 32) as u8;
        self.scales[g % 8] |= (stored & 0xf) << (g / 8 * 4);
        self.scales[8 + g % 4] |= (stored >> 4) << (2 * (g / 4));
    }

    /// The elements of this block.
    pub fn decode(&self, out: &mut [f32; Self::LEN]) {
        let d = f16_to_f32(self.d);
        for (g, out) in out.as_chunks_mut::<16>().0.iter_mut().enumerate() {
            let step = d * self.scale(g) as f32;
            for (j, y) in out.iter_mut().enumerate() {
                let i = 16 * g + j;
                let high = self.hmask[i % 32] >> (i / 32) & 1;
                *y = step * ((crumb(&self.qs, i) | high << 2) as i32 - 4) as f32;
            }
        }
    }

    /// The block for `src`: the scale of each group by least squares, refined one level at a time.
    pub fn encode(src: &[f32; Self::LEN]) -> Self {
        let groups = src.as_chunks::<16>().0;
        let mut levels = [0u8; Self::LEN];
        let mut scales = [0f32; 16];
        for (g, q) in levels.as_chunks_mut::<16>().0.iter_mut().enumerate() {
            scales[g] = descend(4, &groups[g], q);
        }
        let iscale = inverse(strongest(&scales) / -32.0);
        let mut block = Self { hmask: [0; 32], qs: [0; 64], scales: [0; 12], d: 0 };
        if iscale != 0.0 {
            block.d = f32_to_f16(1.0 / iscale);
            for (g, scale) in scales.iter().enumerate() {
                block.set_scale(g, nearest_int(iscale * scale).clamp(-32, 31));
            }
        }
        let d = f16_to_f32(block.d);
        for (g, q) in levels.as_chunks_mut::<16>().0.iter_mut().enumerate() {
            let step = d * block.scale(g) as f32;
            if step != 0.0 {
                *q = groups[g].map(|x| (nearest_int(x / step).clamp(-4, 3) + 4) as u8);
            }
        }
        for (i, &q) in levels.iter().enumerate() {
            block.hmask[i % 32] |= (q >> 2) << (i / 32);
        }
        block.qs = pack_crumbs(&levels);
        block
    }
}
