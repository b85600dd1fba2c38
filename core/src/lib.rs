//! Tensor-compute core for programs that must fit.
#![no_std]
#![warn(missing_docs)]
#![deny(clippy::std_instead_of_core, clippy::alloc_instead_of_core)]
#![deny(unsafe_code)]

#[cfg(test)]
extern crate std;

pub mod error;
pub mod graph;
pub mod op;
pub mod plan;
pub mod tensor;

pub use error::{Error, Result};
