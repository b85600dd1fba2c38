//! [`Q6_K`].

use crate::tensor::block::layout::layout;

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
