//! What can be wrong with a file, and how to say it in one line.

use core::fmt;

use dinrail_core::tensor::size::SizeError;

use crate::cursor::Cursor;

/// A key or a tensor: which one, and where it is described.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Item {
    /// Its number in the file, from 0.
    pub index: u32,
    /// The byte at which its entry starts: the length of its name, then the name.
    pub at: u32,
}

/// What a count field counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counted {
    /// Metadata keys.
    Keys,
    /// Tensors.
    Tensors,
    /// Elements of a metadata array.
    Elements,
}

/// Why a file is refused. `at` is a byte offset from the start of the file.
///
/// `Display` is one line; [`describe`](Error::describe) also prints the name of the tensor or key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The file does not begin with `GGUF`.
    Magic {
        /// What it begins with.
        found: [u8; 4],
    },
    /// A big-endian file.
    BigEndian {
        /// Its version.
        version: u32,
    },
    /// Neither version 2 nor 3.
    Version {
        /// The version found.
        version: u32,
    },
    /// A field ends past the end of the file.
    Truncated {
        /// Where the field starts.
        at: u64,
        /// How many bytes it has.
        need: u64,
        /// How long the file is.
        len: u64,
    },
    /// The header is longer than the bytes at hand, and the file goes on after them.
    NeedMore {
        /// At least this many bytes from the start of the file are needed.
        bytes: u64,
    },
    /// The source returned no bytes before the length that it reports.
    SourceEnded {
        /// Where it ended.
        at: u64,
        /// The length that it reports.
        len: u64,
    },
    /// More things announced than the rest of the file could hold.
    Count {
        /// What is counted.
        what: Counted,
        /// Where the count is stored.
        at: u64,
        /// The count.
        count: u64,
        /// How many bytes are left for them.
        left: u64,
    },
    /// The header does not end before 4 GiB.
    HeaderTooLarge,
    /// A key or tensor name without a single byte.
    EmptyName {
        /// Where its length is stored.
        at: u64,
    },
    /// A key or tensor name over its limit.
    NameTooLong {
        /// Where its length is stored.
        at: u64,
        /// Its length, in bytes.
        len: u64,
        /// The limit, in bytes.
        max: u64,
    },
    /// A key or tensor name that is not UTF-8.
    NotUtf8 {
        /// The key or tensor.
        item: Item,
    },
    /// A type id that no metadata value has.
    ValueType {
        /// Where the id is stored.
        at: u64,
        /// The id.
        id: u32,
    },
    /// An array whose elements are arrays.
    NestedArray {
        /// Where the element type is stored.
        at: u64,
    },
    /// A bool that is neither 0 nor 1.
    Bool {
        /// Where it is stored.
        at: u64,
        /// What is stored.
        value: u8,
    },
    /// `general.alignment` is not a `u32`.
    AlignmentType {
        /// Where its type is stored.
        at: u64,
        /// The type id.
        id: u32,
    },
    /// `general.alignment` is not a power of two.
    Alignment {
        /// Where its type is stored.
        at: u64,
        /// The value.
        value: u32,
    },
    /// Two keys are equal.
    DuplicateKey {
        /// The one that comes first in the file.
        first: Item,
        /// The other.
        second: Item,
    },
    /// Two tensors have one name.
    DuplicateTensor {
        /// The one that comes first in the file.
        first: Item,
        /// The other.
        second: Item,
    },
    /// A tensor with more than four dimensions.
    Dimensions {
        /// The tensor.
        tensor: Item,
        /// How many it has.
        n_dims: u32,
    },
    /// A tensor type that is unknown, that ggml has removed, or that dinrail does not have.
    TensorType {
        /// The tensor.
        tensor: Item,
        /// The type's number.
        id: u32,
    },
    /// A tensor whose size can't be computed, padded, or added to the others.
    Size {
        /// The tensor.
        tensor: Item,
        /// What went wrong.
        error: SizeError,
    },
    /// An offset that is not a multiple of the alignment.
    Misaligned {
        /// The tensor.
        tensor: Item,
        /// Its offset in the data section.
        offset: u64,
        /// The file's alignment.
        alignment: u32,
    },
    /// A tensor that does not lie inside the file.
    OutOfFile {
        /// The tensor.
        tensor: Item,
        /// Its offset in the data section.
        offset: u64,
        /// Its size, in bytes.
        size: u64,
        /// How many bytes the data section has.
        data_len: u64,
    },
    /// Two tensors share bytes.
    Overlap {
        /// The one with the lower offset.
        first: Item,
        /// The other.
        second: Item,
    },
    /// Too many names to compare in the scratch memory given.
    Scratch {
        /// This many words are enough.
        words: u32,
    },
    /// No such key or tensor; from the `*_at` functions only.
    NotFound,
    /// The key holds a value of another type; from the `*_at` functions only.
    WrongType,
    /// A destination buffer that is not as long as the tensor.
    BufferSize {
        /// The tensor's size, in bytes.
        size: u64,
        /// The buffer's length.
        buffer: u64,
    },
}

impl core::error::Error for Error {}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.describe(&[]).fmt(f)
    }
}

impl Error {
    /// The same line as `Display`, with the names of tensors and keys read from the file's bytes (or from its
    /// first bytes: what is not there is left out).
    pub const fn describe<'a>(&self, bytes: &'a [u8]) -> Described<'a> {
        Described { error: *self, bytes }
    }
}

