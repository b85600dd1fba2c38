//! Ternary blocks of 256 elements: [`TQ1_0`] and [`TQ2_0`].

use super::layout::layout;

layout! {
    /// 256 elements: `x[i] = (t[i] - 1) * d` with `t[i]` in `0..=2`.
    ///
    /// A byte holds five base-3 digits, first digit the most significant, as the fraction `n / 243`
    /// scaled to 256 and rounded up: multiplying the byte by `3^k` modulo 256 and then taking the upper
    /// byte of three times that gives digit `k`. Digit `k` of `qs[j]` is element `32 * k + j` for
    /// `j < 32`, and element `160 + 16 * k + (j - 32)` from there on. `qh` holds four digits a byte (the
    /// fifth is zero): digit `k` of `qh[j]` is element `240 + 4 * k + j`.
    TQ1_0 {
        /// Elements 0 to 239, five a byte.
        qs: [u8; 48],
        /// Elements 240 to 255, four a byte.
        qh: [u8; 4],
        /// Scale, an f16.
        d: u16,
    }
}

layout! {
    /// 256 elements: `x[i] = (t[i] - 1) * d` with two bits for `t[i]`.
    ///
    /// Bits `2 * k` and `2 * k + 1` of `qs[32 * h + j]`, for `j < 32`, are element `128 * h + 32 * k + j`.
    TQ2_0 {
        /// Four elements a byte.
        qs: [u8; 64],
        /// Scale, an f16.
        d: u16,
    }
}
