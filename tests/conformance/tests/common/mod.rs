//! What the mounted tests share.
#![allow(dead_code)]

pub use dinrail_host::HEAP;

/// A device or layer for the life of the test program.
pub fn leak<T>(value: T) -> &'static T {
    Box::leak(Box::new(value))
}
