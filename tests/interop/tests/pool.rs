//! Threads of a foreign CPU backend: as many as were asked for, from graph to graph, and gone with the stream.
//!
//! One test in its process: it counts the process's threads.
#![cfg(target_os = "linux")]

mod common;

use dinrail_core::graph::GraphBuf;
use dinrail_core::hal::{Backend, Buffer, Params, Proc};
use dinrail_core::plan::{Options, PlanBuf};
use dinrail_core::program::{Binding, Program};
use dinrail_core::tensor::DType;
use dinrail_interop as interop;

fn threads() -> usize {
    std::fs::read_dir("/proc/self/task").unwrap().count()
}

/// The system forgets a thread a moment after it was waited for.
fn settle(want: usize) -> bool {
    (0..1000).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(2));
        threads() == want
    })
}

#[test]
fn a_stream_keeps_its_threads() {
    let Some(dir) = interop::package("cpu-v2") else { return };
    let library = interop::best_cpu(&dir);
    let device = library.device(0).unwrap();
    let mut buf = GraphBuf::<4>::new();
    let mut b = buf.builder();
    let w = b.input(DType::F32, [64, 32, 1, 1]);
    let x = b.input(DType::F32, [64, 1, 1, 1]);
    let y = b.mul_mat(w, x);
    b.output(y);
    b.finish().unwrap();
    let plan = PlanBuf::<4>::new(buf.graph(), &Options::DEFAULT).unwrap();
    let arena = Buffer::new(device.buffer_type(), plan.plan().summary().arena).unwrap();
    let bindings = [Binding::new(&arena)];
    let program = Program::new(buf.graph(), plan.plan(), &bindings).unwrap();
    program.set_f32(w, &common::noise(64 * 32, 1)).unwrap();
    program.set_f32(x, &common::noise(64, 2)).unwrap();

    let before = threads();
    let stream = device.open(&Params { threads: Some(3), text: None }).unwrap();
    assert_eq!(threads(), before + 2);
    let mut results = Vec::new();
    let mut compute = || {
        stream.compute(&program).unwrap();
        let mut out = vec![0.0; 32];
        program.get_f32(y, &mut out).unwrap();
        results.push(out);
    };
    (0..3).for_each(|_| compute());
    assert_eq!(threads(), before + 2);
    let Some(Proc::SetThreads(set)) = library.proc("ggml_backend_set_n_threads") else {
        panic!("the function that sets the number of threads has a type");
    };
    for n in [2, 1, 4] {
        set(&stream, n).unwrap();
        compute();
        assert!(settle(before + n - 1), "{n}: {} and {before} before", threads());
    }
    assert!(set(&stream, 0).is_err());
    assert!(results.iter().all(|r| *r == results[0]));
    drop(stream);
    assert!(settle(before), "{} and {before} before", threads());
}
