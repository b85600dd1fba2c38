//! 4-bit floats with a shared exponent: [`MXFP4`].

use super::fit::strongest;
use super::layout::layout;
use crate::tensor::float::e8m0_half_to_f32;

/// Twice the values of the 16 E2M1 codes; the halving is in the scale, [`crate::tensor::float::e8m0_half_to_f32`].
pub const MXFP4_VALUES: [i8; 16] = [0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12];

layout! {
    /// 32 elements: `x[i] = MXFP4_VALUES[q[i]] * 2^(e - 128)`.
    ///
    /// `q[j]` is the low nibble of `qs[j]` and `q[j + 16]` its high nibble.
    MXFP4 {
        /// Shared exponent, E8M0: the E2M1 values are scaled by `2^(e - 127)`.
        e: u8,
        /// Two elements a byte.
        qs: [u8; 16],
    }
}

impl MXFP4 {
    /// The elements of this block.
    pub fn decode(&self, out: &mut [f32; Self::LEN]) {
        let d = e8m0_half_to_f32(self.e);
        for (j, &q) in self.qs.iter().enumerate() {
            out[j] = MXFP4_VALUES[(q & 0xf) as usize] as f32 * d;
            out[j + 16] = MXFP4_VALUES[(q >> 4) as usize] as f32 * d;
        }
    }

    /// The nearest block to `src`, for the exponent that puts the strongest element between 4 and 8.
    ///
    /// Elements past 6 become 6. A strongest element less than a few units in the last place under a power of two
    /// may get the next exponent in ggml, which goes through a rounded logarithm.
    pub fn encode(src: &[f32; Self::LEN]) -> Self {
        // The biased exponent of the strongest element, less the 2 that E2M1's own exponent reaches.
        let e = ((strongest(src).abs().to_bits() >> 23) as u8).saturating_sub(2);
        let d = e8m0_half_to_f32(e);
        let code = |x: f32| {
            let error = |c: usize| (MXFP4_VALUES[c] as f32 * d - x).abs();
            // The first of equally near codes.
            let nearer = |best, c| if error(c) < error(best) { c } else { best };
            (1..MXFP4_VALUES.len()).fold(0, nearer) as u8
        };
        let qs = core::array::from_fn(|j| code(src[j]) | code(src[j + 16]) << 4);
        Self { e, qs }
    }
}
