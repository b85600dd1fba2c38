//! Wrappers round any device. Each is a device itself, so it goes wherever the device went.
//!
//! | layer | what it adds |
//! |---|---|
//! | [`Trace`] | tells a callback, or a [`Recorder`] of fixed size, about every call |
//! | [`Fault`] | fails the n-th call of a chosen kind, and works otherwise |
//! | [`Wall`] | lets the device use no memory but its own, like a graphics card |
//! | [`Validate`] | checks that the device keeps its contract: sentinels round buffers, memory that nothing may write, results that nobody wrote, answers of `supports` that don't hold |
//!
//! All of them are one [`Layer`] with different hooks; write a [`Hook`] of your own for another one. A layer needs `alloc`: it
//! keeps the wrapped device's handles in boxes.
//!
//! ```
//! use dinrail_core::hal::{Backend as _, Buffer};
//! use dinrail_layers::{Kind, Layer, Recorder, Trace};
//! use dinrail_null::{Backend, Config};
//!
//! static NULL: Backend = Backend::new(Config::DEFAULT);
//! static CALLS: Recorder<64> = Recorder::new();
//! let device: &'static _ = Box::leak(Box::new(Layer::new(NULL.device(0).unwrap(), Trace::new(&CALLS))));
//! # use dinrail_core::hal::Device;
//! let buffer = Buffer::new(device.buffer_type(), 100)?;
//! buffer.write(0, &[1, 2, 3])?;
//! assert_eq!(CALLS.calls().nth(1).map(|c| (c.kind, c.bytes)), Some((Kind::Set, 3)));
//! # Ok::<(), dinrail_core::Error>(())
//! ```
//!
//! # What passes a layer by
//!
//! * A layer says that its memory isn't host memory ([`is_host`](dinrail_core::hal::BufferType::is_host)) even where it is:
//!   so core sends every transfer through it. The memory can be reached through a pointer all the same, where it could
//!   before, and what is done through the pointer isn't seen.
//! * Only the main kind of memory is wrapped. Buffers of the device's other kinds, and buffers of host memory that the
//!   caller lends, are the device's own.
#![no_std]
#![warn(missing_docs)]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod buffer_type;
mod call;
mod device;
mod fault;
mod handle;
mod layer;
mod stream;
mod trace;
mod validate;
mod wall;

pub use call::{Call, Kind};
pub use fault::Fault;
pub use layer::{Hook, Layer};
pub use trace::{Recorder, Sink, Trace};
pub use validate::{Validate, Violation};
pub use wall::Wall;
