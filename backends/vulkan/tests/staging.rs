//! Memory between host and device: how much of it is in use, and what happens to it when a device fails. A program of its own,
//! for it measures the process.

mod common;

use common::{N, bytes};
use dinrail_core::error::Error;
use dinrail_core::hal::{Backend as _, Buffer, Device, Params, Span, Stream};
use dinrail_core::tensor::{DType, Desc};

use dinrail_vulkan::{Backend, Options};

static HOST: dinrail_reference::Backend =
    dinrail_reference::Backend::new(Some(&dinrail_host::HEAP));
/// Memory that the host can't reach, so that everything is staged.
static APART: Backend = Backend::with(Options { map: false, ..common::WATCHED });

/// Host memory, and a stream of the host's that works on it.
fn on_host(data: &[u8]) -> (Buffer<'static>, Stream) {
    let device = HOST.device(0).unwrap();
    let buffer = Buffer::new(device.buffer_type(), data.len()).unwrap();
    buffer.write(0, data).unwrap();
    (buffer, device.open(&Params::default()).unwrap())
}

/// Bytes of the process that are in memory, at most so far.
fn peak() -> Option<usize> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|l| l.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse::<usize>().ok().map(|kib| kib << 10)
}

/// A model that is queued at one go is not in memory twice.
fn what_is_staged_is_bounded(device: &'static dyn Device) {
    const PIECE: usize = 8 << 20;
    const PIECES: usize = 96;
    let data = vec![7; PIECE];
    let d = Desc::d1(DType::I8, PIECE).unwrap();
    let to = Buffer::new(device.buffer_type(), PIECE).unwrap();
    let stream = device.open(&Params::default()).unwrap();
    let Some(before) = peak() else { return println!("skipped: the system doesn't tell") };
    stream
        .scope(|s| (0..PIECES).try_for_each(|_| s.set(&to, Span { desc: &d, offset: 0 }, 0, &data)))
        .unwrap();
    let more = peak().unwrap() - before;
    println!("{} MiB for {} MiB", more >> 20, (PIECES * PIECE) >> 20);
    assert!(more < 256 << 20, "{more} bytes for {} that were queued", PIECES * PIECE);
    let mut got = vec![0; PIECE];
    to.read(0, &mut got).unwrap();
    assert!(got == data);
}

/// One stream that can't submit what it recorded keeps no other one from letting go of memory that is given back.
fn memory_goes_when_a_stream_fails(device: &'static dyn Device) {
    let data = bytes(&[1.0; N]);
    let (from, host) = on_host(&data);
    let d = Desc::d1(DType::F32, N).unwrap();
    let at = || Span { desc: &d, offset: 0 };
    let [one, two] = [0, 1].map(|_| device.open(&Params::default()).unwrap());
    // Staged and recorded, but not submitted.
    let to = Buffer::new(device.buffer_type(), data.len()).unwrap();
    one.copy(&host, (&from, at()), (&to, at())).unwrap();
    two.copy(&host, (&from, at()), (&to, at())).unwrap();
    APART.fail(0, 1, -4).unwrap();
    drop(to);
    assert_eq!(APART.fail(0, 0, 0).unwrap(), 0, "the first submission failed");
    assert!(matches!(one.synchronize(), Err(Error::Device { code: -4, .. })));
    // Nothing is left in it that refers to the memory.
    two.synchronize().unwrap();
    one.synchronize().unwrap();
}

#[test]
fn staging_memory_is_bounded_and_let_go() {
    let Some(device) = common::device(&APART) else { return };
    memory_goes_when_a_stream_fails(device);
    common::silent(&APART);
    what_is_staged_is_bounded(device);
    common::silent(&APART);
}
