//! Opening streams, errors on teams, steps, and the backend without a heap or threads.

mod common;

use common::{device, encode, noise};
use core::sync::atomic::{AtomicUsize, Ordering};
use dinrail_core::error::Error;
use dinrail_core::graph::{Graph, GraphBuf, NodeId};
use dinrail_core::hal::{Backend as _, Buffer, DeviceKind, Params, Proc, Query};
use dinrail_core::op::Op;
use dinrail_core::plan::{Options, PlanBuf};
use dinrail_core::program::{Binding, Program};
use dinrail_core::tensor::DType;
use dinrail_cpu::{Backend, Level, Services};

fn open(threads: usize, text: Option<&str>) -> Result<dinrail_core::hal::Stream, Error> {
    device().open(&Params { threads: Some(threads), text })
}

#[test]
fn the_device_says_what_it_is() {
    let d = device();
    assert_eq!((d.name(), d.kind()), ("CPU", DeviceKind::Cpu));
    assert!(!d.description().is_empty());
    assert!(d.caps().buffer_from_host && !d.caps().asynchronous);
    assert!(Level::parse(d.level()).unwrap().is_available());
    assert!(d.supports_buffer_type(d.buffer_type()));
    assert!(d.memory().total > 0);
    let Some(Proc::Feature(feature)) = common::CPU.proc("features") else { panic!() };
    let all: Vec<_> = (0..).map_while(feature).collect();
    assert!(all.contains(&("LEVEL", d.level())));
    let model = [1u8, 2, 3, 4];
    let lent = d.buffer_from_host(&model, 4).unwrap();
    assert_eq!(lent.host().unwrap().as_ptr().cast_const(), model.as_ptr(), "no copy");
    assert!(!lent.is_writable());
}

#[test]
fn wrong_parameters_are_refused() {
    assert!(matches!(open(0, None), Err(Error::Invalid { value: 0, .. })));
    assert!(open(1, Some("level=nonsense")).is_err());
    assert!(open(1, Some("colour=red")).is_err());
    assert!(open(1_000_000, None).is_err());
    for level in Level::ALL {
        let text = format!("level={}", level.name());
        assert_eq!(open(1, Some(&text)).is_ok(), level.is_available(), "{text}");
    }
}

/// A graph with a bad row index in the middle, between nodes that are shared and nodes that are not.
fn failing(buf: &mut GraphBuf<16>, small_before: bool, small_after: bool) -> Graph<'_> {
    let n = |small: bool| if small { 16 } else { 40_000 };
    let mut b = buf.builder();
    let at = b.input(DType::I32, [1, 1, 1, 1]);
    let table = b.input(DType::F32, [40_000, 2, 1, 1]);
    let x = b.arange(0.0, n(small_before) as f32, 1.0);
    let x = b.sqr(x);
    b.output(x);
    let row = b.op(Op::GetRows, &[table, at]);
    let mut y = b.view_1d(row, n(small_after), 0);
    for _ in 0..4 {
        y = b.scale(y, 2.0, 1.0);
    }
    b.output(y);
    b.finish().unwrap();
    buf.graph()
}

#[test]
fn an_error_of_one_worker_stops_all_and_hangs_none() {
    for threads in [1, 2, 3, 4] {
        let stream = open(threads, None).unwrap();
        for (before, after) in [(false, false), (false, true), (true, false), (true, true)] {
            let mut buf = GraphBuf::new();
            let graph = failing(&mut buf, before, after);
            let plan = PlanBuf::<16>::new(graph, &Options::DEFAULT).unwrap();
            let arena = Buffer::new(device().buffer_type(), plan.plan().summary().arena).unwrap();
            arena.clear(0).unwrap();
            let bindings = [Binding::new(&arena)];
            let program = Program::new(graph, plan.plan(), &bindings).unwrap();
            for round in 0..50 {
                let index = if round % 2 == 0 { 2 } else { 1 };
                program.set_i32(NodeId(0), &[index]).unwrap();
                let got = stream.compute(&program);
                let bad = Err(Error::Invalid { what: "row index", value: 2 });
                assert_eq!(got, if index == 2 { bad } else { Ok(()) });
            }
        }
    }
}

