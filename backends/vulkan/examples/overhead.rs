//! Host time for each node of a graph of 1000 tiny nodes, with and without a prepared program.
//!
//! "Host" is the time until the call returns; "in all" includes waiting for the device, on a device in software the
//! time of its own threads. The least of several rounds.

use dinrail_core::graph::{Builder, Node};
use dinrail_core::hal::{Backend as _, Buffer, Params};
use dinrail_core::plan::{Loc, Options, Plan, Work, plan};
use dinrail_core::program::{Binding, Program};
use dinrail_core::tensor::DType;
use std::time::{Duration, Instant};

static VULKAN: dinrail_vulkan::Backend = dinrail_vulkan::Backend::new();
const NODES: usize = 1000;
const ROUNDS: usize = 20;

fn least(mut once: impl FnMut() -> (Duration, Duration)) -> (f64, f64) {
    let mut best = (f64::MAX, f64::MAX);
    for _ in 0..ROUNDS {
        let (host, all) = once();
        let per_node = |d: Duration| d.as_secs_f64() * 1e6 / NODES as f64;
        best = (best.0.min(per_node(host)), best.1.min(per_node(all)));
    }
    best
}

fn main() -> dinrail_core::Result<()> {
    let Some(device) = VULKAN.device(0) else {
        println!("{}", VULKAN.reason().unwrap_or("the first device can't be used"));
        return Ok(());
    };
    let mut nodes = vec![Node::EMPTY; NODES + 2];
    let mut b = Builder::new(&mut nodes);
    let x = b.input(DType::F32, [32, 1, 1, 1]);
    let y = b.input(DType::F32, [32, 1, 1, 1]);
    let mut last = x;
    for _ in 0..NODES {
        last = b.add(last, y);
    }
    b.output(last);
    let graph = b.finish()?;
    let mut work = vec![Work::EMPTY; graph.len()];
    let mut locs = vec![Loc::ZERO; graph.len()];
    let options = Options { align: device.buffer_type().alignment(), ..Options::DEFAULT };
    let summary = plan(graph, &options, &mut work, &mut locs)?;
    let arena = Buffer::new(device.buffer_type(), summary.arena)?;
    let bindings = [Binding::new(&arena)];
    let program = Program::new(graph, Plan::from_parts(&locs, summary), &bindings)?;
    program.set_f32(x, &[0.0; 32])?;
    program.set_f32(y, &[1.0; 32])?;

    let stream = device.open(&Params::default())?;
    stream.compute(&program)?;
    stream.synchronize()?;
    let mut out = [0.0; 32];
    program.get_f32(last, &mut out)?;
    assert_eq!(out, [NODES as f32; 32]);

    let mut failed = None;
    let mut time = |f: &dyn Fn() -> dinrail_core::Result<()>| {
        least(|| {
            let start = Instant::now();
            let host = f().map(|()| start.elapsed());
            let all = host.and_then(|h| stream.synchronize().map(|()| (h, start.elapsed())));
            all.unwrap_or_else(|e| {
                failed = Some(e);
                Default::default()
            })
        })
    };
    let (host, all) = time(&|| stream.compute(&program));
    println!("{}: microseconds per node, {NODES} nodes", device.description());
    println!("compute   host {host:7.3}   in all {all:7.3}");
    let prepared = stream.plan(&program)?;
    let (host, all) = time(&|| prepared.compute());
    println!("prepared  host {host:7.3}   in all {all:7.3}");
    failed.map_or(Ok(()), Err)
}
