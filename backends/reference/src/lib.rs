//! The oracle: what every operation means, in plain loops with f64 accumulation.
//!
//! Other backends are compared with this one. It computes every operation on every type that core's shape rules let
//! through, reads and writes elements one by one, keeps no state, uses no scratch memory and has no unsafe code. A sum
//! is accumulated in f64 and every function is evaluated in f64; the one rounding is that of the result to its type.
//! Quantised operands are decoded and never quantised further, so the product of a quantised matrix here is what the
//! stored weights say, without the error that 8-bit activations add elsewhere.
//!
//! ```
//! use dinrail_core::hal::{Backend as _, BufferType as _, Device as _};
//! static REFERENCE: dinrail_reference::Backend = dinrail_reference::Backend::new(None);
//! let device = REFERENCE.device(0).unwrap();
//! assert!(device.buffer_type().is_host());
//! ```
#![no_std]
#![forbid(unsafe_code)]
#![warn(missing_docs)]

#[cfg(test)]
extern crate std;

mod backend;
mod buffer_type;
mod device;
mod element;
mod ops;
mod stream;

pub use backend::Backend;
pub use device::Device;
pub use stream::Ops;
