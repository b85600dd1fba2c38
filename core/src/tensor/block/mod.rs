//! Block layouts of the quantised types, byte for byte ggml's, and rows of any type from and to `f32`.
//!
//! Each structure has the size and the field order of its type's blocks in memory and in GGUF files, so
//! kernels may view rows as slices of it where alignment (at most 2, 4 for [`Q8_K`]) and byte order
//! allow; `from_bytes` and `to_bytes` work everywhere. Halfs are `u16` bits, see
//! [`float`](super::float).
//!
//! `decode` and `encode` are the definition of the types, not their fastest form. `encode` writes the bytes
//! that ggml's reference encoders write. Beyond what those define:
//!
//! * A block that is all zeros or too small for its scale to be stored decodes as zeros. An all-zero
//!   `IQ4_NL` block is zero bytes, where ggml leaves the levels of the block before.
//! * A block so large that its scale overflows an f16 (65520 and up, thus elements from about half a
//!   million on in `Q4_0`) gets an infinite scale, as in ggml, and decodes as infinities and NaNs. Types
//!   with a wider scale, `Q8_K` and `MXFP4`, don't have this limit. From about 1e12 on, the sums of types
//!   that search for their scale overflow too, and such a block may decode as zeros.
//! * NaNs and infinities never panic. A NaN becomes some level of its block and leaves the others as
//!   they are in types without a search; an infinity takes its block with it.

use super::DType;
use super::float::{bf16_to_f32, f16_to_f32, f32_to_bf16, f32_to_f16};
use super::size::{SizeError, row_bytes, to_usize};

mod fit;
mod iq4;
mod k;
mod layout;
mod mxfp4;
mod q4;
mod q5;
mod q8;
mod tq;

pub use iq4::{IQ4_NL, IQ4_VALUES, IQ4_XS};
pub use k::{Q2_K, Q3_K, Q4_K, Q5_K, Q6_K, scale_min};
pub use mxfp4::{MXFP4, MXFP4_VALUES};
pub use q4::{Q4_0, Q4_1};
pub use q5::{Q5_0, Q5_1};
pub use q8::{Q8_0, Q8_1, Q8_K};
pub use tq::{TQ1_0, TQ2_0};

/// Why a row can't be decoded or encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum Error {
    /// The row has no size: see [`SizeError`].
    Size(SizeError),
    /// The byte slice is not as long as the row.
    Bytes {
        /// The type of the row.
        dtype: DType,
        /// Bytes that the row takes.
        need: usize,
        /// Bytes that were given.
        given: usize,
    },
}

impl core::fmt::Display for Error {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match *self {
            Error::Size(e) => e.fmt(f),
            Error::Bytes { dtype, need, given } => {
                write!(f, "row of {dtype} takes {need} bytes, the slice has {given}")
            }
        }
    }
}

impl core::error::Error for Error {}

impl From<SizeError> for Error {
    fn from(e: SizeError) -> Self {
        Error::Size(e)
    }
}

/// Whether [`encode_row`] writes this type.
pub const fn can_encode(dtype: DType) -> bool {
    match dtype {
        DType::F32 | DType::F16 | DType::BF16 | DType::F64 => true,
        DType::I8 | DType::I16 | DType::I32 | DType::I64 => true,
        DType::Q4_0 | DType::Q4_1 | DType::Q5_0 | DType::Q5_1 => true,
        DType::Q8_0 | DType::Q8_1 | DType::Q8_K => true,
        DType::Q2_K | DType::Q3_K | DType::Q4_K | DType::Q5_K | DType::Q6_K => true,
        DType::IQ4_NL | DType::IQ4_XS | DType::TQ1_0 | DType::TQ2_0 | DType::MXFP4 => true,
    }
}

/// Checks that `given` bytes are what `len` elements of `dtype` take.
fn check(dtype: DType, len: usize, given: usize) -> Result<(), Error> {
    let need = to_usize(row_bytes(dtype, len as u64)?)?;
    if need == given { Ok(()) } else { Err(Error::Bytes { dtype, need, given }) }
}

