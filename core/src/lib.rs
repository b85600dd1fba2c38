//! Tensor-compute core for programs that must fit.
//!
//! The path of data through it:
//!
//! 1. [`graph`]: a [`Builder`](graph::Builder) checks each operation by its rule in [`op`] and lays down nodes.
//! 2. [`plan`]: lifetimes become offsets in one arena.
//! 3. [`program`]: graph, plan and memory are checked together, once.
//! 4. [`hal`]: a [`Stream`](hal::Stream) of some device computes the program.
//! 5. [`registry`]: which backends and devices there are.
//!
//! Steps 1 and 2 are `const fn`s: a firmware runs them at compile time. No step allocates.
#![no_std]
#![warn(missing_docs)]
#![deny(clippy::std_instead_of_core, clippy::alloc_instead_of_core)]
#![deny(unsafe_code)]
// The code that defmt's derive macro writes spells paths out.
#![cfg_attr(feature = "defmt", allow(unused_qualifications))]

#[cfg(test)]
extern crate std;

pub mod error;
pub mod graph;
pub mod hal;
pub mod log;
pub mod op;
pub mod plan;
pub mod program;
pub mod registry;
pub mod sched;
pub mod sync;
pub mod tensor;
#[cfg(test)]
mod testing;

pub use error::{Error, Result};

/// Version of the interface between core and backends.
pub const INTERFACE_VERSION: u32 = 1;
