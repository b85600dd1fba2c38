//! A backend: the devices that one library or one compiled-in crate drives.

use super::{Device, DeviceKind};

/// A function that a backend offers beyond this interface, by name. What its signature is, the name says.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Proc {
    /// Sets the number of threads of a stream.
    SetThreads(fn(&super::Stream, usize) -> crate::Result<()>),
    /// Extra buffer type number `i` of a device.
    ExtraBufferType(fn(&'static dyn Device, usize) -> Option<&'static dyn super::BufferType>),
    /// Feature number `i`, as a name and a value, such as ("AVX2", "1").
    Feature(fn(usize) -> Option<(&'static str, &'static str)>),
    /// Any other function. Calling it is the caller's own risk.
    Other(*const ()),
}

/// The devices of one compiled-in crate or loaded library. ggml calls it a *reg*.
///
/// Listing is free: nothing here may touch hardware that isn't needed to name and count the devices.
pub trait Backend: Sync {
    /// Short name, such as `CPU`. Names are compared without regard to case and are unique in a registry.
    fn name(&self) -> &str;

    /// Version of the interface that the backend was built for.
    fn interface_version(&self) -> u32 {
        crate::INTERFACE_VERSION
    }

    /// Whether there can be a device of this kind that somebody would want without naming it: a guess that starts no driver.
    ///
    /// # Callers
    /// Look-ups ask backends that say `false` last, and the look-up of the best device only where there is nothing else.
    ///
    /// # Implementors
    /// The default is right where counting devices is cheap. `false` MUST mean that the system has no such hardware, as
    /// far as can be seen; of a driver that computes on the host's processor, and stands behind every CPU, too.
    fn may_have(&self, kind: DeviceKind) -> bool {
        let _ = kind;
        true
    }

    /// How many devices there are. Fixed from the first call on.
    fn device_count(&self) -> usize;

    /// Why there are no devices, or fewer than there could be, in the words of whoever refused them.
    fn reason(&self) -> Option<&str> {
        None
    }

    /// Device `i`, for every `i` below the count. `None` means that the device is there but can't be used; look-ups
    /// pass it over.
    fn device(&'static self, i: usize) -> Option<&'static dyn Device>;

    /// A function beyond this interface.
    fn proc(&self, name: &str) -> Option<Proc> {
        let _ = name;
        None
    }
}