#[test]
fn what_has_no_kernel_is_named_and_the_stream_stays_usable() {
    for threads in [1, 2] {
        let stream = open(threads, None).unwrap();
        let mut buf = GraphBuf::<8>::new();
        let mut b = buf.builder();
        let x = b.input(DType::I32, [40_000, 1, 1, 1]);
        let f = b.arange(0.0, 40_000.0, 1.0);
        let y = b.sqr(f);
        let bad = b.add(x, x);
        b.output(bad);
        b.output(y);
        let graph = b.finish().unwrap();
        let sources = Query::sources(graph, bad);
        assert!(!device().supports(&Query::of(graph.node(bad).unwrap(), &sources)));
        let plan = PlanBuf::<8>::new(graph, &Options::DEFAULT).unwrap();
        let arena = Buffer::new(device().buffer_type(), plan.plan().summary().arena).unwrap();
        let bindings = [Binding::new(&arena)];
        let program = Program::new(graph, plan.plan(), &bindings).unwrap();
        for _ in 0..3 {
            let want = Error::Unsupported { node: bad, op: Op::Add.kind() };
            assert_eq!(stream.compute(&program), Err(want));
        }
    }
}

#[test]
fn steps_take_one_node_each() {
    let mut buf = GraphBuf::<8>::new();
    let mut b = buf.builder();
    let x = b.input(DType::F32, [6, 1, 1, 1]);
    let y = b.sqr(x);
    let v = b.reshape(y, [2, 3, 1, 1]);
    let v = b.transpose(v);
    let z = b.cont(v);
    let w = b.reshape(z, [6, 1, 1, 1]);
    b.output(w);
    let graph = b.finish().unwrap();
    let plan = PlanBuf::<8>::new(graph, &Options::DEFAULT).unwrap();
    for threads in [1, 2] {
        let arena = Buffer::new(device().buffer_type(), plan.plan().summary().arena).unwrap();
        let bindings = [Binding::new(&arena)];
        let program = Program::new(graph, plan.plan(), &bindings).unwrap();
        program.set_f32(x, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).unwrap();
        let stream = open(threads, None).unwrap();
        let mut run = stream.begin(&program);
        assert!(!run.poll().unwrap());
        assert_eq!(run.next_node(), z.index());
        assert!(run.poll().unwrap());
        let mut out = [0.0; 6];
        program.get_f32(w, &mut out).unwrap();
        assert_eq!(out, [1.0, 9.0, 25.0, 4.0, 16.0, 36.0]);
    }
}

#[test]
fn bare_metal_needs_no_heap_and_no_threads() {
    static BARE: Backend = Backend::new(Services::NONE);
    let device = BARE.device(0).unwrap();
    assert!(BARE.device(1).is_none());
    assert_eq!(
        Buffer::new(device.buffer_type(), 64).unwrap_err(),
        Error::OutOfMemory { requested: 64, available: 0 }
    );
    assert!(device.open(&Params { threads: Some(2), text: None }).is_err());
    let stream = device.open(&Params::default()).unwrap();

    let mut buf = GraphBuf::<4>::new();
    let mut b = buf.builder();
    let x = b.input(DType::F32, [5, 1, 1, 1]);
    let w = b.weight(DType::F32, [5, 1, 1, 1], 1, 0);
    let y = b.mul(x, w);
    b.output(y);
    let graph = b.finish().unwrap();
    let plan = PlanBuf::<4>::new(graph, &Options::DEFAULT).unwrap();
    let weights: Vec<u64> = encode(DType::F32, &[1.0, 2.0, 3.0, 4.0, 5.0, 0.0])
        .chunks(8)
        .map(|c| u64::from_le_bytes(c.try_into().unwrap()))
        .collect();
    let flash: Vec<u8> = weights.iter().flat_map(|w| w.to_le_bytes()).collect();
    let mut ram = vec![0u8; 1024];
    let skip = ram.as_ptr().align_offset(64);
    let arena = Buffer::from_bytes_mut(device.buffer_type(), &mut ram[skip..]);
    let model = device.buffer_from_host(&flash, 20).unwrap();
    let bindings = [Binding::new(&arena), Binding::new(&model)];
    let program = Program::new(graph, plan.plan(), &bindings).unwrap();
    program.set_f32(x, &[2.0; 5]).unwrap();
    stream.compute(&program).unwrap();
    let mut out = [0.0; 5];
    program.get_f32(y, &mut out).unwrap();
    assert_eq!(out, [2.0, 4.0, 6.0, 8.0, 10.0]);
}

#[test]
fn streams_of_several_threads_compute_at_the_same_time() {
    let done = AtomicUsize::new(0);
    std::thread::scope(|s| {
        for seed in 0..4 {
            let done = &done;
            s.spawn(move || {
                let x = noise(20_000, seed);
                let got = common::values(&[encode(DType::F32, &x)], |g| {
                    let a = g.input(DType::F32, [20_000, 1, 1, 1]);
                    let a = g.sqr(a);
                    let a = g.add(a, a);
                    g.scale(a, 0.5, 0.0)
                });
                assert!(x.iter().zip(got).all(|(x, y)| x * x == y));
                done.fetch_add(1, Ordering::Relaxed);
            });
        }
    });
    assert_eq!(done.into_inner(), 4);
}
