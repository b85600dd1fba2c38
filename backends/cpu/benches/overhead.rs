//! What a stream costs beside its kernels: a graph of 1000 tiny nodes, in nanoseconds for each node.
//!
//! ```text
//! cargo bench -p dinrail-cpu --bench overhead
//! ```
//!
//! `node` is a graph of single elements on one worker, kernel included; `kernel` calls the same kernels without a
//! stream. `small` is the same graph on two workers, of which one does it all; `shared` has nodes large enough for
//! both, so that each pays a barrier, and `work` is what one worker needs for half of one.

use core::hint::black_box;
use dinrail_core::error::Result;
use dinrail_core::graph::{GraphBuf, MAX_SRC, NodeId};
use dinrail_core::hal::host::Worker;
use dinrail_core::hal::{Backend as _, Buffer, Device, Params, Query};
use dinrail_core::plan::{Options, PlanBuf};
use dinrail_core::program::{Binding, Program};
use dinrail_core::tensor::{DType, Desc};
use dinrail_cpu::{Args, Backend, Level, Operand, Services, resolve};
use std::time::Instant;

static CPU: Backend = Backend::new(Services {
    heap: Some(&dinrail_host::HEAP),
    threads: Some(&dinrail_host::THREADS),
});

const NODES: usize = 1000;

/// The fastest of some runs, in nanoseconds for each node: the machine may be shared.
fn time(mut f: impl FnMut() -> Result<()>) -> Result<f64> {
    let mut best = f64::INFINITY;
    for _ in 0..200 {
        let start = Instant::now();
        f()?;
        best = best.min(start.elapsed().as_secs_f64());
    }
    Ok(best * 1e9 / NODES as f64)
}

fn graph(device: &'static dyn Device, n: usize, threads: usize) -> Result<f64> {
    let mut storage = Box::new(GraphBuf::<{ NODES + 1 }>::new());
    let mut b = storage.builder();
    let mut x = b.input(DType::F32, [n, 1, 1, 1]);
    for i in 0..NODES {
        x = if i % 2 == 0 { b.scale(x, 0.5, 0.0) } else { b.add(x, x) };
    }
    b.output(x);
    let graph = b.finish()?;
    let plan = Box::new(PlanBuf::<{ NODES + 1 }>::new(graph, &Options::DEFAULT)?);
    let arena = Buffer::new(device.buffer_type(), plan.plan().summary().arena)?;
    let bindings = [Binding::new(&arena)];
    let program = Program::new(graph, plan.plan(), &bindings)?;
    program.set_f32(NodeId(0), &vec![1.0; n])?;
    let stream = device.open(&Params { threads: Some(threads), ..Params::default() })?;
    time(|| stream.compute(&program))
}

fn kernel(n: usize) -> Result<f64> {
    let mut storage = GraphBuf::<3>::new();
    let mut b = storage.builder();
    let x = b.input(DType::F32, [n, 1, 1, 1]);
    let y = b.scale(x, 0.5, 0.0);
    b.add(y, y);
    let graph = b.finish()?;
    let mut memory = vec![1.0f32; n];
    let desc = Desc::d1(DType::F32, n)?;
    let operand = Operand { desc: &desc, ptr: memory.as_mut_ptr().cast() };
    let pair = [1, 2].map(|i| {
        let id = NodeId(i);
        let node = &graph.nodes()[id.index()];
        let sources = Query::sources(graph, id);
        let mut src = [None; MAX_SRC];
        (src[0], src[1]) = (Some(operand), (i == 2).then_some(operand));
        (node, resolve(Level::Scalar, &Query::of(node, &sources)), src)
    });
    time(|| {
        for _ in 0..NODES / 2 {
            for (node, kernel, src) in &pair {
                let args = Args {
                    op: &node.op,
                    dst: operand,
                    src: *src,
                    worker: &Worker::ALONE,
                    scratch: core::ptr::null_mut(),
                    scratch_len: 0,
                };
                if let Some(kernel) = kernel {
                    // SAFETY: the operands are as their description says, and the scalar level runs everywhere.
                    black_box(unsafe { kernel(&args) })?;
                }
            }
        }
        Ok(())
    })
}

fn main() -> Result<()> {
    const SHARED: usize = 16384;
    let Some(device) = CPU.device(0) else { return Ok(()) };
    println!("node    {:8.1} ns", graph(device, 1, 1)?);
    println!("kernel  {:8.1} ns", kernel(1)?);
    println!("small   {:8.1} ns", graph(device, 1, 2)?);
    println!("shared  {:8.1} ns", graph(device, SHARED, 2)?);
    println!("work    {:8.1} ns", kernel(SHARED / 2)?);
    Ok(())
}
