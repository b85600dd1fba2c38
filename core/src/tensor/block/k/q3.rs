//! [`Q3_K`].

use crate::tensor::block::layout::layout;

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