/// Calls one of two macros for `$dtype`: `$number!(type, from f32, to f32)` for a type whose elements
/// stand alone, with the conversions as functions, or `$block!(structure)`.
macro_rules! dispatch {
    ($dtype:expr, $number:ident, $block:ident) => {
        match $dtype {
            DType::F32 => $number!(f32, |x: f32| x, |v: f32| v),
            DType::F64 => $number!(f64, |x: f32| x as f64, |v: f64| v as f32),
            DType::F16 => $number!(u16, f32_to_f16, f16_to_f32),
            DType::BF16 => $number!(u16, f32_to_bf16, bf16_to_f32),
            DType::I8 => $number!(i8, |x: f32| x as i8, |v: i8| v as f32),
            DType::I16 => $number!(i16, |x: f32| x as i16, |v: i16| v as f32),
            DType::I32 => $number!(i32, |x: f32| x as i32, |v: i32| v as f32),
            DType::I64 => $number!(i64, |x: f32| x as i64, |v: i64| v as f32),
            DType::Q4_0 => $block!(Q4_0),
            DType::Q4_1 => $block!(Q4_1),
            DType::Q5_0 => $block!(Q5_0),
            DType::Q5_1 => $block!(Q5_1),
            DType::Q8_0 => $block!(Q8_0),
            DType::Q8_1 => $block!(Q8_1),
            DType::Q2_K => $block!(Q2_K),
            DType::Q3_K => $block!(Q3_K),
            DType::Q4_K => $block!(Q4_K),
            DType::Q5_K => $block!(Q5_K),
            DType::Q6_K => $block!(Q6_K),
            DType::Q8_K => $block!(Q8_K),
            DType::IQ4_NL => $block!(IQ4_NL),
            DType::IQ4_XS => $block!(IQ4_XS),
            DType::TQ1_0 => $block!(TQ1_0),
            DType::TQ2_0 => $block!(TQ2_0),
            DType::MXFP4 => $block!(MXFP4),
        }
    };
}

/// Reads a contiguous row of `dtype`, little-endian at any alignment, as `f32`. Wide integers and `f64`
/// round to the nearest.
///
/// # Errors
///
/// [`Error::Size`] if `out` is not a whole number of blocks, [`Error::Bytes`] if `bytes` is not exactly the
/// row's length. `out` is untouched then.
pub fn decode_row(dtype: DType, bytes: &[u8], out: &mut [f32]) -> Result<(), Error> {
    check(dtype, out.len(), bytes.len())?;
    macro_rules! number {
        ($t:ty, $from:expr, $to:expr) => {
            for (y, b) in out.iter_mut().zip(bytes.as_chunks().0) {
                *y = $to(<$t>::from_le_bytes(*b));
            }
        };
    }
    macro_rules! block {
        ($t:ident) => {
            for (y, b) in out.as_chunks_mut().0.iter_mut().zip(bytes.as_chunks().0) {
                $t::from_bytes(b).decode(y);
            }
        };
    }
    dispatch!(dtype, number, block);
    Ok(())
}

/// Writes `src` as a contiguous row of `dtype`, little-endian at any alignment. Integers truncate
/// towards zero and saturate, NaN gives 0.
///
/// # Errors
///
/// [`Error::Size`] if `src` is not a whole number of blocks, [`Error::Bytes`] if `bytes` is not exactly the
/// row's length. `bytes` is untouched then.
pub fn encode_row(dtype: DType, src: &[f32], bytes: &mut [u8]) -> Result<(), Error> {
    check(dtype, src.len(), bytes.len())?;
    macro_rules! number {
        ($t:ty, $from:expr, $to:expr) => {
            for (&x, b) in src.iter().zip(bytes.as_chunks_mut().0) {
                let value: $t = $from(x);
                *b = value.to_le_bytes();
            }
        };
    }
    macro_rules! block {
        ($t:ident) => {
            for (x, b) in src.as_chunks().0.iter().zip(bytes.as_chunks_mut().0) {
                *b = $t::encode(x).to_bytes();
            }
        };
    }
    dispatch!(dtype, number, block);
    Ok(())
}

#[cfg(test)]
mod tests;
