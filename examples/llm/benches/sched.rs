//! What the scheduler costs for each token, beside a program that is computed directly.
//!
//! ```text
//! cargo bench -p dinrail-llm --features std --bench sched
//! ```
//!
//! On devices that compute nothing all of the time is the host's. The CPU's rows show what that means beside real work.

use dinrail_core::hal::{Backend as _, Buffer, Device, Params, Stream};
use dinrail_core::program::Binding;
use dinrail_gguf::File;
use dinrail_layers::{Layer, Wall};
use dinrail_llm::session::split::{self, Placement};
use dinrail_llm::session::{Evaluate, Memory, Options};
use dinrail_null::{Backend, Config};
use std::path::PathBuf;
use std::time::Instant;

static ONE: Backend = Backend::new(Config { name: "Null0", ..Config::DEFAULT });
static TWO: Backend = Backend::new(Config { name: "Null1", ..Config::DEFAULT });

const ROUNDS: usize = 25;
const TOKENS: usize = 200;

/// Microseconds for each token: the least of many rounds, which other programs disturb least.
fn time(session: &mut dyn Evaluate) -> f64 {
    let mut logits = vec![0.0; session.vocab()];
    let mut best = f64::INFINITY;
    for _ in 0..=ROUNDS {
        session.reset();
        let start = Instant::now();
        for t in 0..TOKENS {
            session.eval(&[t as u32], &mut logits).expect("a token is evaluated");
        }
        best = best.min(start.elapsed().as_secs_f64() * 1e6 / TOKENS as f64);
    }
    best
}

fn model(device: &'static dyn Device, file: &File<'static>) -> Buffer<'static> {
    device.buffer_from_host(file.as_bytes(), 0).unwrap_or_else(|_| {
        Buffer::new(device.buffer_type(), file.as_bytes().len()).expect("memory for the model")
    })
}

fn open(device: &'static dyn Device) -> Stream {
    device.open(&Params { threads: Some(1), ..Params::default() }).expect("a stream")
}

fn direct(device: &'static dyn Device, file: &File<'static>) -> f64 {
    let stream = open(device);
    let weights = model(device, file);
    let options = Options { batch: 1, ..Options::context(TOKENS) };
    let mut memory = Memory::new(file.header(), &stream, &options).expect("memory");
    let mut bindings = [Binding::NONE; 3];
    let session = memory.session(&stream, file.header(), &weights, &mut bindings);
    time(&mut session.expect("a session"))
}

/// With the last `n` layers on the first of the devices. Also says how many splits and transfers there are.
fn split(on: &[&'static dyn Device], n: usize, file: &File<'static>) -> (f64, usize, usize) {
    let streams: Vec<Stream> = on.iter().map(|d| open(*d)).collect();
    let streams: Vec<&Stream> = streams.iter().collect();
    let rest = on.len() - 1;
    let weights = model(on[rest], file);
    let options = Options { batch: 1, ..Options::context(TOKENS) };
    let placement = Placement { copies: 1, ..Placement::last(5, n, &[(0, 1.0)], rest) };
    let ty = weights.buffer_type();
    let mut memory = split::Memory::new(file.header(), &streams, ty, &options, placement)
        .expect("the model can be split");
    memory.allocate(&streams, file.as_bytes(), |_, _| {}).expect("memory");
    let mut room = Vec::new();
    let mut session = memory.session(&streams, &weights, &mut room).expect("a session");
    let schedule = *session.schedule();
    let transfers = schedule.splits().iter().map(|s| schedule.transfers(s).count()).sum();
    (time(&mut session), schedule.splits().len(), transfers)
}

fn main() {
    // Also built and run by `cargo test --all-targets`, which is not the time for measurements.
    if !std::env::args().any(|a| a == "--bench") {
        return;
    }
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../models/stories260K-Q8_0.gguf");
    let map = Box::leak(Box::new(dinrail::host::map::Mapped::open(path).expect("the model")));
    let file = File::parse_with(map, &mut [0; 4096]).expect("the model");
    let cpu = dinrail::registry().device_by_name("CPU").expect("a CPU");
    let walled: &'static dyn Device = Box::leak(Box::new(Layer::new(cpu, Wall)));
    let (one, two) = (ONE.device(0).expect("a device"), TWO.device(0).expect("a device"));
    let row = |what: &str, us: f64, base: f64, more: &str| {
        println!("{what:34} {us:8.2} us per token {:+8.2} us{more}", us - base);
    };
    let base = direct(one, &file);
    row("nothing, directly", base, base, "");
    for (what, on, n) in [
        ("nothing, scheduled on one device", &[one][..], 0),
        ("nothing, on two devices", &[one, two], 3),
    ] {
        let (us, splits, transfers) = split(on, n, &file);
        row(what, us, base, &format!(" ({splits} splits, {transfers} transfers)"));
    }
    let base = direct(cpu, &file);
    row("CPU, directly", base, base, "");
    for (what, on, n) in [
        ("CPU, scheduled on one device", &[cpu][..], 0),
        ("CPU, behind a wall and before it", &[walled, cpu], 3),
    ] {
        let (us, splits, transfers) = split(on, n, &file);
        row(what, us, base, &format!(" ({splits} splits, {transfers} transfers)"));
    }
}
