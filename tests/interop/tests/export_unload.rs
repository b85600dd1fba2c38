//! Loading and unloading a plug-in of dinrail's over and over.

mod common;

use dinrail_core::Error;
use dinrail_core::hal::{Backend, Buffer};
use dinrail_ggml::Candidate;

#[test]
fn a_thousand_rounds_leave_memory_flat() {
    let Some(file) = common::example_plugin() else { return };
    let round = |compute: bool| {
        let library = Candidate::open(&file).unwrap().init().unwrap();
        let device = library.device(0).unwrap();
        let buffer = Buffer::new(device.buffer_type(), 4096).unwrap();
        buffer.clear(1).unwrap();
        if compute {
            common::matrices(device);
        }
        let used = library.unload().unwrap_err().cause();
        assert_eq!(used, Some(Error::InUse { streams: 0, buffers: 1, events: 0 }));
        drop(buffer);
        library.unload().unwrap();
    };
    common::flat(round);
}
