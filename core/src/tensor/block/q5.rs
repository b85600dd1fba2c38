//! 5-bit blocks of 32 elements: [`Q5_0`] and [`Q5_1`].

use super::layout::layout;

layout! {
    /// 32 elements: `x[i] = (q[i] - 16) * d`.
    ///
    /// The low four bits of `q[j]` and `q[j + 16]` are the low and high nibble of `qs[j]`; the fifth bit
    /// of `q[i]` is bit `i` of `qh`, read as a little-endian `u32`.
    Q5_0 {
        /// Scale, an f16.
        d: u16,
        /// Fifth bits.
        qh: [u8; 4],
        /// Low four bits, two elements a byte.
        qs: [u8; 16],
    }
}

layout! {
    /// 32 elements: `x[i] = q[i] * d + m`. Bits as in [`Q5_0`].
    Q5_1 {
        /// Scale, an f16.
        d: u16,
        /// Minimum, an f16.
        m: u16,
        /// Fifth bits.
        qh: [u8; 4],
        /// Low four bits, two elements a byte.
        qs: [u8; 16],
    }
}
