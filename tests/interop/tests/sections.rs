//! One graph on a foreign device and one of ours, split by the scheduler.

mod common;

use dinrail_core::graph::GraphBuf;
use dinrail_core::hal::{Backend, Buffer, Device, Params, Stream};
use dinrail_core::program::Binding;
use dinrail_core::sched::{Options, Room, Scheduler};
use dinrail_core::tensor::DType;
use dinrail_interop as interop;

const N: usize = 32;

static REFERENCE: dinrail_reference::Backend = dinrail_reference::Backend::new(None);

#[test]
fn two_devices_share_a_graph() {
    let Some(dir) = interop::package("cpu-v2") else { return };
    let foreign = interop::best_cpu(&dir).device(0).unwrap();
    let ours = REFERENCE.device(0).unwrap();
    let mut buf = GraphBuf::<N>::new();
    let mut b = buf.builder();
    let x = b.input(DType::F32, [8, 3, 1, 1]);
    let y = b.rms_norm(x, 1e-5);
    let t = b.transpose(y);
    let c = b.cont(t);
    let r = b.reshape(c, [8, 3, 1, 1]);
    let z = b.mul(r, x);
    let out = b.add(z, y);
    b.output(out);
    b.finish().unwrap();
    let graph = buf.graph();
    let open = |d: &'static dyn Device| -> Stream { d.open(&Params::default()).unwrap() };
    let streams = [open(foreign), open(ours)];
    let streams: Vec<&Stream> = streams.iter().collect();
    let xs = common::noise(24, 11);
    let mut results = Vec::new();
    // All on one, all on the other, and mixed so that views and sources cross.
    for wishes in [&[][..], &[(y, 1), (c, 1), (z, 1), (out, 1)], &[(c, 1)], &[(y, 1), (z, 1)]] {
        let mut room = Room::<N, N>::new();
        let mut s = Scheduler::new(&streams, room.storage(), Options::DEFAULT).unwrap();
        for (node, target) in wishes {
            s.wish(*node, Some(*target)).unwrap();
        }
        s.split(graph, &[Binding::NONE]).unwrap();
        #[repr(align(64))]
        struct Aligned([u8; 4096]);
        let mut host = Aligned([0; 4096]);
        let one = Buffer::new(foreign.buffer_type(), s.arena_size(0).max(64)).unwrap();
        let two = Buffer::from_bytes_mut(ours.buffer_type(), &mut host.0);
        let schedule = s.schedule().unwrap();
        let mut bindings = vec![Binding::NONE; schedule.bindings()];
        let arenas = [Binding::new(&one), Binding::new(&two)];
        let mut ready = schedule.bind(&[], &arenas, &mut bindings).unwrap();
        for _ in 0..3 {
            ready.program().set_f32(schedule.node(x), &xs).unwrap();
            ready.run().unwrap();
            ready.synchronize().unwrap();
            let mut got = vec![0.0; 24];
            ready.program().get_f32(schedule.node(out), &mut got).unwrap();
            results.push(got);
        }
    }
    for r in &results {
        common::close(r, &results[0], 1e-5);
    }
}
