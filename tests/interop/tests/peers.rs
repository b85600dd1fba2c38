//! The CPU backend that ci/peers.sh builds: another release, with the threads of OpenMP.

mod common;

use dinrail_core::hal::Backend;
use dinrail_ggml::Candidate;
use dinrail_interop as interop;

#[test]
fn it_computes_and_can_be_unloaded() {
    let Some(dir) = interop::peers() else { return };
    let file = dir.join("libggml-cpu.so");
    let mut first = None;
    for _ in 0..20 {
        let candidate = Candidate::open(&file).unwrap();
        assert!(candidate.score().unwrap() > Some(0));
        let library = candidate.init().unwrap();
        assert!(core::ptr::eq(library, *first.get_or_insert(library)));
        let device = library.device(0).unwrap();
        common::elementwise(device);
        common::matrices(device);
        common::attention(device);
        library.unload().unwrap();
    }
}
