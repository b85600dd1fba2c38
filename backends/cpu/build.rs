//! Says which instructions a microcontroller's target has: the compiler tells only nightly users.

use std::env::var;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(cortex_m_fpu, cortex_m_dsp, cortex_m_mve, cortex_m_v8)");
    let target = var("TARGET").unwrap_or_default();
    // Single-precision floats with half-precision conversions are in every FPU of these two profiles.
    let v7em = target.starts_with("thumbv7em-");
    let v8m = target.starts_with("thumbv8m.main-");
    if (v7em || v8m) && target.ends_with("eabihf") {
        println!("cargo::rustc-cfg=cortex_m_fpu");
    }
    if v8m {
        println!("cargo::rustc-cfg=cortex_m_v8");
    }
    // The extension is part of ARMv7E-M, and an option of ARMv8-M.
    let flags = var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    let named = ["+dsp", "+mve", "cortex-m33", "cortex-m55", "cortex-m85"]
        .iter()
        .any(|f| flags.contains(f));
    if v7em || v8m && named {
        println!("cargo::rustc-cfg=cortex_m_dsp");
    }
    // Vectors of floats are an option of ARMv8.1-M.
    let vectors = ["+mve.fp", "cortex-m55", "cortex-m85"].iter().any(|f| flags.contains(f));
    if v8m && target.ends_with("eabihf") && vectors {
        println!("cargo::rustc-cfg=cortex_m_mve");
    }
}
