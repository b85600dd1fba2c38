//! The backend: the devices that the system's Vulkan loader knows.

use crate::device::Device;
use crate::hardware;
use crate::instance::Instance;
use dinrail_core::hal::{self, DeviceKind};
use dinrail_wgsl::Features;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, OnceLock};

/// How to use devices.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Whether the validation layer looks on, where it is installed. For development: it is slow.
    pub validate: bool,
    /// Whether memory is mapped where the device has none of its own, so that transfers are plain copies.
    pub map: bool,
    /// Features that kernels may use, of those that the device has.
    pub features: Features,
    /// Whether devices in software are listed. They come last.
    pub software: bool,
    /// Programs whose command buffers a stream keeps, for when the same comes again; the one used least recently
    /// gives way. 0 keeps none.
    pub keep: usize,
}

impl Options {
    /// Everything that is there, no validation.
    pub const DEFAULT: Self = Self {
        validate: false,
        map: true,
        features: Features::SUBGROUP.or(Features::F16),
        software: true,
        keep: 8,
    };
}

/// The backend `Vulkan`, made in a `static`.
pub struct Backend {
    options: Options,
    found: OnceLock<Result<Found, String>>,
}

struct Found {
    devices: Vec<Device>,
    instance: Arc<Instance>,
}

impl core::fmt::Debug for Backend {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Backend").field("options", &self.options).finish_non_exhaustive()
    }
}

impl Backend {
    /// A backend that looks for devices when they are first counted.
    pub const fn new() -> Self {
        Self::with(Options::DEFAULT)
    }

    /// As [`new`](Self::new), with options.
    pub const fn with(options: Options) -> Self {
        Self { options, found: OnceLock::new() }
    }

    fn found(&self) -> &Result<Found, String> {
        self.found.get_or_init(|| {
            let instance = Arc::new(Instance::open(&self.options)?);
            let physical = instance.devices();
            let listed = physical.into_iter().filter(|p| self.options.software || !p.software);
            let devices: Vec<_> = listed
                .enumerate()
                .map(|(i, p)| Device::new(i, p, &instance, &self.options))
                .collect();
            if devices.is_empty() {
                return Err(String::from("the Vulkan loader knows no device with Vulkan 1.2"));
            }
            Ok(Found { devices, instance })
        })
    }

    /// Why there are no devices; `None` when there are.
    pub fn reason(&self) -> Option<&str> {
        self.found().as_ref().err().map(String::as_str)
    }

    /// The number of complaints that the validation layer has had, and goes on to have until the backend is dropped;
    /// `None` where it doesn't look on.
    pub fn complaints(&self) -> Option<Arc<AtomicUsize>> {
        self.found().as_ref().ok()?.instance.messages()
    }

    /// Makes the `n`-th Vulkan call of a device that can fail return `code`; 0 for none. Says how many calls were left
    /// until the failure that was asked for before. For tests.
    ///
    /// # Errors
    /// The device can't be used at all.
    #[cfg(feature = "fault")]
    pub fn fail(&'static self, device: usize, n: u64, code: i32) -> dinrail_core::Result<u64> {
        Ok(self.context(device)?.api.gate.arm(n, code, false))
    }

    /// As [`fail`](Self::fail), and every call after it fails too, as on a device that is lost, until `fail` or `lose`
    /// is called with 0. For tests.
    ///
    /// # Errors
    /// The device can't be used at all.
    #[cfg(feature = "fault")]
    pub fn lose(&'static self, device: usize, n: u64) -> dinrail_core::Result<u64> {
        let code = ash::vk::Result::ERROR_DEVICE_LOST.as_raw();
        Ok(self.context(device)?.api.gate.arm(n, code, true))
    }

    #[cfg(feature = "fault")]
    fn context(
        &'static self,
        device: usize,
    ) -> dinrail_core::Result<&'static crate::context::Context> {
        let devices = self.found().as_ref().map(|f| f.devices.as_slice()).unwrap_or(&[]);
        devices.get(device).ok_or(dinrail_core::Error::NotFound)?.attach().context()
    }
}

impl Default for Backend {
    fn default() -> Self {
        Self::new()
    }
}

impl hal::Backend for Backend {
    fn name(&self) -> &str {
        "Vulkan"
    }

    fn reason(&self) -> Option<&str> {
        Self::reason(self)
    }

    fn may_have(&self, kind: DeviceKind) -> bool {
        // What computes on the host's processor is no CPU that anybody looks for.
        matches!(kind, DeviceKind::Gpu | DeviceKind::IntegratedGpu) && hardware::is_there()
    }

    fn device_count(&self) -> usize {
        self.found().as_ref().map_or(0, |f| f.devices.len())
    }

    fn device(&'static self, i: usize) -> Option<&'static dyn hal::Device> {
        let device = self.found().as_ref().ok()?.devices.get(i)?.attach();
        Some(device)
    }
}
