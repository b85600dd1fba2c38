//! Vulkan backend: any device with Vulkan 1.2, discrete, integrated or in software.
//!
//! The loader library is opened when devices are first counted; without one there are none, and
//! [`Backend::reason`] says why. A logical device is made when it is first used. Whether it is worth counting,
//! [`may_have`](dinrail_core::hal::Backend::may_have) says without opening anything.
//!
//! | file | what |
//! |---|---|
//! | `backend.rs`, `instance.rs`, `physical.rs`, `hardware.rs` | which devices there are |
//! | `device.rs`, `buffer_type.rs`, `stream.rs` | the traits of `dinrail_core::hal` |
//! | `context.rs` | a logical device: queue, timeline, layouts, pipelines |
//! | `api.rs` | the only door to Vulkan's functions |
//! | `memory.rs`, `transfer.rs` | pieces of memory; copies that wait |
//! | `recorder.rs`, `kept.rs` | command buffers, and those that are submitted again |
//! | `spirv.rs` | the kernels' code |
//!
//! Kernels come from `dinrail-wgsl`; `build.rs` translates them to SPIR-V.
//!
//! ```
//! use dinrail_core::hal::Backend as _;
//! static VULKAN: dinrail_vulkan::Backend = dinrail_vulkan::Backend::new();
//! for i in 0..VULKAN.device_count() {
//!     let device = VULKAN.device(i).unwrap();
//!     println!("{}: {}", device.name(), device.description());
//! }
//! ```
#![warn(missing_docs)]

mod api;
mod backend;
mod buffer_type;
mod context;
mod device;
mod hardware;
mod instance;
mod kept;
mod memory;
mod physical;
mod recorder;
mod spirv;
mod stream;
mod transfer;

pub use backend::{Backend, Options};
pub use device::Device;
pub use dinrail_wgsl::Features;
