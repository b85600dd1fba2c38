//! SIMD CPU backend, `no_std`.
#![no_std]
#![warn(missing_docs)]

#[cfg(any(test, feature = "std"))]
extern crate std;

mod kernel;
mod kernels;
mod level;

pub use kernel::{Args, Kernel, Operand};
pub use kernels::resolve;
pub use level::Level;
