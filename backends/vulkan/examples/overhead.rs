//! What a node of a graph of 1000 tiny nodes costs the host, with and without a prepared program, and the same for
//! ggml's Vulkan backend on the same device.
//!
//! ```sh
//! cargo run --release -p dinrail-vulkan --example overhead                       # ours alone
//! cargo run --release -p dinrail-vulkan --example overhead -- libggml-vulkan.so  # and theirs, in turn
//! ```
//!
//! A stream keeps the command buffers of programs that come again; "a new program" is one that is recorded each time.
//! Both compute the same `Program` through the same interface; ggml's side goes through `dinrail-ggml`, which keeps
//! the translated graph, so that what is left of it is ggml's own. A software device is not a device to ggml unless
//! `GGML_VK_VISIBLE_DEVICES=0` names it.
//!
//! "Host" is the processor time of the calling thread, from the call until the device is done: what the device, or a
//! device in software, does on its own threads isn't in it. "Call" is the part of that until the call returns; "wall"
//! is the clock. All are the least of the rounds. Ends with status 1 if a program costs more than half of what it costs
//! ggml.

use dinrail_core::graph::{Builder, Graph, Node, NodeId};
use dinrail_core::hal::{Backend as _, Buffer, Device, Params};
use dinrail_core::op::Unary;
use dinrail_core::plan::{Loc, Options, Plan, Work, plan};
use dinrail_core::program::{Binding, Program};
use dinrail_core::tensor::DType;
use dinrail_ggml::Candidate;
use std::time::{Duration, Instant};

static VULKAN: dinrail_vulkan::Backend = dinrail_vulkan::Backend::new();
/// As if every program were a new one.
static FORGETFUL: dinrail_vulkan::Backend =
    dinrail_vulkan::Backend::with(dinrail_vulkan::Options {
        keep: 0,
        ..dinrail_vulkan::Options::DEFAULT
    });
const NODES: usize = 1000;
const ROUNDS: usize = 40;
const LEN: usize = 32;
/// What the cost may be, as a part of ggml's.
const SHARE: f64 = 0.5;

/// Processor time of this thread.
#[cfg(unix)]
fn processor() -> Duration {
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the structure outlives the call.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut t) };
    Duration::new(t.tv_sec as u64, t.tv_nsec as u32)
}

/// Without such a clock, the time that passes.
#[cfg(not(unix))]
fn processor() -> Duration {
    static START: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    START.get_or_init(Instant::now).elapsed()
}

/// Microseconds per node.
#[derive(Clone, Copy)]
struct Cost {
    call: f64,
    host: f64,
    wall: f64,
}

impl Cost {
    const MOST: Self = Self { call: f64::MAX, host: f64::MAX, wall: f64::MAX };

    fn least(&mut self, other: Self) {
        self.call = self.call.min(other.call);
        self.host = self.host.min(other.host);
        self.wall = self.wall.min(other.wall);
    }

    /// Of `call`, and of `wait` behind it.
    fn of(
        call: impl FnOnce() -> dinrail_core::Result<()>,
        wait: impl FnOnce() -> dinrail_core::Result<()>,
    ) -> dinrail_core::Result<Self> {
        let (clock, start) = (Instant::now(), processor());
        call()?;
        let called = processor();
        wait()?;
        let (host, wall) = (processor() - start, clock.elapsed());
        let per_node = |d: Duration| d.as_secs_f64() * 1e6 / NODES as f64;
        Ok(Self { call: per_node(called - start), host: per_node(host), wall: per_node(wall) })
    }

    fn print(&self, who: &str) {
        println!("  {who:<22} {:9.3} {:9.3} {:9.3}", self.host, self.call, self.wall);
    }
}

/// How to build a graph on two inputs.
type Build = fn(&mut Builder<'_>, NodeId, NodeId) -> NodeId;

/// Nodes of one kind, each on top of the last: ggml may make one of several.
fn chain(b: &mut Builder<'_>, x: NodeId, y: NodeId) -> NodeId {
    (0..NODES).fold(x, |last, _| b.add(last, y))
}

/// Nodes of several kinds.
fn mixed(b: &mut Builder<'_>, x: NodeId, y: NodeId) -> NodeId {
    (0..NODES).fold(x, |last, i| match i % 4 {
        0 => b.mul(last, y),
        1 => b.unary(last, Unary::Tanh),
        2 => b.sub(last, y),
        _ => b.scale(last, 0.5, 0.25),
    })
}

/// A graph's memory on a device.
struct Memory {
    locs: Vec<Loc>,
    summary: dinrail_core::plan::Summary,
    arena: Buffer<'static>,
}

impl Memory {
    fn new(device: &'static dyn Device, graph: Graph<'_>) -> dinrail_core::Result<Self> {
        let mut work = vec![Work::EMPTY; graph.len()];
        let mut locs = vec![Loc::ZERO; graph.len()];
        let options = Options { align: device.buffer_type().alignment(), ..Options::DEFAULT };
        let summary = plan(graph, &options, &mut work, &mut locs)?;
        let arena = Buffer::new(device.buffer_type(), summary.arena)?;
        Ok(Self { locs, summary, arena })
    }

    fn plan(&self) -> Plan<'_> {
        Plan::from_parts(&self.locs, self.summary)
    }
}

