//! Devices in the ways that tests look at them.
#![allow(dead_code)]

use dinrail_core::hal::{Backend as _, Device};
use dinrail_vulkan::{Backend, Features, Options};

/// With the validation layer looking on, where it is installed.
pub const WATCHED: Options = Options { validate: true, ..Options::DEFAULT };

/// Everything that the device has.
pub static FULL: Backend = Backend::with(WATCHED);
/// As a device without subgroups and 16-bit floats, and with memory that the host can't reach.
pub static PLAIN: Backend =
    Backend::with(Options { map: false, features: Features::NONE, ..WATCHED });

/// The first device; `None`, with a word about it, where there is none.
pub fn device(backend: &'static Backend) -> Option<&'static dyn Device> {
    let device = backend.device(0);
    if device.is_none() {
        println!("skipped: {}", backend.reason().unwrap_or("the first device can't be used"));
    }
    device
}

/// Fails if the validation layer complained.
pub fn silent(backend: &'static Backend) {
    match backend.complaints() {
        Some(n) => assert_eq!(n, 0, "complaints of the validation layer"),
        None => println!("the validation layer is not installed"),
    }
}
