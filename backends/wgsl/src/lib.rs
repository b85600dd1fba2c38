//! Compute kernels in WGSL, and everything about launching them that needs no device.
//!
//! Shared by the backends whose devices run translated WGSL (Vulkan: SPIR-V; Metal: MSL):
//!
//! * [`KERNELS`], the one table of what there is: family, element types, features that a variant needs. A device supports
//!   exactly what [`launch`] finds in it.
//! * [`launch`]: from a node to a kernel, its [`Args`] and the number of workgroups.
//! * [`Job`]: the same for a node of a program, with what the bindings are bound to.
//! * [`Hazards`]: when a barrier is needed between launches.
//! * `source` and `translate` (features of the same names): the text of each kernel, and its translation to SPIR-V and
//!   to the Metal shading language, for build scripts.
//!
//! # Bindings
//!
//! | binding | what |
//! |---|---|
//! | 0 | uniform: [`Args`] of up to [`LAUNCHES`] launches; which of them is a launch's own says its workgroups' third number |
//! | 1 | the result, as 32-bit words (or halfs, in variants with native ones) |
//! | 2 to 6 | sources 0 to 4, likewise |
//!
//! A binding may begin anywhere before its tensor; [`Args::move_by`] says how many bytes. A source that a kernel has a
//! binding for and a node lacks is bound to anything. Words that reach over a tensor's end may be read, never written.
#![no_std]
#![forbid(unsafe_code)]
#![warn(missing_docs)]

#[cfg(feature = "source")]
extern crate alloc;
#[cfg(feature = "translate")]
extern crate std;

mod args;
mod hazard;
mod job;
mod launch;
#[cfg(feature = "source")]
pub mod source;
mod table;
#[cfg(feature = "translate")]
pub mod translate;

/// Launches whose arguments lie side by side in one binding: as many as every device takes in a uniform.
pub const LAUNCHES: usize = 64;

pub use args::Args;
pub use hazard::{Hazards, Range};
pub use job::{BINDINGS, Bound, Job, Room};
pub use launch::{Launch, Limits, launch, worth_copying};
pub use table::{Family, Features, KERNELS, Kernel};
