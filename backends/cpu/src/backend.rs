//! The backend: one device, the processor that the program runs on.

use crate::{Device, Level};
use dinrail_core::hal::host::{Heap, Threads};
use dinrail_core::hal::{self, Proc};

/// What the platform lends to the backend.
#[derive(Clone, Copy, Default)]
pub struct Services {
    /// Where buffers are taken from. Without one, memory is always the caller's own
    /// ([`Buffer::from_bytes_mut`](hal::Buffer::from_bytes_mut)).
    pub heap: Option<&'static dyn Heap>,
    /// Where worker threads come from. Without them a stream runs on the thread that uses it.
    pub threads: Option<&'static dyn Threads>,
}

impl Services {
    /// Neither memory nor threads: bare metal.
    pub const NONE: Self = Self { heap: None, threads: None };
}

/// The CPU backend, made in a `const` or a `static`:
///
/// ```
/// use dinrail_cpu::{Backend, Services};
/// static CPU: Backend = Backend::new(Services::NONE);
/// assert_eq!(dinrail_core::hal::Backend::name(&CPU), "CPU");
/// ```
///
/// It holds no state that changes.
pub struct Backend {
    device: Device,
}

impl Backend {
    /// The backend with what the platform lends it.
    pub const fn new(services: Services) -> Self {
        Self { device: Device::new(services) }
    }
}

/// The levels' instructions by ggml's names, then the level in use.
fn feature(i: usize) -> Option<(&'static str, &'static str)> {
    let machine = crate::detect::machine();
    let yes = |l: Level| if machine >= l { "1" } else { "0" };
    let names: &[(&str, Level)] = match () {
        () if cfg!(target_arch = "x86_64") => {
            &[("AVX2", Level::Avx2), ("FMA", Level::Avx2), ("F16C", Level::Avx2)]
        }
        () if cfg!(target_arch = "aarch64") => {
            &[("NEON", Level::Neon), ("DOTPROD", Level::Dotprod)]
        }
        () => &[],
    };
    match names.get(i) {
        Some((name, level)) => Some((name, yes(*level))),
        None if i == names.len() => Some(("LEVEL", crate::level().name())),
        None => None,
    }
}

impl hal::Backend for Backend {
    fn name(&self) -> &str {
        "CPU"
    }

    fn device_count(&self) -> usize {
        1
    }

    fn device(&'static self, i: usize) -> Option<&'static dyn hal::Device> {
        (i == 0).then_some(&self.device)
    }

    /// `features`: what the machine has and which level is in use.
    fn proc(&self, name: &str) -> Option<Proc> {
        (name == "features").then_some(Proc::Feature(feature))
    }
}
