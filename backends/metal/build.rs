//! Translates every kernel to the Metal shading language: one file with all of them, and where each ends.

use dinrail_wgsl::{Features, KERNELS, Kernel, source};
use naga::back::msl;
use naga::valid::{Capabilities, ValidationFlags, Validator};
use std::path::Path;

/// Bindings of a kernel: arguments, result, five sources.
const BINDINGS: u8 = 7;

/// Buffer of the sizes of runtime arrays, which translated kernels may ask for and never read.
const SIZES: u8 = 8;

fn resources() -> msl::EntryPointResources {
    let mut out = msl::EntryPointResources { sizes_buffer: Some(SIZES), ..Default::default() };
    for binding in 0..BINDINGS {
        let place = naga::ResourceBinding { group: 0, binding: binding.into() };
        // The number of a buffer is that of its binding.
        let target =
            msl::BindTarget { buffer: Some(binding), mutable: binding == 1, ..Default::default() };
        out.resources.insert(place, target);
    }
    out
}

fn translate(k: &Kernel) -> String {
    let name = source::label(k);
    let text = source::text(k);
    let mut module = naga::front::wgsl::parse_str(&text)
        .unwrap_or_else(|e| panic!("{name}: {}", e.emit_to_string(&text)));
    let mut allowed = Capabilities::SHADER_FLOAT16_IN_FLOAT32;
    allowed.set(Capabilities::SHADER_FLOAT16, k.needs.has(Features::F16));
    allowed.set(Capabilities::SUBGROUP, k.needs.has(Features::SUBGROUP));
    let mut validator = Validator::new(ValidationFlags::all(), allowed);
    let wrong = |e: naga::WithSpan<naga::valid::ValidationError>| -> ! {
        panic!("{name}: {}", e.emit_to_string(&text))
    };
    validator.validate(&module).unwrap_or_else(|e| wrong(e));
    naga::compact::compact(&mut module, naga::compact::KeepUnused::No);
    validator.reset();
    let info = validator.validate(&module).unwrap_or_else(|e| wrong(e));
    let options = msl::Options {
        lang_version: (2, 4),
        per_entry_point_map: [(source::ENTRY.into(), resources())].into(),
        fake_missing_bindings: false,
        zero_initialize_workgroup_memory: false,
        force_loop_bounding: false,
        emit_int_div_checks: false,
        ..Default::default()
    };
    let (msl, info) = msl::write_string(&module, &info, &options, &Default::default())
        .unwrap_or_else(|e| panic!("{name}: {e}"));
    // Metal reserves the name `main`.
    assert!(matches!(info.entry_point_names.as_slice(), [Ok(n)] if n == "main_"), "{name}");
    msl
}

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let mut all = String::new();
    let mut ends = String::from("[");
    for k in &KERNELS {
        all += &translate(k);
        ends += &format!("{},", all.len());
    }
    ends += "]";
    let out = std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR");
    let write = |name: &str, data: &str| {
        std::fs::write(Path::new(&out).join(name), data).expect("OUT_DIR can be written");
    };
    write("kernels.metal", &all);
    write("ends.rs", &ends);
}