/// An [`Error`] next to the bytes that it is about; made by [`Error::describe`].
#[derive(Clone, Copy)]
pub struct Described<'a> {
    error: Error,
    bytes: &'a [u8],
}

/// A name, as far as it can be printed.
struct Named<'a> {
    what: &'static str,
    item: Item,
    bytes: &'a [u8],
}

impl fmt::Display for Named<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.what, self.item.index)?;
        let mut at = Cursor::open(self.bytes, u64::MAX, self.item.at);
        match at.string() {
            // Long enough for every tensor name; a 64 KiB key would not be one line.
            Ok(name) => write!(f, " \"{}\"", name.get(..80).unwrap_or(name).escape_ascii()),
            Err(_) => write!(f, " (named at byte {})", self.item.at),
        }
    }
}

impl fmt::Display for Described<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tensor = |item| Named { what: "tensor", item, bytes: self.bytes };
        let key = |item| Named { what: "key", item, bytes: self.bytes };
        match self.error {
            Error::Magic { found } => write!(
                f,
                "not a GGUF file: it begins with \"{}\" instead of \"GGUF\"",
                found.escape_ascii()
            ),
            Error::BigEndian { version } => write!(
                f,
                "big-endian GGUF file (version {version}): convert it to little-endian first"
            ),
            Error::Version { version } => write!(
                f,
                "GGUF version {version} is not supported: convert the file to version 2 or 3"
            ),
            Error::Truncated { at, need, len } => write!(
                f,
                "file too short: {need} bytes are needed at byte {at}, the file has {len}; fetch it again"
            ),
            Error::NeedMore { bytes } => {
                write!(f, "the header does not fit in the buffer: pass at least {bytes} bytes")
            }
            Error::SourceEnded { at, len } => write!(
                f,
                "the source ended at byte {at} but reports a length of {len}: was it cut while being read?"
            ),
            Error::Count { what, at, count, left } => {
                let what = match what {
                    Counted::Keys => "metadata keys",
                    Counted::Tensors => "tensors",
                    Counted::Elements => "array elements",
                };
                write!(
                    f,
                    "{count} {what} announced at byte {at}, but only {left} bytes follow: damaged file"
                )
            }
            Error::HeaderTooLarge => {
                f.write_str("the header goes past 4 GiB: move large metadata out of it")
            }
            Error::EmptyName { at } => write!(f, "empty name at byte {at}: damaged file"),
            Error::NameTooLong { at, len, max } => {
                write!(f, "name of {len} bytes at byte {at}: at most {max} are allowed, rename it")
            }
            Error::NotUtf8 { item } => {
                let name = Named { what: "entry", item, bytes: self.bytes };
                write!(f, "name of {name} is not UTF-8: rename it")
            }
            Error::ValueType { at, id } => write!(
                f,
                "unknown metadata type {id} at byte {at}: damaged or newer file (types are 0 to 12)"
            ),
            Error::NestedArray { at } => {
                write!(f, "array of arrays at byte {at}: only flat arrays are supported")
            }
            Error::Bool { at, value } => {
                write!(f, "bool {value} at byte {at}: must be 0 or 1")
            }
            Error::AlignmentType { at, id } => {
                write!(f, "general.alignment at byte {at} has metadata type {id}: must be u32 (4)")
            }
            Error::Alignment { at, value } => {
                write!(f, "general.alignment at byte {at} is {value}: must be a power of two")
            }
            Error::DuplicateKey { first, second } => {
                write!(f, "{} repeats {}: remove one", key(second), key(first))
            }
            Error::DuplicateTensor { first, second } => {
                write!(f, "{} has the name of {}: rename one", tensor(second), tensor(first))
            }
            Error::Dimensions { tensor: t, n_dims } => {
                write!(f, "{} has {n_dims} dimensions: at most 4 are supported", tensor(t))
            }
            Error::TensorType { tensor: t, id } => {
                let why = match id {
                    4 | 5 | 31..=33 | 36..=38 => "which ggml has removed",
                    16..=19 | 21 | 22 | 29 => "which is not supported",
                    _ => "which is unknown",
                };
                write!(f, "{} has type {id}, {why}: quantise the model to another", tensor(t))
            }
            Error::Size { tensor: t, error } => write!(f, "{}: {error}", tensor(t)),
            Error::Misaligned { tensor: t, offset, alignment } => write!(
                f,
                "{}: offset {offset} is not a multiple of the alignment {alignment}: damaged file",
                tensor(t)
            ),
            Error::OutOfFile { tensor: t, offset, size, data_len } => write!(
                f,
                "{}: {size} bytes at offset {offset} do not fit in the {data_len} bytes of data: \
                 file cut short? fetch it again",
                tensor(t)
            ),
            Error::Overlap { first, second } => {
                write!(f, "{} overlaps {}: damaged file", tensor(second), tensor(first))
            }
            Error::Scratch { words } => write!(
                f,
                "too many names to compare in this scratch memory: pass {words} words of it"
            ),
            Error::NotFound => f.write_str("no key or tensor of this name in the file"),
            Error::WrongType => f.write_str("the key holds a value of another type"),
            Error::BufferSize { size, buffer } => {
                write!(f, "buffer of {buffer} bytes for a tensor of {size}: they must be equal")
            }
        }
    }
}
