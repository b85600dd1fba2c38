//! What dinrail adds to a token that a foreign backend computes.

mod common;

use common::llama::{CONTEXT, DIM, NODES, token};
use dinrail_core::graph::GraphBuf;
use dinrail_core::hal::{Backend, Buffer, Device, Params};
use dinrail_core::plan::{Options, PlanBuf};
use dinrail_core::program::{Binding, Program};
use dinrail_core::tensor::DType;
use dinrail_interop as interop;
use std::time::{Duration, Instant};

/// Computes `tokens` tokens; a program for each of them, or one for all.
fn generate(
    device: &'static dyn Device,
    threads: usize,
    tokens: usize,
    anew: bool,
) -> (Vec<f32>, Duration) {
    let t = token(CONTEXT);
    let graph = t.buf.graph();
    let options = Options { align: device.buffer_type().alignment(), ..Options::DEFAULT };
    let plan = PlanBuf::<NODES>::new(graph, &options).unwrap();
    let ty = device.buffer_type();
    let arena = Buffer::new(ty, plan.plan().summary().arena).unwrap();
    let weights = Buffer::new(ty, t.weights).unwrap();
    let cache = Buffer::new(ty, t.cache).unwrap();
    let bytes: Vec<u8> =
        common::noise(t.weights / 4, 9).iter().flat_map(|x| (x * 0.2).to_le_bytes()).collect();
    weights.write(0, &bytes).unwrap();
    cache.clear(0).unwrap();
    let bindings = [Binding::new(&arena), Binding::new(&weights), Binding::new(&cache)];
    let stream = device.open(&Params { threads: Some(threads), text: None }).unwrap();
    let mut program = Program::new(graph, plan.plan(), &bindings).unwrap();
    let mut x = common::noise(DIM, 10);
    let mut mask = vec![f32::NEG_INFINITY; CONTEXT];
    let mut spent = Duration::ZERO;
    for i in 0..tokens {
        let at = i % CONTEXT;
        mask[at] = 0.0;
        let start = Instant::now();
        if anew {
            program = Program::new(graph, plan.plan(), &bindings).unwrap();
        }
        program.set_f32(t.x, &x).unwrap();
        program.set_i32(t.at, &[at as i32]).unwrap();
        program.set(t.row, &(at as i64).to_le_bytes()).unwrap();
        program.set_f32(t.mask, &mask).unwrap();
        stream.compute(&program).unwrap();
        stream.synchronize().unwrap();
        program.get_f32(t.out, &mut x).unwrap();
        x.iter_mut().for_each(|v| *v = (*v * 0.1).tanh());
        // The first translates.
        if i > 0 {
            spent += start.elapsed();
        }
    }
    (x, spent / (tokens - 1) as u32)
}

#[test]
fn a_program_made_anew_gives_the_same() {
    let Some(dir) = interop::package("cpu-v2") else { return };
    let device = interop::best_cpu(&dir).device(0).unwrap();
    let (one, kept) = generate(device, 1, 200, false);
    let (two, made) = generate(device, 1, 200, true);
    assert_eq!(one, two);
    assert!(one.iter().all(|x| x.is_finite()));
    println!("token: {kept:?} with one program, {made:?} with a program each");
}

#[test]
fn a_row_outside_the_cache_is_an_error() {
    let Some(dir) = interop::package("cpu-v2") else { return };
    let device = interop::best_cpu(&dir).device(0).unwrap();
    let mut buf = GraphBuf::<8>::new();
    let mut b = buf.builder();
    let table = b.input(DType::F32, [4, 3, 1, 1]);
    let rows = b.input(DType::I32, [2, 1, 1, 1]);
    let y = b.get_rows(table, rows);
    b.output(y);
    b.finish().unwrap();
    let plan = PlanBuf::<8>::new(buf.graph(), &Options::DEFAULT).unwrap();
    let arena = Buffer::new(device.buffer_type(), plan.plan().summary().arena).unwrap();
    let bindings = [Binding::new(&arena)];
    let program = Program::new(buf.graph(), plan.plan(), &bindings).unwrap();
    let stream = common::stream(device);
    program.set_f32(table, &common::noise(12, 1)).unwrap();
    for (at, good) in [([0, 2], true), ([3, 0], false), ([1, -1], false), ([2, 2], true)] {
        program.set_i32(rows, &at).unwrap();
        assert_eq!(stream.compute(&program).is_ok(), good, "{at:?}");
    }
}
