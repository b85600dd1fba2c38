//! Kernels translated by naga, for build scripts: to SPIR-V and to the Metal shading language.
//!
//! # Panics
//! These functions panic, with the compiler's message, on a kernel that isn't valid: a build that must not go on.

use crate::source;
use crate::table::{Features, Kernel};
use alloc::string::String;
use alloc::vec::Vec;
use naga::back::{msl, spv};
use naga::valid::{Capabilities, ModuleInfo, ValidationFlags, Validator};
use std::{format, println};

/// Name of a kernel's function in the Metal shading language, which reserves the name `main`.
pub const MSL_ENTRY: &str = "main_";

/// Number of the buffer with the sizes of runtime arrays, which a kernel in the Metal shading language may declare and
/// never reads.
pub const MSL_SIZES: u8 = 8;

/// Bindings of a kernel: arguments, result, five sources.
const BINDINGS: u8 = crate::BINDINGS as u8 + 1;

/// A kernel's module, valid, without the helpers that it doesn't call.
fn module(k: &Kernel, launches: usize) -> (naga::Module, ModuleInfo) {
    let name = source::label(k);
    let text = source::text(k, launches);
    let mut module = naga::front::wgsl::parse_str(&text)
        .unwrap_or_else(|e| panic!("{name}: {}", e.emit_to_string(&text)));
    let mut allowed = Capabilities::SHADER_FLOAT16_IN_FLOAT32;
    allowed.set(Capabilities::SHADER_FLOAT16, k.needs.has(Features::F16));
    allowed.set(Capabilities::SUBGROUP, k.needs.has(Features::SUBGROUP));
    let mut validator = Validator::new(ValidationFlags::all(), allowed);
    if let Err(e) = validator.validate(&module) {
        panic!("{name}: {}", e.emit_to_string(&text));
    }
    naga::compact::compact(&mut module, naga::compact::KeepUnused::No);
    validator.reset();
    let info = validator
        .validate(&module)
        .unwrap_or_else(|e| panic!("{name}: {}", e.emit_to_string(&text)));
    (module, info)
}

/// A kernel as SPIR-V 1.3, with an entry point [`source::ENTRY`], and arguments of [`LAUNCHES`](crate::LAUNCHES) launches.
pub fn spirv(k: &Kernel) -> Vec<u32> {
    let (module, info) = module(k, crate::LAUNCHES);
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
    spv::write_vec(&module, &info, &options, None)
        .unwrap_or_else(|e| panic!("{}: {e}", source::label(k)))
}

/// A kernel as text in the Metal shading language 2.4: a function [`MSL_ENTRY`] whose buffers have the numbers of the
/// bindings, with arguments of one launch: workgroups have the third number 0.
pub fn msl(k: &Kernel) -> String {
    let (module, info) = module(k, 1);
    let mut entry =
        msl::EntryPointResources { sizes_buffer: Some(MSL_SIZES), ..Default::default() };
    for binding in 0..BINDINGS {
        let place = naga::ResourceBinding { group: 0, binding: binding.into() };
        let target =
            msl::BindTarget { buffer: Some(binding), mutable: binding == 1, ..Default::default() };
        entry.resources.insert(place, target);
    }
    let options = msl::Options {
        lang_version: (2, 4),
        per_entry_point_map: [(source::ENTRY.into(), entry)].into(),
        fake_missing_bindings: false,
        zero_initialize_workgroup_memory: false,
        force_loop_bounding: false,
        emit_int_div_checks: false,
        ..Default::default()
    };
    let (text, info) = msl::write_string(&module, &info, &options, &Default::default())
        .unwrap_or_else(|e| panic!("{}: {e}", source::label(k)));
    let names = info.entry_point_names;
    assert!(
        matches!(names.as_slice(), [Ok(n)] if n == MSL_ENTRY),
        "{}: {names:?}",
        source::label(k)
    );
    text
}

/// For build scripts: writes what `translate` makes of every kernel into one file of the build's output folder, and
/// where each one ends, in bytes, into `ends.rs`.
pub fn write_all(file: &str, translate: impl Fn(&Kernel) -> Vec<u8> + Sync) {
    let kernels = &crate::KERNELS;
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let share = kernels.len().div_ceil(threads);
    let parts: Vec<Vec<Vec<u8>>> = std::thread::scope(|s| {
        let translate = &translate;
        let workers: Vec<_> = kernels
            .chunks(share)
            .map(|part| s.spawn(move || part.iter().map(translate).collect()))
            .collect();
        let done = workers.into_iter().map(|w| w.join());
        done.map(|r| r.unwrap_or_else(|e| std::panic::resume_unwind(e))).collect()
    });
    let mut all = Vec::new();
    let mut ends = String::from("[");
    for text in parts.iter().flatten() {
        all.extend_from_slice(text);
        ends += &format!("{},", all.len());
    }
    ends += "]";
    let out = std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR");
    let folder = std::path::Path::new(&out);
    std::fs::write(folder.join(file), &all).expect("OUT_DIR can be written");
    std::fs::write(folder.join("ends.rs"), ends).expect("OUT_DIR can be written");
    println!("cargo::rerun-if-changed=build.rs");
}
