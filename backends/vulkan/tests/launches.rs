//! Long graphs on many pieces of memory that come and go: descriptor sets that stay from one recording to the next, arguments of
//! many launches in one binding, and order between streams.

mod common;

use common::bytes;
use dinrail_core::graph::{GraphBuf, NodeId};
use dinrail_core::hal::{Buffer, Device, Params};
use dinrail_core::plan::{Options, PlanBuf};
use dinrail_core::program::{Binding, Program};
use dinrail_core::tensor::DType;
use dinrail_vulkan::Backend;

/// Slots beside the arena: more than there are sets in a sheet of arguments.
const SLOTS: usize = 150;
const N: usize = 33;
const NODES: usize = 2 * SLOTS + 2;
const BACKENDS: [&Backend; 2] = [&common::FULL, &common::PLAIN];

/// `y = x + w0 - w1 + w2 …`, each weight in memory of its own.
struct Long {
    graph: GraphBuf<NODES>,
    plan: PlanBuf<NODES>,
    x: NodeId,
    y: NodeId,
}

impl Long {
    fn new(device: &'static dyn Device) -> Self {
        let mut graph = GraphBuf::<NODES>::new();
        let mut b = graph.builder();
        let x = b.input(DType::F32, [N, 1, 1, 1]);
        let mut y = x;
        for i in 0..SLOTS {
            let w = b.weight(DType::F32, [N, 1, 1, 1], 1 + i as u8, 0);
            y = if i % 2 == 0 { b.add(y, w) } else { b.sub(y, w) };
        }
        b.output(y);
        b.finish().unwrap();
        let options = Options { align: device.buffer_type().alignment(), ..Options::DEFAULT };
        let plan = PlanBuf::new(graph.graph(), &options).unwrap();
        Self { graph, plan, x, y }
    }
}

fn weight(device: &'static dyn Device, value: f32) -> Buffer<'static> {
    let buffer = Buffer::new(device.buffer_type(), 4 * N).unwrap();
    buffer.write(0, &bytes(&[value; N])).unwrap();
    buffer
}

#[test]
fn sets_follow_memory_that_comes_and_goes() {
    for backend in BACKENDS {
        let Some(device) = common::device(backend) else { return };
        let long = Long::new(device);
        let arena = Buffer::new(device.buffer_type(), long.plan.plan().summary().arena).unwrap();
        let streams = [0, 1].map(|_| device.open(&Params::default()).unwrap());
        let mut values: Vec<f32> = (0..SLOTS).map(|i| i as f32).collect();
        let mut weights: Vec<_> = values.iter().map(|v| weight(device, *v)).collect();
        for round in 0..6 {
            // Every third piece goes while its stream may still hold sets for it, and another comes, likely at its place and
            // with its handle.
            for i in (round % 3..SLOTS).step_by(3) {
                values[i] += 7.0;
                let old = std::mem::replace(&mut weights[i], weight(device, 0.0));
                drop(old);
                weights[i] = weight(device, values[i]);
            }
            // Some slots share a piece.
            let shared = |i: usize| if i % 5 == round % 5 { i / 10 } else { i };
            let bindings: Vec<_> = std::iter::once(Binding::new(&arena))
                .chain((0..SLOTS).map(|i| Binding::new(&weights[shared(i)])))
                .collect();
            let program = Program::new(long.graph.graph(), long.plan.plan(), &bindings).unwrap();
            let sign = |i: usize| if i.is_multiple_of(2) { 1.0 } else { -1.0 };
            let sum: f32 = (0..SLOTS).map(|i| sign(i) * values[shared(i)]).sum();
            let mut prepared = streams[round % 2].plan(&program).unwrap();
            for again in 0..4 {
                let x = (round * 4 + again) as f32;
                program.set_f32(long.x, &[x; N]).unwrap();
                match again {
                    0..=1 => streams[round / 2 % 2].compute(&program).unwrap(),
                    2 => prepared.compute().unwrap(),
                    _ => {
                        prepared.update(&program).unwrap();
                        prepared.compute().unwrap();
                    }
                }
                let mut y = [0.0; N];
                program.get_f32(long.y, &mut y).unwrap();
                assert_eq!(y, [x + sum; N], "round {round}, run {again}");
            }
        }
        common::silent(backend);
    }
}

/// Two streams take turns on the same memory: what one reads, the other overwrites right behind it.
#[test]
fn streams_that_take_turns_never_overtake_each_other() {
    for backend in BACKENDS {
        let Some(device) = common::device(backend) else { return };
        const LEN: usize = 1 << 13;
        let mut graph = GraphBuf::<72>::new();
        let mut b = graph.builder();
        // Slot 1 is copied to slot 2, back to slot 1 with one added, and so on, through views that overlap in part.
        let whole = [1, 2].map(|slot| b.leaf(DType::F32, [LEN, 1, 1, 1], slot, 0));
        let row = [4 * LEN / 2; 3];
        for _ in 0..7 {
            let middle = b.view(whole[0], [LEN / 2, 1, 1, 1], row, LEN);
            let start = b.view(whole[0], [LEN / 4, 1, 1, 1], row, 0);
            let more = b.scale(whole[0], 1.0, 1.0);
            let to = b.cpy(more, whole[1]);
            let back = b.view(to, [LEN / 2, 1, 1, 1], row, 0);
            let first = b.cpy(back, middle);
            let first = b.view(first, [LEN / 4, 1, 1, 1], row, 0);
            let _ = b.cpy(first, start);
        }
        b.finish().unwrap();
        let plan = PlanBuf::<72>::new(graph.graph(), &Options::DEFAULT).unwrap();
        let size = plan.plan().summary().arena.max(64);
        let run = |streams: &[dinrail_core::hal::Stream], wait: bool| {
            let memory =
                [size, 4 * LEN, 4 * LEN].map(|n| Buffer::new(device.buffer_type(), n).unwrap());
            let start: Vec<f32> = (0..LEN).map(|i| (i % 251) as f32).collect();
            memory[1].write(0, &bytes(&start)).unwrap();
            memory[2].clear(0).unwrap();
            let bindings = memory.each_ref().map(Binding::new);
            let program = Program::new(graph.graph(), plan.plan(), &bindings).unwrap();
            for i in 0..12 {
                let stream = &streams[i % streams.len()];
                stream.compute(&program).unwrap();
                if wait {
                    stream.synchronize().unwrap();
                }
            }
            let mut out = vec![0; 4 * LEN];
            memory[1].read(0, &mut out).unwrap();
            out
        };
        let streams = [0, 1, 2].map(|_| device.open(&Params::default()).unwrap());
        let want = run(&streams[..1], true);
        assert!(want != bytes(&vec![0.0; LEN]));
        for _ in 0..2 {
            assert!(run(&streams, false) == want);
        }
        common::silent(backend);
    }
}
