//! What the null backend promises, and that it serves to test what sits above a device.

use dinrail_core::graph::GraphBuf;
use dinrail_core::hal::{Backend as _, Buffer, Event, Live, Params};
use dinrail_core::plan::{Options, PlanBuf};
use dinrail_core::program::{Binding, Program};
use dinrail_core::registry::Registry;
use dinrail_core::tensor::DType;
use dinrail_core::{Error, graph::NodeId, op::Kind};
use dinrail_null::{Backend, Calls, Config};

fn program<R>(null: &'static Backend, f: impl FnOnce(&Program<'_>, NodeId) -> R) -> R {
    let mut graph = GraphBuf::<8>::new();
    let mut b = graph.builder();
    let x = b.input(DType::F32, [4, 2, 1, 1]);
    let view = b.transpose(x);
    let y = b.cont(view);
    b.output(y);
    b.finish().unwrap();
    let plan = PlanBuf::<8>::new(graph.graph(), &Options::DEFAULT).unwrap();
    let device = null.device(0).unwrap();
    let arena = Buffer::new(device.buffer_type(), plan.plan().summary().arena).unwrap();
    let bindings = [Binding::new(&arena)];
    f(&Program::new(graph.graph(), plan.plan(), &bindings).unwrap(), y)
}

#[test]
fn calls_are_counted_and_nothing_is_computed() {
    static CALLS: Calls = Calls::new();
    static NULL: Backend = Backend::new(Config { calls: Some(&CALLS), ..Config::DEFAULT });
    let stream = NULL.device(0).unwrap().open(&Params::default()).unwrap();
    program(&NULL, |p, y| {
        stream.compute(p).unwrap();
        let mut run = stream.begin(p);
        while !run.poll().unwrap() {}
        let mut out = [1.0; 8];
        p.get_f32(y, &mut out).unwrap();
        assert_eq!(out, [0.0; 8]);
    });
    let event = Event::new(stream.device()).unwrap();
    stream.record(&event).unwrap();
    stream.wait(&event).unwrap();
    event.synchronize().unwrap();
    let counts = [&CALLS.open, &CALLS.alloc, &CALLS.compute, &CALLS.nodes, &CALLS.record];
    assert_eq!(counts.map(|c| c.count()), [1, 1, 2, 2, 1]);
}

#[test]
fn supporting_nothing_names_the_node() {
    static NULL: Backend = Backend::new(Config { supports: false, ..Config::DEFAULT });
    let stream = NULL.device(0).unwrap().open(&Params::default()).unwrap();
    program(&NULL, |p, y| {
        let error = Error::Unsupported { node: y, op: Kind::Cont };
        assert_eq!(stream.compute(p), Err(error));
        assert_eq!(stream.compute(p), Err(error), "an error leaves the stream usable");
    });
    assert!(NULL.device(0).unwrap().open(&Params { threads: Some(0), text: None }).is_err());
}

#[test]
fn a_registry_counts_what_is_alive() {
    static LIVE: Live = Live::new();
    static NULL: Backend = Backend::new(Config { live: Some(&LIVE), ..Config::DEFAULT });
    let registry = Registry::<1>::new(&[]);
    let handle = registry.register(&NULL).unwrap();
    let stream = registry.open_by_name("null", &Params::default()).unwrap();
    let buffer = Buffer::new(stream.device().buffer_type(), 100).unwrap();
    let event = Event::new(stream.device()).unwrap();
    assert_eq!(
        registry.unregister(handle),
        Err(Error::InUse { streams: 1, buffers: 1, events: 1 })
    );
    drop((stream, buffer, event));
    registry.unregister(handle).unwrap();
    assert_eq!(registry.device_count(), 0);
}

#[test]
fn the_largest_buffer_is_a_limit() {
    static NULL: Backend = Backend::new(Config { max_size: 64, ..Config::DEFAULT });
    let memory = NULL.device(0).unwrap().buffer_type();
    assert_eq!(Buffer::new(memory, 64).unwrap().size(), 64);
    assert!(matches!(Buffer::new(memory, 65), Err(Error::Full { need: 65, have: 64, .. })));
}
