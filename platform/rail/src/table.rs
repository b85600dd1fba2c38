//! The table of backends, written from Cargo features.
//!
//! It is ordinary code that names each backend, so there is nothing that a linker could leave out: no section that is
//! collected, no constructor that runs before `main`.

use dinrail_core::hal::Backend;
#[cfg(any(feature = "cpu", feature = "reference"))]
use dinrail_core::hal::host;
use dinrail_core::registry::Registry;

/// Memory for backends that run on the host.
#[cfg(any(feature = "cpu", feature = "reference"))]
static HEAP: Option<&'static dyn host::Heap> = {
    #[cfg(feature = "std")]
    {
        Some(&dinrail_host::HEAP)
    }
    #[cfg(not(feature = "std"))]
    {
        None
    }
};

macro_rules! table {
    ($($feature:literal if $when:meta: static $name:ident: $backend:ty = $new:expr;)*) => {
        $(
            #[cfg($when)]
            static $name: $backend = $new;
        )*

        /// The compiled-in backends, first choice first: accelerators, the CPU, then what is only for tests.
        pub static BACKENDS: &[&'static dyn Backend] = &[$(#[cfg($when)] &$name,)*];

        /// The features that put them there, in the same order.
        pub static FEATURES: &[&str] = &[$(#[cfg($when)] $feature,)*];
    };
}

/// Memory and threads for the CPU backend.
#[cfg(feature = "cpu")]
static SERVICES: dinrail_cpu::Services = dinrail_cpu::Services {
    heap: HEAP,
    threads: {
        #[cfg(feature = "std")]
        {
            Some(&dinrail_host::THREADS)
        }
        #[cfg(not(feature = "std"))]
        {
            None
        }
    },
};

table! {
    "metal" if all(feature = "metal", target_vendor = "apple"): static METAL: dinrail_metal::Backend =
        dinrail_metal::Backend::new();
    "vulkan" if feature = "vulkan": static VULKAN: dinrail_vulkan::Backend =
        dinrail_vulkan::Backend::new();
    "cpu" if feature = "cpu": static CPU: dinrail_cpu::Backend = dinrail_cpu::Backend::new(SERVICES);
    "reference" if feature = "reference": static REFERENCE: dinrail_reference::Backend = dinrail_reference::Backend::new(HEAP);
    "null" if feature = "null": static NULL: dinrail_null::Backend =
        dinrail_null::Backend::new(dinrail_null::Config::DEFAULT);
}

/// The compiled-in CPU backend.
#[cfg(all(feature = "cpu", feature = "dynamic"))]
pub(crate) fn cpu() -> &'static dyn Backend {
    &CPU
}

/// Room for backends that are registered at run time, beside the compiled-in ones: what the variable `DINRAIL_SLOTS` said
/// when this crate was built; else 64 with the feature `dynamic`, 16 with `std`, and none without, where the table then
/// has no lock.
pub const SLOTS: usize = match option_env!("DINRAIL_SLOTS") {
    Some(text) => slots(text),
    None if cfg!(feature = "dynamic") => 64,
    None if cfg!(feature = "std") => 16,
    None => 0,
};

/// More than anybody has, and far below what a handle can count.
const MAX_SLOTS: usize = 4096;

const fn slots(text: &str) -> usize {
    match usize::from_str_radix(text, 10) {
        Ok(n) if n <= MAX_SLOTS => n,
        _ => panic!("DINRAIL_SLOTS must be a number from 0 to 4096"),
    }
}

/// The table of this program.
pub static REGISTRY: Registry<SLOTS> = Registry::new(BACKENDS);

/// The table of this program.
pub const fn registry() -> &'static Registry<SLOTS> {
    &REGISTRY
}

#[cfg(test)]
mod tests {
    use super::*;

    const _: () = assert!(slots("0") == 0 && slots("17") == 17 && slots("4096") == MAX_SLOTS);

    #[test]
    fn one_backend_for_each_feature() {
        assert_eq!(BACKENDS.len(), FEATURES.len());
        for (backend, feature) in BACKENDS.iter().zip(FEATURES) {
            assert!(backend.name().eq_ignore_ascii_case(feature), "{feature}");
            assert_eq!(backend.interface_version(), dinrail_core::INTERFACE_VERSION);
        }
        assert_eq!(registry().backend_count(), BACKENDS.len());
        assert_eq!(registry().capacity(), SLOTS);
    }
}
