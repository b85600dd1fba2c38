//! A tensor of a file: its description, and its bytes where the file is in memory.

use core::fmt;

use dinrail_core::tensor::DType;

use crate::cursor::Cursor;
use crate::error::Error;
use crate::file::File;
use crate::header::Header;
use crate::source::{ReadAt, ReadError, read_exact_at};

/// A tensor. `D` is `&[u8]` with its bytes where the whole file is in memory, and `()` where only the header is
/// ([`Info`]).
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Tensor<'a, D = &'a [u8]> {
    /// Its name.
    pub name: &'a str,
    /// The type of its elements.
    pub dtype: DType,
    /// How many dimensions the file gives, 0 to 4.
    pub n_dims: u32,
    /// The lengths, innermost first; 1 from `n_dims` on.
    pub ne: [u64; 4],
    /// Where its bytes start, from the start of the *file*.
    pub offset: u64,
    /// Its size, in bytes, without padding.
    pub size: u64,
    pub(crate) data: D,
}

/// A tensor's description without its bytes.
pub type Info<'a> = Tensor<'a, ()>;

impl<'a> Tensor<'a> {
    /// Its bytes: [`size`](Tensor::size) of them, at any address. Blocks and elements are little-endian.
    pub const fn bytes(&self) -> &'a [u8] {
        self.data
    }

    /// The description alone.
    pub const fn info(&self) -> Info<'a> {
        let Tensor { name, dtype, n_dims, ne, offset, size, .. } = *self;
        Tensor { name, dtype, n_dims, ne, offset, size, data: () }
    }
}

impl Info<'_> {
    /// Reads the tensor's bytes.
    ///
    /// # Errors
    ///
    /// [`Error::BufferSize`] unless `into` is [`size`](Tensor::size) bytes long; what the source answers;
    /// [`Error::SourceEnded`] if it has become shorter. `into` is then partly written.
    pub fn read<S: ReadAt + ?Sized>(
        &self,
        source: &mut S,
        into: &mut [u8],
    ) -> Result<(), ReadError<S::Error>> {
        if into.len() as u64 != self.size {
            return Err(Error::BufferSize { size: self.size, buffer: into.len() as u64 }.into());
        }
        read_exact_at(source, self.offset, into)
    }
}

impl<D> fmt::Debug for Tensor<'_, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tensor")
            .field("name", &self.name)
            .field("dtype", &self.dtype)
            .field("ne", &self.ne)
            .field("offset", &self.offset)
            .field("size", &self.size)
            .finish()
    }
}

/// Iterator over the tensors of a [`Header`], in the file's order.
#[derive(Clone)]
pub struct Infos<'a> {
    pub(crate) header: Header<'a>,
    pub(crate) at: Cursor<'a>,
    pub(crate) left: u32,
}

impl<'a> Iterator for Infos<'a> {
    type Item = Info<'a>;

    fn next(&mut self) -> Option<Info<'a>> {
        self.left = self.left.checked_sub(1)?;
        self.header.next_info(&mut self.at)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left as usize, Some(self.left as usize))
    }
}

impl ExactSizeIterator for Infos<'_> {}

/// Iterator over the tensors of a [`File`], in the file's order.
#[derive(Clone)]
pub struct Tensors<'a> {
    pub(crate) file: File<'a>,
    pub(crate) infos: Infos<'a>,
}

impl<'a> Iterator for Tensors<'a> {
    type Item = Tensor<'a>;

    fn next(&mut self) -> Option<Tensor<'a>> {
        self.infos.next().map(|info| self.file.with_bytes(info))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.infos.size_hint()
    }
}

impl ExactSizeIterator for Tensors<'_> {}
