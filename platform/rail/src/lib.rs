//! Tensor-compute core for programs that must fit.
//!
//! The crate that programs name. It gives [`dinrail_core`] under its own name, and clips on the backends that its Cargo
//! features choose:
//!
//! | feature | what it adds |
//! |---|---|
//! | `std` (default) | `dinrail::host`: memory, threads and file maps, and all CPU levels, chosen at run time |
//! | `cpu` (default), `cpu-avx2`, `cpu-neon`, `cpu-dotprod`, `cpu-helium` | the CPU backend; the levels are for builds without `std` |
//! | `vulkan` | graphics processors through Vulkan, where the machine has a driver |
//! | `metal` | Apple's graphics processors (type-checked, not run) |
//! | `reference` | the slow backend that says what is right |
//! | `null` | the backend that computes nothing |
//! | `dynamic` | `dinrail::loader`: backends from shared libraries, and room in the table for them |
//! | `gguf` | `dinrail::gguf`, the model files |
//! | `defmt`, `log` | core's messages, to either or both |
//!
//! ```
//! for (_, backend) in dinrail::registry().backends() {
//!     for i in 0..backend.device_count() {
//!         if let Some(device) = backend.device(i) {
//!             println!("{}: {}", device.name(), device.description());
//!         }
//!     }
//! }
//! ```
//!
//! Without any backend the table is empty, and everything else is still there.
#![no_std]
#![warn(missing_docs)]

#[cfg(feature = "std")]
extern crate std;

#[cfg(feature = "std")]
pub mod environment;
#[cfg(feature = "dynamic")]
pub mod loader;
#[cfg(feature = "cpu")]
pub mod static_plan;
mod table;

#[doc(inline)]
pub use dinrail_core::*;
pub use table::{BACKENDS, FEATURES, REGISTRY, SLOTS, registry};

#[doc(inline)]
pub use dinrail_bare as bare;
#[cfg(feature = "cpu")]
#[doc(inline)]
pub use dinrail_cpu as cpu;
#[cfg(feature = "dynamic")]
#[doc(inline)]
pub use dinrail_ggml as ggml;
#[cfg(feature = "gguf")]
#[doc(inline)]
pub use dinrail_gguf as gguf;
#[cfg(feature = "std")]
#[doc(inline)]
pub use dinrail_host as host;
