//! The backend to copy: it counts calls and computes nothing.
//!
//! To write a backend, copy this folder, rename the package, and go through the files from top to bottom. Each implements
//! one trait of `dinrail_core::hal`, with the methods in the trait's order, and its comments say what yours must do in
//! that place. The trait's own documentation is the contract. Every backend has the same files:
//!
//! | file | trait | here |
//! |---|---|---|
//! | `backend.rs` | [`hal::Backend`](dinrail_core::hal::Backend) | names the devices |
//! | `device.rs` | [`hal::Device`](dinrail_core::hal::Device) | says yes or no to every node |
//! | `buffer_type.rs` | [`hal::BufferType`](dinrail_core::hal::BufferType) | memory that forgets |
//! | `stream.rs` | [`hal::StreamOps`](dinrail_core::hal::StreamOps) | computes nothing |
//!
//! Then mount the conformance suite: `tests/conformance` runs every case on any `&'static dyn Device`.
//!
//! As it stands, the backend serves tests of whatever sits above a device: registries, schedulers, planners. It needs no
//! heap and no state that grows.
//!
//! ```
//! use dinrail_core::hal::{Backend as _, Buffer, Device as _, Params};
//! use dinrail_null::{Backend, Calls, Config};
//!
//! static CALLS: Calls = Calls::new();
//! static NULL: Backend = Backend::new(Config { calls: Some(&CALLS), ..Config::DEFAULT });
//! let device = NULL.device(0).unwrap();
//! let stream = device.open(&Params::default())?;
//! let buffer = Buffer::new(device.buffer_type(), 1 << 30)?; // costs nothing
//! assert_eq!(CALLS.alloc.count(), 1);
//! # Ok::<(), dinrail_core::Error>(())
//! ```
#![no_std]
#![forbid(unsafe_code)]
#![warn(missing_docs)]

#[cfg(test)]
extern crate std;

mod backend;
mod buffer_type;
mod calls;
mod device;
mod stream;

pub use backend::{Backend, Config};
pub use buffer_type::Memory;
pub use calls::{Calls, Counter};
pub use device::Device;
pub use stream::Ops;
