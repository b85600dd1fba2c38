//! `empty`, and a backend that is registered and looked up: what the table itself costs. (The CPU backend in the table
//! brings its kernels along, as a stream may need any of them.)
#![no_std]
#![no_main]

use cortex_m_rt::entry;
use dinrail::hal::{Backend, Device};
use dinrail::registry::Registry;

/// A backend without devices.
struct Nothing;

impl Backend for Nothing {
    fn name(&self) -> &str {
        "nothing"
    }
    fn device_count(&self) -> usize {
        0
    }
    fn device(&'static self, _: usize) -> Option<&'static dyn Device> {
        None
    }
}

static REGISTRY: Registry = Registry::new(&[&Nothing]);

#[entry]
fn main() -> ! {
    let name = core::hint::black_box("NOTHING");
    let found = REGISTRY.backend_by_name(name);
    firmware_cortex_m::exit(found.is_some())
}
