//! The one place where sizes are computed.
//!
//! Elements become bytes, bytes are padded, and padded sizes are added up. Each of the four steps can
//! wrap, and each has been a security hole somewhere because one caller forgot it; so the graph builder,
//! the planner, the GGUF reader, RPC and the plug-in interface all call this module and none of them
//! multiplies sizes itself. Everything is `u64`; use [`to_usize`] to leave.

use super::DType;

/// Why a size can't be computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum SizeError {
    /// A product, a padding step or a sum went past `u64` (or past `usize`, from [`to_usize`]).
    Overflow,
    /// The innermost length is not a whole number of blocks of this type.
    Block {
        /// The type whose block does not divide the row.
        dtype: DType,
        /// The row length, in elements.
        ne0: u64,
    },
    /// An alignment that is zero or not a power of two.
    Align {
        /// The alignment asked for.
        align: u64,
    },
}

impl core::fmt::Display for SizeError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match *self {
            SizeError::Overflow => f.write_str("size does not fit in the address space"),
            SizeError::Block { dtype, ne0 } => write!(
                f,
                "row of {ne0} elements is not a multiple of the {}-element block of {}",
                dtype.block_len(),
                dtype.name()
            ),
            SizeError::Align { align } => write!(f, "alignment {align} is not a power of two"),
        }
    }
}

impl core::error::Error for SizeError {}

/// Number of elements of a shape: the product of its four lengths. Zero if any length is zero, whatever the others are.
pub const fn elements(ne: &[u64; 4]) -> Result<u64, SizeError> {
    if ne[0] == 0 || ne[1] == 0 || ne[2] == 0 || ne[3] == 0 {
        return Ok(0);
    }
    let mut total = 1u64;
    let mut i = 0;
    while i < 4 {
        match total.checked_mul(ne[i]) {
            Some(n) => total = n,
            None => return Err(SizeError::Overflow),
        }
        i += 1;
    }
    Ok(total)
}

/// Bytes of one contiguous row of `ne0` elements of `dtype`.
pub const fn row_bytes(dtype: DType, ne0: u64) -> Result<u64, SizeError> {
    let block = dtype.block_len() as u64;
    if !ne0.is_multiple_of(block) {
        return Err(SizeError::Block { dtype, ne0 });
    }
    match (ne0 / block).checked_mul(dtype.block_bytes() as u64) {
        Some(n) => Ok(n),
        None => Err(SizeError::Overflow),
    }
}

/// Bytes of a contiguous tensor of `dtype` with lengths `ne`.
pub const fn tensor_bytes(dtype: DType, ne: &[u64; 4]) -> Result<u64, SizeError> {
    let row = match row_bytes(dtype, ne[0]) {
        Ok(n) => n,
        Err(e) => return Err(e),
    };
    // Also catches an element count that wraps while the byte count of a sub-byte type would not.
    if let Err(e) = elements(ne) {
        return Err(e);
    }
    elements(&[row, ne[1], ne[2], ne[3]])
}

/// `bytes` rounded up to a multiple of `align`, a power of two.
pub const fn padded(bytes: u64, align: u64) -> Result<u64, SizeError> {
    if !align.is_power_of_two() {
        return Err(SizeError::Align { align });
    }
    match bytes.checked_add(align - 1) {
        Some(n) => Ok(n & !(align - 1)),
        None => Err(SizeError::Overflow),
    }
}

/// `total + bytes`.
pub const fn sum(total: u64, bytes: u64) -> Result<u64, SizeError> {
    match total.checked_add(bytes) {
        Some(n) => Ok(n),
        None => Err(SizeError::Overflow),
    }
}

/// A size as `usize`, where it fits this machine.
pub const fn to_usize(n: u64) -> Result<usize, SizeError> {
    if n > usize::MAX as u64 { Err(SizeError::Overflow) } else { Ok(n as usize) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_step_refuses_to_wrap() {
        let top = (1u64 << 63) - 1;
        assert_eq!(elements(&[top, 2, 2, 1]), Err(SizeError::Overflow));
        assert_eq!(tensor_bytes(DType::F32, &[1 << 62, 1, 1, 1]), Err(SizeError::Overflow));
        assert_eq!(tensor_bytes(DType::Q8_0, &[1 << 63, 2, 1, 1]), Err(SizeError::Overflow));
        // Four times this fits; only the padding wraps.
        let bytes = tensor_bytes(DType::F32, &[(1 << 62) - 1, 1, 1, 1]).unwrap();
        assert_eq!(padded(bytes, 32), Err(SizeError::Overflow));
        assert_eq!(sum(u64::MAX, 1), Err(SizeError::Overflow));
    }

    #[test]
    fn zero_beats_overflow() {
        assert_eq!(elements(&[u64::MAX, u64::MAX, 0, 7]), Ok(0));
        assert_eq!(tensor_bytes(DType::F32, &[4, 0, 1, 1]), Ok(0));
    }

    #[test]
    fn blocks_must_divide() {
        assert_eq!(row_bytes(DType::Q4_0, 64), Ok(36));
        assert!(matches!(row_bytes(DType::Q4_0, 33), Err(SizeError::Block { ne0: 33, .. })));
        assert_eq!(padded(33, 24), Err(SizeError::Align { align: 24 }));
        assert_eq!(padded(0, 0), Err(SizeError::Align { align: 0 }));
    }
}
