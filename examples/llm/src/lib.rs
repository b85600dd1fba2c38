//! Llama-family language models on dinrail, for machines from a microcontroller to a desktop.
//!
//! Nothing here needs a heap unless the feature `std` is on: vocabularies are read where they lie
//! (flash, a memory map), and every piece of working memory is handed in by the caller, with an
//! error that names both sizes when it is too small.
//!
//! * [`tokenizer`]: text to token ids and back
//! * [`model`]: a model file to a graph
//! * [`session`]: token ids to logits, position after position
//! * [`sampler`]: logits to the next token id
//! * `flash` (feature `flash`): all of it made at compile time, for firmware
#![no_std]
#![forbid(unsafe_code)]
#![deny(missing_docs)]

#[cfg(any(feature = "std", test))]
extern crate std;

#[cfg(feature = "flash")]
pub mod flash;
pub mod model;
pub mod sampler;
pub mod session;
pub mod tokenizer;

#[doc(hidden)]
#[cfg(feature = "flash")]
pub mod __private {
    pub use dinrail;
}
