//! The backend: the system's graphics processors.

use crate::context::limits;
use crate::device::Device;
use dinrail_core::hal;
use objc2_metal::MTLCreateSystemDefaultDevice;
use std::sync::OnceLock;

/// The backend `Metal`, made in a `static`.
pub struct Backend {
    devices: OnceLock<Vec<Device>>,
}

impl core::fmt::Debug for Backend {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Backend").finish_non_exhaustive()
    }
}

impl Backend {
    /// A backend that looks for devices when they are first counted.
    pub const fn new() -> Self {
        Self { devices: OnceLock::new() }
    }

    fn devices(&self) -> &[Device] {
        self.devices.get_or_init(|| {
            #[cfg(target_os = "macos")]
            let found = objc2_metal::MTLCopyAllDevices().to_vec();
            #[cfg(not(target_os = "macos"))]
            let found = Vec::new();
            // Where the system doesn't list devices, it has a default one.
            let found = if found.is_empty() {
                MTLCreateSystemDefaultDevice().into_iter().collect()
            } else {
                found
            };
            let usable = found.into_iter().filter_map(|d| Some((limits(&d)?, d)));
            usable.enumerate().map(|(i, (l, d))| Device::new(i, d, l)).collect()
        })
    }
}

impl Default for Backend {
    fn default() -> Self {
        Self::new()
    }
}

impl hal::Backend for Backend {
    fn name(&self) -> &str {
        "Metal"
    }

    fn device_count(&self) -> usize {
        self.devices().len()
    }

    fn device(&'static self, i: usize) -> Option<&'static dyn hal::Device> {
        let device = self.devices().get(i)?.attach();
        Some(device)
    }
}
