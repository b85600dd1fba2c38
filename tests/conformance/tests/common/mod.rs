//! What the mounted tests share.
#![allow(dead_code)]

use dinrail_conformance::{cases, table};
use dinrail_core::hal::{Backend as _, Device, Query};
pub use dinrail_host::HEAP;
use dinrail_host::THREADS;
use dinrail_wgsl::{Features, Limits, launch};

/// The CPU backend.
pub static CPU: dinrail_cpu::Backend =
    dinrail_cpu::Backend::new(dinrail_cpu::Services { heap: Some(&HEAP), threads: Some(&THREADS) });

/// The oracle.
pub static REFERENCE: dinrail_reference::Backend = dinrail_reference::Backend::new(Some(&HEAP));

/// The CPU's device.
pub fn cpu() -> &'static dyn Device {
    CPU.device(0).unwrap()
}

/// The oracle's device.
pub fn reference() -> &'static dyn Device {
    REFERENCE.device(0).unwrap()
}

/// A device or layer for the life of the test program.
pub fn leak<T>(value: T) -> &'static T {
    Box::leak(Box::new(value))
}

/// `docs/support.md`.
pub fn support() -> String {
    let mut text = String::from(
        "# What each backend computes\n\n\
         Made by `cargo run -p dinrail-conformance --example support-table` out of the conformance cases; the tests compare \
         it with what the backends say. Down: operations, by ggml's names. Across: the type of the first source (of the \
         target for `SET_ROWS`, of the keys for `FLASH_ATTN_EXT`).\n\n\
         ✓ every case of the suite is supported, and so passes. ◐ some are. – none is: the device answers \
         `Unsupported`. Empty: there is no such case, mostly because the operation doesn't take the type.\n",
    );
    for (name, device) in [("CPU, at every level", cpu()), ("Reference", reference())] {
        text.push_str(&format!("\n## {name}\n\n"));
        table::write(device, cases(), &mut text).unwrap();
    }
    // What these devices answer depends on nothing else.
    let limits = Limits { features: Features::NONE, binding: 1 << 27, alignment: 256 };
    let supports = |q: &Query<'_>| q.op.is_view() || launch(q, &limits).is_some();
    text.push_str("\n## Vulkan and Metal, on every device\n\n");
    table::write_answers(&supports, cases(), &mut text).unwrap();
    text
}
