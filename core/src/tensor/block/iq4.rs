//! 4-bit blocks with unevenly spaced values: [`IQ4_NL`] and [`IQ4_XS`].

use super::layout::layout;

/// What the 16 nibbles of [`IQ4_NL`] and [`IQ4_XS`] stand for, before scaling.
pub const IQ4_VALUES: [i8; 16] =
    [-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113];

layout! {
    /// 32 elements: `x[i] = IQ4_VALUES[q[i]] * d`.
    ///
    /// `q[j]` is the low nibble of `qs[j]` and `q[j + 16]` its high nibble.
    IQ4_NL {
        /// Scale, an f16.
        d: u16,
        /// Two elements a byte.
        qs: [u8; 16],
    }
}

layout! {
    /// 256 elements in 8 groups of 32: `x[i] = IQ4_VALUES[q[i]] * d * (s[g] - 32)`.
    ///
    /// Group `g` is laid out as in [`IQ4_NL`], in `qs[16 * g .. 16 * g + 16]`. The low four bits of
    /// `s[g]` are nibble `g` of `scales_l`, the upper two are bits `2 * g` and `2 * g + 1` of `scales_h`.
    IQ4_XS {
        /// Scale of the scales, an f16.
        d: u16,
        /// Upper two bits of the group scales.
        scales_h: u16,
        /// Low four bits of the group scales, two a byte.
        scales_l: [u8; 4],
        /// Two elements a byte.
        qs: [u8; 128],
    }
}
