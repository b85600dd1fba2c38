//! A tensor's type, lengths and strides.

use super::DType;
use super::size::{self, SizeError};

/// Type, lengths and strides of a tensor. `ne[0]` is the innermost length in elements, `nb[i]` the distance in
/// bytes between neighbours along dimension `i`; both as in ggml. For a type with blocks, `nb[0]` is the distance
/// between blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Desc {
    /// Lengths, innermost first; unused dimensions are 1.
    pub ne: [usize; 4],
    /// Strides in bytes.
    pub nb: [usize; 4],
    /// Element type.
    pub dtype: DType,
}

impl Desc {
    /// A contiguous tensor.
    ///
    /// # Errors
    /// A row that is no whole number of blocks, or a size that does not fit `usize`.
    pub const fn new(dtype: DType, ne: [usize; 4]) -> Result<Self, SizeError> {
        let wide = [ne[0] as u64, ne[1] as u64, ne[2] as u64, ne[3] as u64];
        match size::tensor_bytes(dtype, &wide) {
            Ok(n) => {
                if let Err(e) = size::to_usize(n) {
                    return Err(e);
                }
            }
            Err(e) => return Err(e),
        }
        Ok(Self { ne, nb: packed(dtype, &ne), dtype })
    }

    /// A contiguous tensor of one dimension.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub const fn d1(dtype: DType, n: usize) -> Result<Self, SizeError> {
        Self::new(dtype, [n, 1, 1, 1])
    }

    /// A contiguous tensor of two dimensions, `ne0` innermost.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub const fn d2(dtype: DType, ne0: usize, ne1: usize) -> Result<Self, SizeError> {
        Self::new(dtype, [ne0, ne1, 1, 1])
    }

    /// Lengths as 64-bit numbers, for [`size`].
    pub const fn ne64(&self) -> [u64; 4] {
        [self.ne[0] as u64, self.ne[1] as u64, self.ne[2] as u64, self.ne[3] as u64]
    }

    /// Number of elements.
    pub const fn elements(&self) -> usize {
        // A Desc is only made with lengths whose product was checked; views keep at most that many elements,
        // and `checked_span` refuses the others.
        self.ne[0].wrapping_mul(self.ne[1]).wrapping_mul(self.ne[2]).wrapping_mul(self.ne[3])
    }

    /// Number of rows: the product of the outer three lengths.
    pub const fn rows(&self) -> usize {
        self.ne[1].wrapping_mul(self.ne[2]).wrapping_mul(self.ne[3])
    }

    /// Whether there is no element.
    pub const fn is_empty(&self) -> bool {
        self.ne[0] == 0 || self.ne[1] == 0 || self.ne[2] == 0 || self.ne[3] == 0
    }

    /// Bytes of one row, without gaps.
    pub const fn row_bytes(&self) -> usize {
        self.ne[0] / self.dtype.block_len() * self.dtype.block_bytes()
    }

    /// Bytes from the first to the last element, gaps included; 0 for an empty tensor, however large its
    /// other lengths are.
    pub const fn bytes(&self) -> usize {
        match self.checked_span() {
            Ok(n) => n,
            Err(_) => usize::MAX,
        }
    }

    /// [`bytes`](Self::bytes), where lengths or strides came from outside and may wrap.
    ///
    /// # Errors
    /// [`SizeError::Overflow`], or a row that is no whole number of blocks.
    pub const fn checked_span(&self) -> Result<usize, SizeError> {
        if self.is_empty() {
            return Ok(0);
        }
        let block = self.dtype.block_len();
        if !self.ne[0].is_multiple_of(block) {
            return Err(SizeError::Block { dtype: self.dtype, ne0: self.ne[0] as u64 });
        }
        let mut total = self.dtype.block_bytes();
        let mut steps = self.ne[0] / block;
        let mut i = 0;
        loop {
            match (steps - 1).checked_mul(self.nb[i]) {
                Some(n) => match total.checked_add(n) {
                    Some(sum) => total = sum,
                    None => return Err(SizeError::Overflow),
                },
                None => return Err(SizeError::Overflow),
            }
            i += 1;
            if i == 4 {
                break;
            }
            steps = self.ne[i];
        }
        // The element count must fit as well, for strides may be zero.
        match size::elements(&self.ne64()) {
            Ok(n) if n <= usize::MAX as u64 => Ok(total),
            _ => Err(SizeError::Overflow),
        }
    }

    /// Number of dimensions in use (at least 1).
    pub const fn dims(&self) -> usize {
        let mut d = 4;
        while d > 1 && self.ne[d - 1] == 1 {
            d -= 1;
        }
        d
    }

    /// Whether elements follow each other without gaps, in order.
    pub const fn is_contiguous(&self) -> bool {
        let want = packed(self.dtype, &self.ne);
        if self.is_empty() {
            return true;
        }
        let mut i = 0;
        while i < 4 {
            let len = if i == 0 { self.ne[0] / self.dtype.block_len() } else { self.ne[i] };
            if len != 1 && self.nb[i] != want[i] {
                return false;
            }
            i += 1;
        }
        true
    }

    /// Whether each row is without gaps (rows themselves may lie anywhere).
    pub const fn rows_contiguous(&self) -> bool {
        self.nb[0] == self.dtype.block_bytes() || self.ne[0] == self.dtype.block_len()
    }

    /// Whether the strides are not in rising order.
    pub const fn is_permuted(&self) -> bool {
        self.nb[0] > self.nb[1] || self.nb[1] > self.nb[2] || self.nb[2] > self.nb[3]
    }

    /// Whether both have the same lengths.
    pub const fn same_shape(&self, other: &Desc) -> bool {
        self.ne[0] == other.ne[0]
            && self.ne[1] == other.ne[1]
            && self.ne[2] == other.ne[2]
            && self.ne[3] == other.ne[3]
    }

    /// Whether both have the same type, lengths and strides, so that one can take the other's memory.
    pub const fn same_layout(&self, other: &Desc) -> bool {
        self.dtype as u8 == other.dtype as u8
            && self.same_shape(other)
            && self.nb[0] == other.nb[0]
            && self.nb[1] == other.nb[1]
            && self.nb[2] == other.nb[2]
            && self.nb[3] == other.nb[3]
    }

    /// Whether `self`, repeated a whole number of times along each dimension, gives `other`'s shape.
    pub const fn repeats_to(&self, other: &Desc) -> bool {
        if self.is_empty() {
            return other.is_empty();
        }
        other.ne[0].is_multiple_of(self.ne[0])
            && other.ne[1].is_multiple_of(self.ne[1])
            && other.ne[2].is_multiple_of(self.ne[2])
            && other.ne[3].is_multiple_of(self.ne[3])
    }

    /// Whether this is a single element.
    pub const fn is_scalar(&self) -> bool {
        self.ne[0] == 1 && self.ne[1] == 1 && self.ne[2] == 1 && self.ne[3] == 1
    }

    /// Whether the outer dimensions 2 and 3 are 1.
    pub const fn is_matrix(&self) -> bool {
        self.ne[2] == 1 && self.ne[3] == 1
    }

    /// Whether the outer three dimensions are 1.
    pub const fn is_vector(&self) -> bool {
        self.ne[1] == 1 && self.is_matrix()
    }

    /// Byte offset of the row `(i1, i2, i3)`.
    #[inline]
    pub const fn row_offset(&self, i1: usize, i2: usize, i3: usize) -> usize {
        i1.wrapping_mul(self.nb[1])
            .wrapping_add(i2.wrapping_mul(self.nb[2]))
            .wrapping_add(i3.wrapping_mul(self.nb[3]))
    }
}

/// Strides of a contiguous tensor.
pub(crate) const fn packed(dtype: DType, ne: &[usize; 4]) -> [usize; 4] {
    let nb0 = dtype.block_bytes();
    let nb1 = nb0.wrapping_mul(ne[0] / dtype.block_len());
    let nb2 = nb1.wrapping_mul(ne[1]);
    [nb0, nb1, nb2, nb2.wrapping_mul(ne[2])]
}
