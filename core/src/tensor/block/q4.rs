//! 4-bit blocks of 32 elements: [`Q4_0`] and [`Q4_1`].

use super::layout::layout;

layout! {
    /// 32 elements: `x[i] = (q[i] - 8) * d`.
    ///
    /// `q[j]` is the low nibble of `qs[j]` and `q[j + 16]` its high nibble.
    Q4_0 {
        /// Scale, an f16.
        d: u16,
        /// Two elements a byte.
        qs: [u8; 16],
    }
}

layout! {
    /// 32 elements: `x[i] = q[i] * d + m`. Nibbles as in [`Q4_0`].
    Q4_1 {
        /// Scale, an f16.
        d: u16,
        /// Minimum, an f16.
        m: u16,
        /// Two elements a byte.
        qs: [u8; 16],
    }
}
