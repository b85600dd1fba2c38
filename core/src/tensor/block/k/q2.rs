//! [`Q2_K`].

use crate::tensor::block::layout::layout;

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
