//! Loading and unloading a real library over and over.

mod common;

use dinrail_core::Error;
use dinrail_core::hal::{Backend, Buffer};
use dinrail_ggml::Candidate;
use dinrail_interop as interop;

#[test]
fn a_thousand_rounds_leave_memory_flat() {
    let Some(dir) = interop::package("cpu-v2") else { return };
    let first = interop::best_cpu(&dir);
    let path = first.path().to_owned();
    let device = first.device(0).unwrap();
    common::elementwise(device);
    {
        let stream = common::stream(device);
        let buffer = Buffer::new(device.buffer_type(), 64).unwrap();
        let e = first.unload().unwrap_err();
        assert_eq!(e.cause(), Some(Error::InUse { streams: 1, buffers: 1, events: 0 }));
        drop((stream, buffer));
    }
    first.unload().unwrap();
    // The first library of a folder stays mapped: it has a symbol of the kind that is unique in a process, and the system
    // keeps whichever library brought it in.
    if interop::cpu_libraries(&dir).first() != Some(&path) {
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
        assert!(!maps.contains(&*path.to_string_lossy()), "it is still mapped");
    }
    let round = |compute: bool| {
        let library = Candidate::open(&path).unwrap().init().unwrap();
        assert!(core::ptr::eq(library, first));
        let device = library.device(0).unwrap();
        let buffer = Buffer::new(device.buffer_type(), 4096).unwrap();
        buffer.clear(1).unwrap();
        if compute {
            common::matrices(device);
        }
        drop(buffer);
        library.unload().unwrap();
    };
    common::flat(round);
}