/// Measures one graph; returns ours recorded each time, ours kept, ours prepared, and theirs.
fn measure(build: Build, devices: &[&'static dyn Device]) -> dinrail_core::Result<[Cost; 4]> {
    let mut nodes = vec![Node::EMPTY; NODES + 2];
    let mut b = Builder::new(&mut nodes);
    let x = b.input(DType::F32, [LEN, 1, 1, 1]);
    let y = b.input(DType::F32, [LEN, 1, 1, 1]);
    let last = build(&mut b, x, y);
    b.output(last);
    let graph = b.finish()?;
    let mut costs = [Cost::MOST; 4];
    let memories = devices.iter().map(|d| Memory::new(*d, graph));
    let memories = memories.collect::<dinrail_core::Result<Vec<_>>>()?;
    let bindings: Vec<_> = memories.iter().map(|m| [Binding::new(&m.arena)]).collect();
    let mut sides = Vec::new();
    for ((device, memory), bindings) in devices.iter().zip(&memories).zip(&bindings) {
        let program = Program::new(graph, memory.plan(), bindings)?;
        sides.push((device.open(&Params::default())?, program));
    }
    let mut results = Vec::new();
    for (stream, program) in &sides {
        // The first time makes pipelines.
        program.set_f32(x, &[0.5; LEN])?;
        program.set_f32(y, &[1.0; LEN])?;
        stream.compute(program)?;
        stream.synchronize()?;
        let mut out = [0.0; LEN];
        program.get_f32(last, &mut out)?;
        results.push(out[LEN - 1]);
    }
    // Both computed the same.
    let off = results.iter().map(|r| (r - results[0]).abs()).fold(0.0, f32::max);
    assert!(off <= 1e-3 * results[0].abs().max(1.0), "{results:?}");
    let prepared = sides[1].0.plan(&sides[1].1)?;
    for _ in 0..ROUNDS {
        for (cost, (stream, program)) in [0, 1, 3].into_iter().zip(&sides) {
            costs[cost].least(Cost::of(|| stream.compute(program), || stream.synchronize())?);
        }
        costs[2].least(Cost::of(|| prepared.compute(), || sides[1].0.synchronize())?);
    }
    Ok(costs)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let Some(device) = VULKAN.device(0) else {
        println!("skipped: {}", VULKAN.reason().unwrap_or("the first device can't be used"));
        return Ok(());
    };
    let forgetful = FORGETFUL.device(0).ok_or("the device is there once only")?;
    let mut devices = vec![forgetful, device];
    if let Some(path) = std::env::args_os().nth(1) {
        let library = Candidate::open(path.as_ref()).and_then(Candidate::init)?;
        match library.device(0) {
            Some(d) => {
                println!("ggml's device: {} ({})", d.name(), d.description());
                devices.push(d);
            }
            None => println!("{} has no device", path.to_string_lossy()),
        }
    }
    println!("our device: {} ({})", device.name(), device.description());
    println!(
        "microseconds per node, {NODES} nodes of {LEN} numbers, least of {ROUNDS} rounds in turn"
    );
    let mut failed = None;
    for (name, build) in [("one kind", chain as Build), ("four kinds", mixed)] {
        let [anew, ours, prepared, theirs] = measure(build, &devices)?;
        println!("{name:<24} {:>9} {:>9} {:>9}", "host", "call", "wall");
        let rows =
            [("dinrail, a new program", anew), ("dinrail", ours), ("dinrail, prepared", prepared)];
        rows.iter().for_each(|(who, c)| c.print(who));
        if devices.len() > 2 {
            theirs.print("ggml");
            for (who, cost) in rows {
                let share = (cost.host / theirs.host).max(cost.call / theirs.call);
                println!("  {who}: {share:.3} of ggml's, the worse of host and call");
                if share > SHARE {
                    failed =
                        Some(format!("{name}, {who}: {share:.3} of ggml's, not {SHARE} at most"));
                }
            }
        }
    }
    failed.map_or(Ok(()), |e| Err(e.into()))
}
