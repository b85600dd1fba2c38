//! The backend: what is compiled in or loaded, and the devices it drives.

use crate::{Calls, Counter, Device};
use dinrail_core::hal::{self, DeviceKind, Live, Proc};

/// How a null backend behaves. Yours will have something else here: a heap and threads that the platform lends
/// (`hal::host`), a limit on memory, or nothing.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// Name of the backend and of its device.
    pub name: &'static str,
    /// What kind of device it claims to be.
    pub kind: DeviceKind,
    /// Whether it says that it supports every node, or none.
    pub supports: bool,
    /// Largest buffer it gives, in bytes.
    pub max_size: usize,
    /// Where calls are counted.
    pub calls: Option<&'static Calls>,
    /// Where living handles are counted; a registry refuses to unload a backend that has some.
    pub live: Option<&'static Live>,
}

impl Config {
    /// An accelerator that supports everything.
    pub const DEFAULT: Self = Self {
        name: "Null",
        kind: DeviceKind::Accelerator,
        supports: true,
        max_size: usize::MAX,
        calls: None,
        live: None,
    };

    pub(crate) fn count(&self, which: impl Fn(&Calls) -> &Counter) {
        if let Some(calls) = self.calls {
            which(calls).add(1);
        }
    }
}

/// The backend. It is made in a `const` or `static`, since nothing runs before `main` and nothing is allocated: so `new` is
/// a `const fn`, and what can only be known at run time is found out when it is first asked for.
#[derive(Debug)]
pub struct Backend {
    name: &'static str,
    device: Device,
}

impl Backend {
    /// A backend that behaves as `config` says.
    pub const fn new(config: Config) -> Self {
        Self { name: config.name, device: Device::new(config) }
    }
}

impl hal::Backend for Backend {
    // Unique in a registry, case ignored. Users type it.
    fn name(&self) -> &str {
        self.name
    }

    // The default, the version of the core that you compile against, is right for Rust backends.
    fn interface_version(&self) -> u32 {
        dinrail_core::INTERFACE_VERSION
    }

    // Fixed from the first call on. Count without waking hardware that isn't needed for counting. Where a driver is
    // missing the answer is 0, not an error.
    fn device_count(&self) -> usize {
        1
    }

    // Some device for each number below the count. `None` for one that is there but can't be used; look-ups pass it over.
    fn device(&'static self, i: usize) -> Option<&'static dyn hal::Device> {
        (i == 0).then_some(&self.device)
    }

    // Functions beyond the interface, if you have any.
    fn proc(&self, _name: &str) -> Option<Proc> {
        None
    }
}
