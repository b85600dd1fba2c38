//! 4-bit floats with a shared exponent: [`MXFP4`].

use super::layout::layout;

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
