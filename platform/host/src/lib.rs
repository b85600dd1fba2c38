//! What a desktop lends to backends and programs: memory, threads, files mapped into memory.
//!
//! | concept | where |
//! |---|---|
//! | memory for buffers | [`HEAP`], counted |
//! | worker threads | [`THREADS`]: teams that sleep when there is no work |
//! | a model file as bytes | [`map::Mapped`] |
//! | backends from shared libraries | [`loader`] |
//!
//! [`HEAP`] and [`THREADS`] are statics without a constructor, so that a backend can be given them in a `const`.
#![warn(missing_docs)]

mod barrier;
mod cores;
mod heap;
pub mod loader;
pub mod map;
mod memory;
mod park;
mod pool;
mod sync;
mod threads;

pub use heap::{HEAP, Heap};
pub use memory::{Memory, memory};
pub use threads::{MAX_THREADS, THREADS, Threads};

#[cfg(loom)]
#[doc(hidden)]
pub mod model {
    //! The parts that the model checker runs.
    pub use crate::barrier::Barrier;
    pub use crate::pool::Shared;
}
