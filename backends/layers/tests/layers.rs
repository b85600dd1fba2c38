//! Each layer does what it says, and lets everything else through.

mod common;

use common::{Counting, compute, job, leak, program, reference};
use dinrail_core::graph::NodeId;
use dinrail_core::hal::{Buffer, Device, Params, Stream};
use dinrail_core::op::Kind as OpKind;
use dinrail_core::program::Program;
use dinrail_core::{Error, Result};
use dinrail_layers::{Call, Fault, Hook, Kind, Layer, Recorder, Trace, Validate, Violation};
use std::sync::Mutex;

const EXPECTED: [f32; 3] = [3.0, 40.0, 500.0];

#[test]
fn trace_tells_every_call_in_order() {
    static HEAP: Counting = Counting::new();
    static CALLS: Recorder<64> = Recorder::new();
    let device = leak(Layer::new(reference(&HEAP), Trace::new(&CALLS)));
    assert_eq!(job(device).unwrap(), EXPECTED);
    let seen: Vec<_> = CALLS.calls().map(|c| (c.kind, c.bytes)).collect();
    let expected = [
        (Kind::Open, 0),
        (Kind::Alloc, 64),
        (Kind::Set, 12),
        (Kind::Alloc, 192),
        (Kind::Set, 12),
        (Kind::Compute, 0),
        (Kind::Synchronize, 0),
        (Kind::Get, 12),
        (Kind::Free, 192),
        (Kind::Free, 64),
        (Kind::Close, 0),
    ];
    assert_eq!(seen, expected);
    assert_eq!(CALLS.calls().find(|c| c.kind == Kind::Compute).unwrap().nodes, 4);
    assert_eq!(CALLS.failed(), 0);
    assert_eq!(HEAP.living(), 0);
}

#[test]
fn a_recorder_counts_what_it_has_no_room_for() {
    static HEAP: Counting = Counting::new();
    static CALLS: Recorder<3> = Recorder::new();
    let device = leak(Layer::new(reference(&HEAP), Trace::new(&CALLS)));
    job(device).unwrap();
    assert_eq!((CALLS.calls().count(), CALLS.count()), (3, 11));
}

#[test]
fn trace_can_call_a_function() {
    static HEAP: Counting = Counting::new();
    static LINES: Mutex<Vec<String>> = Mutex::new(Vec::new());
    fn line(call: &Call, result: Result<()>) {
        LINES.lock().unwrap().push(format!("{:?} {:?}", call.kind, result));
    }
    let device = leak(Layer::new(reference(&HEAP), Trace::new(&line)));
    job(device).unwrap();
    assert_eq!(LINES.lock().unwrap()[0], "Open Ok(())");
}

#[test]
fn every_call_may_fail_and_nothing_leaks() {
    static HEAP: Counting = Counting::new();
    let error = Error::Device { call: "test", code: 7 };
    let device = leak(Layer::new(reference(&HEAP), Fault::new(error)));
    let mut failures = 0;
    for kind in Kind::ALL {
        for n in 1.. {
            device.hook().arm(*kind, n);
            let result = job(device);
            if !device.hook().fired() {
                assert_eq!(result.unwrap(), EXPECTED);
                break;
            }
            assert_eq!(result, Err(error), "{kind:?} {n}");
            assert_eq!(HEAP.living(), 0, "{kind:?} {n} leaks");
            failures += 1;
        }
    }
    // open, 2 alloc, 2 set, compute, synchronize, get
    assert_eq!(failures, 8);
    device.hook().arm(Kind::Open, 0);
    assert_eq!(job(device).unwrap(), EXPECTED);
}

#[test]
fn a_failed_computation_leaves_the_stream_usable() {
    static HEAP: Counting = Counting::new();
    let error = Error::Device { call: "test", code: 7 };
    let device = leak(Layer::new(reference(&HEAP), Fault::new(error)));
    let stream = device.open(&Params::default()).unwrap();
    let weights = Buffer::new(device.buffer_type(), 64).unwrap();
    device.hook().arm(Kind::Compute, 1);
    program(device, &weights, |p, _, _| {
        assert_eq!(compute(&stream, p), Err(error));
        compute(&stream, p)
    })
    .unwrap();
}

#[test]
fn validate_is_content_with_the_reference() {
    static HEAP: Counting = Counting::new();
    fn report(v: &Violation) {
        panic!("{v}");
    }
    let device = leak(Layer::new(reference(&HEAP), Validate::new(report)));
    assert_eq!(job(device).unwrap(), EXPECTED);
    assert_eq!((device.hook().violations(), HEAP.living()), (0, 0));
}

