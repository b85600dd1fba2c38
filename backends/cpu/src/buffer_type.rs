//! The kind of memory: ordinary host memory, which core has ready.

pub use dinrail_core::hal::HostMemory;

/// Its name.
pub(crate) const NAME: &str = "CPU";
