//! GGUF, versions 2 and 3: a zero-copy reader without a heap, and a writer behind `std`.
//!
//! * [`File`] reads a slice that holds the whole file, at any alignment: flash, `include_bytes!`, a memory map.
//! * [`Header`] reads only the head of a file through [`ReadAt`], for files that do not fit in memory.
//! * `Writer` (feature `std`) writes version 3.
//!
//! There is one parser and all of it is `const fn`. Firmware can find its tensors while it is compiled, and a
//! file that is wrong is then a compile error:
//!
//! ```
//! # macro_rules! model { () => { include_bytes!("../../../examples/models/stories260K-Q8_0.gguf") } }
//! use dinrail_gguf as gguf;
//! const MODEL: &[u8] = model!();
//! const Q: gguf::Tensor<'static> = gguf::tensor!(MODEL, "blk.0.attn_q.weight");
//! const FILE: gguf::File<'static> = match gguf::File::parse(MODEL) {
//!     Ok(file) => file,
//!     Err(_) => panic!("damaged model"),
//! };
//! const LAYERS: u32 = FILE.u32("llama.block_count").unwrap();
//! assert_eq!((Q.ne, LAYERS), ([64, 64, 1, 1], 5));
//! ```
//!
//! # What a parsed file promises
//!
//! A [`File`] or [`Header`] exists only if every check passed, so its accessors do not fail later:
//!
//! * counts, string lengths and array lengths fit in the bytes that are left;
//! * keys and tensor names are UTF-8, not empty, at most [`MAX_KEY`] and [`MAX_NAME`] bytes, and unique;
//! * value types and tensor types are known ones; arrays are flat; bools are 0 or 1;
//! * `general.alignment` is a `u32` and a power of two, or absent (32);
//! * each tensor has at most four dimensions, whole blocks in a row, an offset that is a multiple of the
//!   alignment, lies inside the file, and overlaps no other tensor.
//!
//! Nothing is reserved in proportion to a field of the file, nothing recurses, nothing panics.
//!
//! # Limits
//!
//! * Big-endian files are recognised and refused. Big-endian *hosts* read little-endian files.
//! * Version 1 (32-bit lengths) is refused.
//! * The header, that is everything before the tensor data, ends before 4 GiB.
//! * A memory-mapped file that another process shortens while it is mapped faults on the next touch. No parser
//!   can catch that: map a private copy, or read the tensors through [`ReadAt`], where it is an error value.
//!
//! # Scratch memory
//!
//! Unique names and tensors that do not overlap are checked with a sort over 32-bit positions. [`File::parse`]
//! keeps [`STACK_SCRATCH`] of them on the stack and makes more passes over the header when there are more
//! names than that; [`File::parse_with`] takes the caller's memory, and one word for each key or tensor
//! (whichever are more) makes it one pass. When the passes would add up to more than [`MAX_REREAD`] bytes of
//! header, the answer is [`Error::Scratch`], which says how many words are enough.
#![no_std]
#![warn(missing_docs)]
#![forbid(unsafe_code)]
#![deny(clippy::std_instead_of_core, clippy::alloc_instead_of_core)]

#[cfg(any(test, feature = "std"))]
extern crate std;

/// `?` for `const fn`.
macro_rules! tri {
    ($e:expr) => {
        match $e {
            Ok(v) => v,
            Err(e) => return Err(e),
        }
    };
}

mod constant;
mod cursor;
mod error;
mod file;
mod header;
mod order;
mod source;
mod tensor;
mod value;
#[cfg(feature = "std")]
mod write;

pub use constant::{f32_at, tensor_at, u32_at};
pub use cursor::{MAX_KEY, MAX_NAME};
pub use error::{Counted, Described, Error, Item};
pub use file::File;
pub use header::{DEFAULT_ALIGNMENT, Header, Metadata};
pub use order::{Index, MAX_REREAD, STACK_SCRATCH};
pub use source::{ReadAt, ReadError, read_exact_at};
pub use tensor::{Info, Infos, Tensor, Tensors};
pub use value::{Array, Element, Elements, Kind, Str, Strs, Value, Values};
#[cfg(feature = "std")]
pub use write::{WriteError, Writer, replace_file};
