//! The backend: one device.

use crate::Device;
use dinrail_core::hal;
use dinrail_core::hal::host::Heap;

/// The backend `Reference`, made in a `const` or a `static`.
#[derive(Debug)]
pub struct Backend {
    device: Device,
}

impl Backend {
    /// A backend that takes its buffers from `heap`. Without one it computes on memory that the program lends.
    pub const fn new(heap: Option<&'static dyn Heap>) -> Self {
        Self { device: Device::new(heap) }
    }
}

impl hal::Backend for Backend {
    fn name(&self) -> &str {
        "Reference"
    }

    fn device_count(&self) -> usize {
        1
    }

    fn device(&'static self, i: usize) -> Option<&'static dyn hal::Device> {
        (i == 0).then_some(&self.device)
    }
}
