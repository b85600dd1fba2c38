//! What a firmware without an operating system lends to backends: memory that it owns.
//!
//! | need | item |
//! |---|---|
//! | working memory for buffers, from a fixed piece of RAM | [`Arena`], [`static_arena!`] |
//! | an arena whose size the compiler knows | [`Ram`] |
//! | a model in flash, aligned for every kernel | [`include_model!`] |
//!
//! Threads there are none: a backend that is given no threads computes on the core that calls it.
//!
//! Nothing here panics, formats text, or waits.
#![no_std]
#![warn(missing_docs)]
#![cfg_attr(
    not(test),
    deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)
)]

#[cfg(test)]
extern crate std;

mod arena;
mod model;
mod ram;
mod word;

#[doc(hidden)]
pub use arena::Storage;
pub use arena::{ALIGN, Arena};
pub use model::Aligned;
pub use ram::Ram;
