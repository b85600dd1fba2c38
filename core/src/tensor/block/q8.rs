//! 8-bit blocks: [`Q8_0`], and the two that hold activations, [`Q8_1`] and [`Q8_K`].

use super::layout::layout;

layout! {
    /// 32 elements: `x[i] = qs[i] * d`.
    Q8_0 {
        /// Scale, an f16.
        d: u16,
        /// One element a byte.
        qs: [i8; 32],
    }
}

layout! {
    /// 32 elements: `x[i] = qs[i] * d`, with their sum at hand for types that have a minimum.
    Q8_1 {
        /// Scale, an f16.
        d: u16,
        /// `d` times the sum of `qs`, an f16.
        s: u16,
        /// One element a byte.
        qs: [i8; 32],
    }
}

layout! {
    /// 256 elements: `x[i] = qs[i] * d`, with integer sums at hand for types that have minimums.
    Q8_K {
        /// Scale.
        d: f32,
        /// One element a byte.
        qs: [i8; 256],
        /// `bsums[g]` is the sum of `qs[16 * g .. 16 * g + 16]`.
        bsums: [i16; 16],
    }
}
