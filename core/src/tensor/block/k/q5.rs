//! [`Q5_K`].

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
