//! 4-bit blocks with unevenly spaced values: [`IQ4_NL`] and [`IQ4_XS`].

use super::fit::{EPSILON, inverse, strongest};
use super::layout::layout;
use crate::tensor::float::{f16_to_f32, f32_to_f16, nearest_int};

/// What the 16 nibbles of [`IQ4_NL`] and [`IQ4_XS`] stand for, before scaling.
pub const IQ4_VALUES: [i8; 16] =
    [-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113];

layout! {
    /// 32 elements: `x[i] = IQ4_VALUES[q[i]] * d`.
    ///
    /// `q[j]` is the low nibble of `qs[j]` and `q[j + 16]` its high nibble.
    IQ4_NL {
        /// Scale, an f16.
        d: u16,
        /// Two elements a byte.
        qs: [u8; 16],
    }
}

layout! {
    /// 256 elements in 8 groups of 32: `x[i] = IQ4_VALUES[q[i]] * d * (s[g] - 32)`.
    ///
    /// Group `g` is laid out as in [`IQ4_NL`], in `qs[16 * g .. 16 * g + 16]`. The low four bits of
    /// `s[g]` are nibble `g` of `scales_l`, the upper two are bits `2 * g` and `2 * g + 1` of `scales_h`.
    IQ4_XS {
        /// Scale of the scales, an f16.
        d: u16,
        /// Upper two bits of the group scales.
        scales_h: u16,
        /// Low four bits of the group scales, two a byte.
        scales_l: [u8; 4],
        /// Two elements a byte.
        qs: [u8; 128],
    }
}

/// The index in [`IQ4_VALUES`] of the value nearest to `x`; the upper of two equally near ones.
fn nearest(x: f32) -> u8 {
    // Values at or below `x`, but at least one and not all of them.
    let above = IQ4_VALUES[1..15].iter().filter(|&&v| v as f32 <= x).count() + 1;
    let (low, high) = (IQ4_VALUES[above - 1] as f32, IQ4_VALUES[above] as f32);
    (if x - low < high - x { above - 1 } else { above }) as u8
}

/// The least-squares scale of `x` for the levels that `id` gives it, each element weighted with its
/// square: the sums of value times element, and of squared values.
fn sums(x: &[f32; 32], id: f32) -> (f32, f32) {
    let (mut qx, mut qq) = (0.0f32, 0.0f32);
    for &x in x {
        let (w, q) = (x * x, IQ4_VALUES[nearest(id * x) as usize] as f32);
        qx += w * q * x;
        qq += w * q * q;
    }
    (qx, qq)
}

/// Two levels a byte, the second 16 elements in the high nibbles.
fn pack(x: &[f32; 32], id: f32) -> [u8; 16] {
    core::array::from_fn(|j| nearest(id * x[j]) | nearest(id * x[j + 16]) << 4)
}

/// The elements of 32 levels.
fn unpack(qs: &[u8; 16], d: f32, out: &mut [f32; 32]) {
    for (j, &q) in qs.iter().enumerate() {
        out[j] = IQ4_VALUES[(q & 0xf) as usize] as f32 * d;
        out[j + 16] = IQ4_VALUES[(q >> 4) as usize] as f32 * d;
    }
}

impl IQ4_NL {
    /// The elements of this block.
    pub fn decode(&self, out: &mut [f32; Self::LEN]) {
        unpack(&self.qs, f16_to_f32(self.d), out);
    }

    /// The block for `src` with levels that map the strongest element to -127, and then the scale that
    /// is best for these levels.
    pub fn encode(src: &[f32; Self::LEN]) -> Self {
        let max = strongest(src);
        if max.abs() < EPSILON {
            return Self { d: 0, qs: [0; 16] };
        }
        let id = inverse(max / IQ4_VALUES[0] as f32);
        let (qx, qq) = sums(src, id);
        Self { d: f32_to_f16(qx / qq), qs: pack(src, id) }
    }
}

impl IQ4_XS {
    /// The scale of group `g`, -32 to 31.
    fn scale(&self, g: usize) -> i32 {
        let low = self.scales_l[g / 2] >> (4 * (g % 2)) & 0xf;
        let high = self.scales_h >> (2 * g) & 3;
        (low as i32 | (high as i32) << 4) - 32
    }

    /// The elements of this block.
    pub fn decode(&self, out: &mut [f32; Self::LEN]) {
        let d = f16_to_f32(self.d);
        let groups = out.as_chunks_mut::<32>().0.iter_mut().zip(self.qs.as_chunks::<16>().0);
        for (g, (out, qs)) in groups.enumerate() {
            unpack(qs, d * self.scale(g) as f32, out);
        }
    }

    /// The block for `src` with the best of 16 scales for each group.
    pub fn encode(src: &[f32; Self::LEN]) -> Self {
        let groups = src.as_chunks::<32>().0;
        let scales: [f32; 8] = core::array::from_fn(|g| group_scale(&groups[g]));
        let d = -strongest(&scales) / 32.0;
        let id = inverse(d);
        let mut block = Self { d: f32_to_f16(d), scales_h: 0, scales_l: [0; 4], qs: [0; 128] };
        for (g, qs) in block.qs.as_chunks_mut::<16>().0.iter_mut().enumerate() {
            let scale = nearest_int(id * scales[g]).clamp(-32, 31);
            *qs = pack(&groups[g], inverse(d * scale as f32));
            let stored = (scale + 32) as u16;
            block.scales_l[g / 2] |= (stored as u8 & 0xf) << (4 * (g % 2));
            block.scales_h |= (stored >> 4) << (2 * g);
        }
        block
    }
}

/// The best scale for 32 elements, among those that map the strongest one near to an end of the values.
fn group_scale(x: &[f32; 32]) -> f32 {
    let max = strongest(x);
    if max.abs() < EPSILON {
        return 0.0;
    }
    let first = IQ4_VALUES[0] as f32;
    let (qx, qq) = sums(x, inverse(-max / first));
    let mut d = qx / qq;
    let mut best = d * qx;
    for shift in -7i8..=7 {
        let (qx, qq) = sums(x, (shift as f32 + first) / max);
        if qq > 0.0 && qx * qx > best * qq {
            d = qx / qq;
            best = d * qx;
        }
    }
    d
}
