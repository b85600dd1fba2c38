//! Any Vulkan call may fail at any time: an error value, everything else still usable, nothing leaked.

mod common;

use common::use_everything;
use dinrail_core::error::{Error, Result};
use dinrail_core::hal::{Backend as _, Buffer, Device, Params};
use dinrail_core::program::Binding;
use dinrail_gguf::File;
use dinrail_host::map::Mapped;
use dinrail_llm::sampler::greedy;
use dinrail_llm::session::{self, Memory, Options as Size};
use dinrail_vulkan::{Backend, Options};
use std::sync::atomic::Ordering;

const OUT_OF_DEVICE_MEMORY: i32 = -2;
const DEVICE_LOST: i32 = -4;

/// Memory and streams work.
fn works(device: &'static dyn Device, value: u8) {
    let buffer = Buffer::new(device.buffer_type(), 64).unwrap();
    buffer.write(0, &[value; 64]).unwrap();
    let mut got = [0; 64];
    buffer.read(0, &mut got).unwrap();
    assert_eq!(got, [value; 64]);
    device.open(&Params::default()).unwrap().synchronize().unwrap();
}

/// Makes each call of `work` fail in turn; returns how many there are.
fn sweep(
    backend: &'static Backend,
    code: i32,
    work: impl Fn(&'static dyn Device) -> Result<()>,
) -> u64 {
    let Some(device) = common::device(backend) else { return 0 };
    for n in 1.. {
        backend.fail(0, n, code).unwrap();
        let result = work(device);
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
        works(device, n as u8);
    }
    0
}

/// Runs `test` on a backend that is destroyed afterwards: that makes the validation layer list whatever is left.
fn watched(options: Options, test: impl FnOnce(&'static Backend)) {
    let backend = Box::into_raw(Box::new(Backend::with(options)));
    // SAFETY: a box's memory, which this function gives back when nobody uses it any more.
    let shared: &'static Backend = unsafe { &*backend };
    let complaints = shared.complaints();
    test(shared);
    // SAFETY: streams, buffers and events of the backend are gone.
    drop(unsafe { Box::from_raw(backend) });
    match complaints {
        Some(n) => assert_eq!(n.load(Ordering::Relaxed), 0, "complaints of the validation layer"),
        None => println!("the validation layer is not installed"),
    }
}

fn survives(options: Options) {
    let lent: Vec<u8> = (0..5000).map(|i| i as u8).collect();
    watched(options, |backend| {
        for code in [OUT_OF_DEVICE_MEMORY, DEVICE_LOST] {
            let calls = sweep(backend, code, |device| use_everything(device, &lent));
            println!("{calls} calls");
            assert!(calls > 40 || backend.device_count() == 0);
        }
    });
}

#[test]
fn every_call_may_fail() {
    survives(common::WATCHED);
}

#[test]
fn every_call_may_fail_without_mapped_memory() {
    survives(Options { map: false, ..common::WATCHED });
}

/// Loads a small model and makes the token behind its first one.
fn token(device: &'static dyn Device, file: &File<'_>) -> Result<u32> {
    let stream = device.open(&Params::default())?;
    let weights = Buffer::new(device.buffer_type(), file.as_bytes().len())?;
    weights.write(0, file.as_bytes())?;
    let core = |e| match e {
        session::Error::Core(e) => e,
        e => panic!("the model can be used: {e}"),
    };
    let mut memory = Memory::new(file.header(), &stream, &Size::context(8)).map_err(core)?;
    let mut bindings = [Binding::NONE; 3];
    let run = memory.session(&stream, file.header(), &weights, &mut bindings);
    let mut run = run.map_err(core)?;
    let mut logits = vec![0.0; run.vocab()];
    run.eval(&[1], &mut logits).map_err(core)?;
    Ok(greedy(&logits).expect("logits"))
}

#[test]
fn every_call_of_a_token_may_fail() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/models/stories260K-Q8_0.gguf");
    let map = Mapped::open(path).unwrap();
    let mut scratch = [0; 4096];
    let file = File::parse_with(&map, &mut scratch).unwrap();
    watched(Options { map: false, ..common::WATCHED }, |backend| {
        // The first sweep makes pipelines on its way.
        let mut calls = 0;
        for code in [OUT_OF_DEVICE_MEMORY, DEVICE_LOST] {
            calls = sweep(backend, code, |device| {
                // " Once", as without failures.
                token(device, &file).map(|t| assert_eq!(t, 403))
            });
            println!("{calls} calls");
            assert!(calls > 20 || backend.device_count() == 0);
        }
        let Some(device) = common::device(backend) else { return };
        for n in 1..=calls {
            // From the n-th call on nothing works any more, giving back included.
            backend.lose(0, n).unwrap();
            let result = token(device, &file);
            let refused = Buffer::new(device.buffer_type(), 64).and_then(|b| b.write(0, &[1; 64]));
            backend.lose(0, 0).unwrap();
            for e in [result.map(drop), refused].into_iter().filter_map(Result::err) {
                assert!(matches!(e, Error::Device { code, .. } if code == i64::from(DEVICE_LOST)));
            }
            works(device, n as u8);
        }
        assert_eq!(token(device, &file), Ok(403));
    });
}
