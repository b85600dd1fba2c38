//! A file in memory.

use dinrail_core::tensor::size::to_usize;

use crate::error::Error;
use crate::header::{Header, Metadata, getters, metadata_getters};
use crate::order::STACK_SCRATCH;
use crate::tensor::{Info, Tensor, Tensors};
use crate::value::{Array, Value};

/// A GGUF file in a slice, at any alignment. Borrows the slice and nothing else; freely copied.
#[derive(Clone, Copy, Debug)]
pub struct File<'a> {
    header: Header<'a>,
    bytes: Bytes<'a>,
}

/// Keeps `Debug` from printing a model.
#[derive(Clone, Copy)]
struct Bytes<'a>(&'a [u8]);

impl core::fmt::Debug for Bytes<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{} bytes", self.0.len())
    }
}

impl<'a> File<'a> {
    /// Checks a whole file; see [what that promises](crate#what-a-parsed-file-promises).
    ///
    /// # Errors
    ///
    /// Whatever is wrong first. [`Error::Scratch`] means that only the memory is lacking: see
    /// [scratch memory](crate#scratch-memory).
    pub const fn parse(bytes: &'a [u8]) -> Result<Self, Error> {
        Self::parse_with(bytes, &mut [0; STACK_SCRATCH])
    }

    /// [`parse`](File::parse) with the caller's scratch memory, whose contents do not matter. One word for each
    /// key or tensor, whichever are more, makes the check near-linear.
    pub const fn parse_with(bytes: &'a [u8], scratch: &mut [u32]) -> Result<Self, Error> {
        let header = tri!(Header::parse_with(bytes, bytes.len() as u64, scratch));
        Ok(File { header, bytes: Bytes(bytes) })
    }

    /// The header alone.
    pub const fn header(&self) -> &Header<'a> {
        &self.header
    }

    /// The whole file.
    pub const fn as_bytes(&self) -> &'a [u8] {
        self.bytes.0
    }

    /// 2 or 3.
    pub const fn version(&self) -> u32 {
        self.header.version()
    }

    /// The alignment of tensor data in the file, in bytes: a power of two.
    pub const fn alignment(&self) -> u32 {
        self.header.alignment()
    }

    /// Where the data section starts, from the start of the file.
    pub const fn data_offset(&self) -> u64 {
        self.header.data_offset()
    }

    /// The keys and their values, in the file's order.
    pub const fn metadata(&self) -> Metadata<'a> {
        self.header.metadata()
    }

    /// The value of `key`: O(n), reading over all keys before it and over their strings.
    pub const fn get(&self, key: &str) -> Option<Value<'a>> {
        self.header.get(key)
    }

    metadata_getters!();

    /// The tensors, in the file's order.
    pub const fn tensors(&self) -> Tensors<'a> {
        Tensors { file: *self, infos: self.header.tensors() }
    }

    /// The tensor of this name: O(n). [`Header::index`] with [`with_bytes`](File::with_bytes) is faster for
    /// many.
    pub const fn tensor(&self, name: &str) -> Option<Tensor<'a>> {
        match self.header.tensor(name) {
            Some(info) => Some(self.with_bytes(info)),
            None => None,
        }
    }

    /// A description of this file's header together with the tensor's bytes. One that is of another file and
    /// does not fit this one gets no bytes.
    pub const fn with_bytes(&self, info: Info<'a>) -> Tensor<'a> {
        let Info { name, dtype, n_dims, ne, offset, size, .. } = info;
        let data = match (to_usize(offset), to_usize(size)) {
            (Ok(offset), Ok(size)) => match self.bytes.0.split_at_checked(offset) {
                Some((_, rest)) => match rest.split_at_checked(size) {
                    Some((data, _)) => data,
                    None => &[],
                },
                None => &[],
            },
            _ => &[],
        };
        Tensor { name, dtype, n_dims, ne, offset, size, data }
    }
}
