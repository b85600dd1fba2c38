//! Metal backend.
//!
//! Kernels, arguments, workgroups and barriers are those of `dinrail-wgsl`, shared with the Vulkan backend and tested
//! there; `build.rs` translates the kernels to the Metal shading language. What is here beside that exists on Apple's
//! systems only: elsewhere the crate has [`msl`], [`family`] and nothing else.
//!
//! ```
//! # #[cfg(target_vendor = "apple")] {
//! use dinrail_core::hal::Backend as _;
//! static METAL: dinrail_metal::Backend = dinrail_metal::Backend::new();
//! assert_eq!(METAL.name(), "Metal");
//! # }
//! ```
#![warn(missing_docs)]

pub mod family;
pub mod msl;

#[cfg(target_vendor = "apple")]
mod backend;
#[cfg(target_vendor = "apple")]
mod buffer_type;
#[cfg(target_vendor = "apple")]
mod context;
#[cfg(target_vendor = "apple")]
mod device;
#[cfg(target_vendor = "apple")]
mod event;
#[cfg(target_vendor = "apple")]
mod memory;
#[cfg(target_vendor = "apple")]
mod recorder;
#[cfg(target_vendor = "apple")]
mod stream;

#[cfg(target_vendor = "apple")]
pub use {backend::Backend, device::Device};
