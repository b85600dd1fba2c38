//! Translates every kernel to SPIR-V: one file with all of them, and where each ends.

use dinrail_wgsl::{Features, KERNELS, Kernel, source};
use naga::back::spv;
use naga::valid::{Capabilities, ValidationFlags, Validator};
use std::path::Path;

fn translate(k: &Kernel) -> Vec<u32> {
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
    // Helpers that this kernel doesn't call.
    naga::compact::compact(&mut module, naga::compact::KeepUnused::No);
    validator.reset();
    let info = validator.validate(&module).unwrap_or_else(|e| wrong(e));
    let options = spv::Options {
        lang_version: (1, 3),
        flags: spv::WriterFlags::empty(),
        // The host gives ranges that hold the tensors, and kernels check the indices that tensors hold.
        force_loop_bounding: false,
        // Kernels have no inputs but built-in ones, and the capability would have to be asked for.
        use_storage_input_output_16: false,
        emit_int_div_checks: false,
        zero_initialize_workgroup_memory: spv::ZeroInitializeWorkgroupMemoryMode::None,
        ..Default::default()
    };
    spv::write_vec(&module, &info, &options, None).unwrap_or_else(|e| panic!("{name}: {e}"))
}

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let mut words: Vec<u32> = Vec::new();
    let mut ends = String::from("[");
    for k in &KERNELS {
        words.extend(translate(k));
        ends.push_str(&format!("{},", words.len()));
    }
    ends.push(']');
    let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
    let out = std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR");
    let write = |name: &str, data: &[u8]| {
        std::fs::write(Path::new(&out).join(name), data).expect("OUT_DIR can be written");
    };
    write("kernels.spv", &bytes);
    write("ends.rs", ends.as_bytes());
}
