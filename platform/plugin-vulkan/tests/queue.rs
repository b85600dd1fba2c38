//! There and back: the plug-in, loaded as any library of ggml's is. What the device queues is queued on this side too.

use dinrail_core::graph::GraphBuf;
use dinrail_core::hal::{Backend, Buffer, Device, Event, Params, Rows, Span, Stream};
use dinrail_core::plan::{Options, PlanBuf};
use dinrail_core::program::{Binding, Program};
use dinrail_core::tensor::{DType, Desc};
use dinrail_ggml::Candidate;

/// The first device, or `None` with a word.
fn device() -> Option<&'static dyn Device> {
    use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
    let here = std::env::current_exe().unwrap();
    let name = format!("{DLL_PREFIX}dinrail_plugin_vulkan{DLL_SUFFIX}");
    let candidate = Candidate::open(&here.with_file_name(name)).expect("cargo test builds it");
    assert_eq!(candidate.score().unwrap(), None);
    let library = candidate.init().unwrap();
    assert_eq!(library.name(), "Vulkan");
    let first = library.device(0);
    if first.is_none() {
        println!("skipped: no Vulkan device");
    }
    first
}

fn open(device: &'static dyn Device) -> Stream {
    device.open(&Params::default()).unwrap()
}

const N: usize = 1 << 16;

fn bytes(seed: u32) -> Vec<u8> {
    (0..N as u32).flat_map(|i| ((i ^ seed) as f32).to_le_bytes()).collect()
}

/// Transfers, programs and events of two streams, of which nothing is waited for but the end.
#[test]
fn a_chain_of_queued_work() {
    let Some(device) = device() else { return };
    let caps = device.caps();
    assert!(caps.asynchronous && caps.events, "{caps:?}");
    let mut graph = GraphBuf::<8>::new();
    let mut b = graph.builder();
    let x = b.input(DType::F32, [N, 1, 1, 1]);
    let y = b.sqr(x);
    let y = b.scale(y, 0.5, 1.0);
    b.output(y);
    b.finish().unwrap();
    let options = Options { align: device.buffer_type().alignment(), ..Options::DEFAULT };
    let plan = PlanBuf::<8>::new(graph.graph(), &options).unwrap();
    let arena = Buffer::new(device.buffer_type(), plan.plan().summary().arena).unwrap();
    let far = Buffer::new(device.buffer_type(), 4 * N).unwrap();
    let bindings = [Binding::new(&arena)];
    let program = Program::new(graph.graph(), plan.plan(), &bindings).unwrap();
    let d = Desc::d1(DType::F32, N).unwrap();
    let place = |node| Span { desc: &d, offset: program.place(node).unwrap().1 };
    let whole = Span { desc: &d, offset: 0 };
    let (one, two) = (open(device), open(device));
    let event = Event::new(device).unwrap();
    for round in 0..20 {
        let data = bytes(round);
        let mut out = vec![0u8; 4 * N];
        one.scope(|s| {
            s.set(&arena, place(x), 0, &data)?;
            s.compute(&program)?;
            // The second stream takes the result over, and gives it back to the host.
            two.copy(&one, (&arena, place(y)), (&far, whole))?;
            two.record(&event)?;
            one.wait(&event)?;
            two.scope(|s| s.get(&far, whole, 0, &mut out))
        })
        .unwrap();
        event.synchronize().unwrap();
        for (i, b) in out.chunks_exact(4).enumerate() {
            let (v, x) = (f32::from_le_bytes(b.try_into().unwrap()), (i as u32 ^ round) as f32);
            assert_eq!(v, x * x * 0.5 + 1.0, "round {round}, number {i}");
        }
    }
}

#[test]
fn rows() {
    let Some(device) = device() else { return };
    let stream = open(device);
    let buffer = Buffer::new(device.buffer_type(), 256).unwrap();
    let d = Desc::d1(DType::I8, 256).unwrap();
    let at = Span { desc: &d, offset: 0 };
    buffer.clear(0).unwrap();
    let data: Vec<u8> = (1..=48).collect();
    let rows = Rows { len: 8, count: 4, stride: 64, host_stride: 12 };
    let (mut all, mut back) = ([0u8; 256], [0u8; 48]);
    stream
        .scope(|s| {
            s.set_2d(&buffer, at, 16, rows, &data)?;
            s.get_2d(&buffer, at, 16, rows, &mut back)?;
            s.get(&buffer, at, 0, &mut all)
        })
        .unwrap();
    for row in 0..4usize {
        let (there, here) = (&all[64 * row + 16..][..8], &back[12 * row..][..8]);
        assert_eq!((there, here), (&data[12 * row..][..8], &data[12 * row..][..8]));
    }
    assert_eq!(all.iter().filter(|b| **b != 0).count(), 32);
    assert_eq!(back.iter().filter(|b| **b != 0).count(), 32);
    // Outside of the tensor.
    let rows = Rows { len: 8, count: 5, stride: 64, host_stride: 0 };
    assert!(stream.scope(|s| s.set_2d(&buffer, at, 16, rows, &data)).is_err());
}