/// Computes, and then does something that it may not do.
struct Bad(fn(&Stream, &Program<'_>) -> Result<()>);

impl Hook for Bad {
    fn compute(&self, stream: &Stream, program: &Program<'_>) -> Result<()> {
        (self.0)(stream, program)
    }
}

fn violation(bad: fn(&Stream, &Program<'_>) -> Result<()>) -> Violation {
    static HEAP: Counting = Counting::new();
    std::thread_local! {
        static SEEN: std::cell::Cell<Option<Violation>> = const { std::cell::Cell::new(None) };
    }
    fn report(v: &Violation) {
        // The first one: a write outside is found again when the buffer is freed.
        SEEN.set(SEEN.get().or(Some(*v)));
    }
    let bad = leak(Layer::new(reference(&HEAP), Bad(bad)));
    let device = leak(Layer::new(bad, Validate::new(report)));
    assert!(job(device).is_err());
    assert!(device.hook().violations() > 0);
    SEEN.take().unwrap()
}

#[test]
fn validate_finds_a_source_that_was_written() {
    let v = violation(|stream, p| {
        stream.compute(p)?;
        p.set_f32(NodeId(1), &[0.0])
    });
    assert!(matches!(v, Violation::Wrote { slot: 1, offset: 0..4 }), "{v}");
}

#[test]
fn validate_finds_a_write_outside_the_buffer() {
    let v = violation(|stream, p| {
        stream.compute(p)?;
        let (buffer, offset) = p.place(NodeId(1)).unwrap();
        buffer.write(offset - 1, &[1])
    });
    assert_eq!(v, Violation::Wrote { slot: 1, offset: -1 });
}

#[test]
fn validate_finds_a_hole() {
    let v = violation(|stream, p| {
        let (buffer, offset) = p.place(NodeId(3)).unwrap();
        let mut last = [0; 4];
        buffer.read(offset + 8, &mut last)?;
        stream.compute(p)?;
        buffer.write(offset + 8, &last)
    });
    assert_eq!(v, Violation::Unwritten { node: NodeId(3) });
}

#[test]
fn validate_finds_a_broken_promise() {
    let v = violation(|_, _| Err(Error::Unsupported { node: NodeId(2), op: OpKind::Mul }));
    assert!(matches!(v, Violation::Refused { .. }), "{v}");
}

#[test]
fn layers_stack_and_streams_step() {
    static HEAP: Counting = Counting::new();
    static CALLS: Recorder<64> = Recorder::new();
    fn report(v: &Violation) {
        panic!("{v}");
    }
    let validate = leak(Layer::new(reference(&HEAP), Validate::new(report)));
    let device = leak(Layer::new(validate, Trace::new(&CALLS)));
    assert_eq!(job(device).unwrap(), EXPECTED);
    let stream = device.open(&Params::default()).unwrap();
    let weights = Buffer::new(device.buffer_type(), 64).unwrap();
    weights.clear(0).unwrap();
    program(device, &weights, |p, x, y| {
        p.set_f32(x, &[1.0, 2.0, 3.0])?;
        let mut run = stream.begin(p);
        let mut polls = 0;
        while !run.poll()? {
            polls += 1;
        }
        assert_eq!(polls, 3);
        let mut out = [0.0; 3];
        p.get_f32(y, &mut out)?;
        assert_eq!(out, [1.0, 2.0, 3.0]);
        Ok(())
    })
    .unwrap();
    assert_eq!(CALLS.count_of(Kind::Step), 4);
}

#[test]
fn lent_memory_goes_through() {
    static HEAP: Counting = Counting::new();
    static WEIGHTS: [u8; 12] = {
        let mut w = [0; 12];
        w[3] = 0x40; // 2.0
        w
    };
    #[repr(align(64))]
    struct Aligned([u8; 12]);
    static ALIGNED: Aligned = Aligned(WEIGHTS);
    let device = leak(Layer::new(reference(&HEAP), Validate::new(|v| panic!("{v}"))));
    let stream = device.open(&Params::default()).unwrap();
    let weights = device.buffer_from_host(&ALIGNED.0, 12).unwrap();
    program(device, &weights, |p, x, y| {
        p.set_f32(x, &[1.0, 2.0, 3.0])?;
        compute(&stream, p)?;
        let mut out = [0.0; 3];
        p.get_f32(y, &mut out)?;
        assert_eq!(out, [3.0, 2.0, 3.0]);
        Ok(())
    })
    .unwrap();
}
