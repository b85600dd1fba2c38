//! SIMD CPU backend, `no_std`, without a heap.
//!
//! | file | what |
//! |---|---|
//! | `backend`, `device`, `buffer_type`, `stream` | the hardware interface |
//! | `execute` | a program's nodes on one worker or a team |
//! | `fixed` | kernels resolved at compile time, for firmware |
//! | `cost` | which nodes are too small to be worth a team |
//! | `level`, `detect`, `brand` | what this machine is and can run |
//! | `kernels` | the operations, one family per file |
#![no_std]
#![warn(missing_docs)]

#[cfg(any(test, feature = "std"))]
extern crate std;

#[cfg(target_endian = "big")]
compile_error!(
    "dinrail-cpu reads tensors in the machine's own byte order, and ggml's is little-endian"
);

mod backend;
mod brand;
mod buffer_type;
mod cost;
mod detect;
mod device;
mod execute;
pub mod fixed;
mod kernel;
mod kernels;
mod level;
mod stream;

pub use backend::{Backend, Services};
pub use buffer_type::HostMemory;
pub use detect::{level, limit};
pub use device::Device;
pub use fixed::{Fixed, Memory, Port};
pub use kernel::{Args, Kernel, Operand};
pub use kernels::{resolve, scratch};
pub use level::Level;
