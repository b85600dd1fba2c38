//! [`Q4_K`].

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
