//! Two releases of ggml in one process, whose base libraries have different names: each computes with its own.

mod common;

use dinrail_core::hal::Backend;
use dinrail_ggml::Candidate;
use dinrail_interop as interop;

#[test]
fn both_compute() {
    let (Some(package), Some(peers)) = (interop::package("cpu-v2"), interop::peers()) else {
        return;
    };
    let one = interop::best_cpu(&package);
    let two = Candidate::open(&peers.join("libggml-cpu.so")).unwrap().init().unwrap();
    assert!(!core::ptr::eq(one, two));
    let devices = [one, two].map(|l| l.device(0).unwrap());
    for _ in 0..2 {
        for device in devices {
            common::elementwise(device);
            common::matrices(device);
            common::attention(device);
        }
    }
    // Both are unloaded, one after the other. The threads of OpenMP's runtime, which one of them brought along, live on.
    for library in [one, two] {
        library.unload().unwrap();
    }
}
