//! The compiled-in CPU gets the host's memory and threads.
#![cfg(all(feature = "cpu", feature = "std"))]

use dinrail::Error;
use dinrail::hal::{Buffer, DeviceKind, Params};
use dinrail::host::HEAP;

#[test]
fn memory_is_the_hosts_and_given_back() {
    let device = dinrail::registry().best_device().unwrap();
    assert_eq!((device.name(), device.kind()), ("CPU", DeviceKind::Cpu));
    let memory = device.memory();
    assert!(memory.total > 0 && memory.free <= memory.total);
    let before = HEAP.live();
    let buffer = Buffer::new(device.buffer_type(), 1000).unwrap();
    assert_eq!(HEAP.live(), before + 1000);
    drop(buffer);
    assert_eq!(HEAP.live(), before);
}

#[test]
fn thread_counts_are_checked() {
    let device = dinrail::registry().device_by_name("cpu").unwrap();
    for threads in [None, Some(1), Some(3)] {
        assert!(device.open(&Params { threads, ..Params::default() }).is_ok());
    }
    for threads in [0, 1_000_000] {
        let e = device.open(&Params { threads: Some(threads), ..Params::default() }).unwrap_err();
        assert!(matches!(e, Error::Invalid { value, .. } if value == threads as i64), "{e}");
    }
}
