//! What a backend must get right, as data, and a runner that needs neither a heap nor an operating system.
//!
//! A [`Group`] is a product of operations, shapes, types, layouts and values; [`GROUPS`] has all of them and
//! [`cases`] counts them out one by one. [`Suite`] runs cases on a device and on the reference backend and compares:
//!
//! * Where the device says that it `supports` a case, the result must be right: integers exactly, floats within a bound
//!   that follows from element type and accumulation length (see [`tolerance`]), never from the backend's name.
//! * Where it says no, computing must answer [`Unsupported`](dinrail_core::Error::Unsupported) and change nothing.
//! * Either way no byte outside the result may change: sources, and sentinels in front of, between and behind all tensors.
//!
//! A backend mounts the suite with a few lines; see `tests/cpu.rs`. What it is known to fail is told by a list of
//! [`Expect`]ations, which tells *fails for now* from *unsupported for good*; a pass that isn't expected is a failure.
#![no_std]
#![forbid(unsafe_code)]
#![warn(missing_docs)]

#[cfg(test)]
extern crate std;

mod case;
mod compare;
mod expect;
mod fill;
pub mod groups;
mod image;
mod run;
pub mod table;
pub mod tolerance;

pub use case::{Case, Group, Layout, NO, Shape, Tensor};
pub use expect::{Expect, Known};
pub use fill::Fill;
pub use groups::GROUPS;
pub use run::{Failure, Outcome, Report, Suite, Why};

/// Every case of every group.
pub fn cases() -> impl Iterator<Item = Case> {
    GROUPS.iter().flat_map(Group::cases)
}
