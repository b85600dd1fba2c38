//! Llama-family language models on dinrail, for machines from a microcontroller to a desktop.
//!
//! Nothing here needs a heap unless the feature `std` is on: vocabularies are read where they lie
//! (flash, a memory map), and every piece of working memory is handed in by the caller, with an
//! error that names both sizes when it is too small.
//!
//! * [`tokenizer`]: text to token ids and back
//! * [`sampler`]: logits to the next token id
#![no_std]
#![forbid(unsafe_code)]
#![deny(missing_docs)]

#[cfg(any(feature = "std", test))]
extern crate std;

pub mod sampler;
pub mod tokenizer;
