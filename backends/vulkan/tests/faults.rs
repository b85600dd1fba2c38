//! Any Vulkan call may fail at any time: an error value, everything else still usable, nothing leaked.

mod common;

use common::use_everything;
use dinrail_core::error::Error;
use dinrail_core::hal::{Backend as _, Buffer, Params};
use dinrail_vulkan::{Backend, Options};
use std::sync::atomic::Ordering;

const OUT_OF_DEVICE_MEMORY: i32 = -2;
const DEVICE_LOST: i32 = -4;

/// Makes each call fail in turn; returns how many there are.
fn sweep(backend: &'static Backend, code: i32) -> u64 {
    let Some(device) = common::device(backend) else { return 0 };
    let lent: Vec<u8> = (0..5000).map(|i| i as u8).collect();
    for n in 1.. {
        backend.fail(0, n, code).unwrap();
        let result = use_everything(device, &lent);
        if backend.fail(0, 0, 0).unwrap() > 0 {
            // It got through without coming to the n-th call.
            result.unwrap();
            return n - 1;
        }
        match result {
            // A failure while something is given back has nobody to tell.
            Ok(()) | Err(Error::OutOfMemory { .. }) => {}
            Err(Error::Device { code: got, .. }) => assert_eq!(got, i64::from(code)),
            Err(e) => panic!("call {n}: {e}"),
        }
        // Memory and streams still work.
        let buffer = Buffer::new(device.buffer_type(), 64).unwrap();
        buffer.write(0, &[n as u8; 64]).unwrap();
        let mut got = [0; 64];
        buffer.read(0, &mut got).unwrap();
        assert_eq!(got, [n as u8; 64]);
        device.open(&Params::default()).unwrap().synchronize().unwrap();
    }
    0
}

fn survives(options: Options) {
    let backend = Box::into_raw(Box::new(Backend::with(options)));
    // SAFETY: a box's memory, which this function gives back when nobody uses it any more.
    let shared: &'static Backend = unsafe { &*backend };
    let complaints = shared.complaints();
    for code in [OUT_OF_DEVICE_MEMORY, DEVICE_LOST] {
        let calls = sweep(shared, code);
        println!("{calls} calls");
        assert!(calls > 40 || shared.device_count() == 0);
    }
    // Destroying the logical device makes the validation layer list whatever is left.
    // SAFETY: streams, buffers and events of the backend are gone.
    drop(unsafe { Box::from_raw(backend) });
    match complaints {
        Some(n) => assert_eq!(n.load(Ordering::Relaxed), 0, "complaints of the validation layer"),
        None => println!("the validation layer is not installed"),
    }
}

#[test]
fn every_call_may_fail() {
    survives(common::WATCHED);
}

#[test]
fn every_call_may_fail_without_mapped_memory() {
    survives(Options { map: false, ..common::WATCHED });
}
