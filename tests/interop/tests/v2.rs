//! A CPU backend of ggml's with interface version 2.

mod common;

use dinrail_core::hal::{Backend, DeviceKind};
use dinrail_ggml::Candidate;
use dinrail_interop as interop;

#[test]
fn scores_follow_the_processor() {
    let Some(dir) = interop::package("cpu-v2") else { return };
    let files = interop::cpu_libraries(&dir);
    assert_eq!(files.len(), 14);
    let score = |name: &str| {
        let file = dir.join(format!("libggml-cpu-{name}.so"));
        Candidate::open(&file).unwrap().score().unwrap()
    };
    let baseline = score("x64").expect("it has a score function");
    assert!(baseline > 0);
    if std::arch::is_x86_feature_detected!("avx2") {
        assert!(score("haswell") > Some(baseline));
    }
    if !std::arch::is_x86_feature_detected!("avx512f") {
        assert_eq!(score("skylakex"), Some(0));
    }
}

#[test]
fn it_lists_what_it_has() {
    let Some(dir) = interop::package("cpu-v2") else { return };
    let library = interop::best_cpu(&dir);
    assert_eq!(library.name(), "CPU");
    assert_eq!(library.interface_version(), 2);
    assert_eq!(library.device_count(), 1);
    assert_eq!(library.notes(), Vec::<String>::new());
    let device = library.device(0).unwrap();
    assert_eq!((device.name(), device.kind()), ("CPU", DeviceKind::Cpu));
    assert!(!device.description().is_empty());
    assert!(device.memory().total > 1 << 28);
    assert!(device.caps().buffer_from_host && !device.caps().asynchronous);
    let ty = device.buffer_type();
    assert!(ty.is_host() && ty.alignment() == 32 && ty.name() == "CPU", "{}", ty.name());
    assert!(library.features().iter().any(|(n, v)| n == "SSE3" && v == "1"));
    assert!(device.supports_buffer_type(ty));
    let extra = device.extra_buffer_type(0).expect("re-ordered weights");
    assert!(extra.is_repacked() && device.supports_buffer_type(extra));
    assert_eq!(extra.device().unwrap().name(), "CPU");
    // The same file again is the same backend.
    let again = Candidate::open(library.path()).unwrap().init().unwrap();
    assert!(core::ptr::eq(library, again));
}

#[test]
fn it_computes() {
    let Some(dir) = interop::package("cpu-v2") else { return };
    common::elementwise(interop::best_cpu(&dir).device(0).unwrap());
    common::matrices(interop::best_cpu(&dir).device(0).unwrap());
    common::attention(interop::best_cpu(&dir).device(0).unwrap());
    common::lent_memory(interop::best_cpu(&dir).device(0).unwrap());
}
