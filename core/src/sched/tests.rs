use super::*;
use crate::graph::{Builder, Flags};
use crate::hal::{Buffer, Device, DeviceKind, Params, Stream};
use crate::op::Kind;
use crate::tensor::DType;
use crate::testing::{Late, Toy, World, floats};
use core::sync::atomic::Ordering::SeqCst;
use std::string::ToString;
use std::vec;
use std::vec::Vec;

mod written;

const ALL: &[Kind] = &[Kind::Add, Kind::Mul, Kind::Sqr, Kind::Sum, Kind::Cpy];

/// y = ((x * w0 + w1)^2 * w2 + x): weights of slot 1 on the GPU, of slot 2 on the CPU.
fn graph(nodes: &mut [Node]) -> (Graph<'_>, NodeId, NodeId) {
    let mut b = Builder::new(nodes);
    let x = b.input(DType::F32, [4, 1, 1, 1]);
    let w0 = b.weight(DType::F32, [4, 1, 1, 1], 1, 0);
    let w1 = b.weight(DType::F32, [4, 1, 1, 1], 1, 16);
    let w2 = b.weight(DType::F32, [4, 1, 1, 1], 2, 0);
    let y = b.mul(x, w0);
    let y = b.add(y, w1);
    let y = b.op(crate::op::Op::Sqr, &[y]);
    let y = b.mul(y, w2);
    let y = b.add(y, x);
    b.output(y);
    (b.finish().unwrap(), x, y)
}

fn arenas(s: &Scheduler<'_, '_>) -> Vec<Buffer<'static>> {
    (0..s.streams.len())
        .map(|t| Buffer::new(s.arena_type(t).unwrap(), s.arena_size(t)).unwrap())
        .collect()
}

/// Joins what was split with new memory, and hands it to `f`.
fn with<R>(
    s: &Scheduler<'_, '_>,
    user: &[Binding<'_>],
    f: impl FnOnce(&mut Ready<'_>) -> R,
) -> Result<R> {
    let arenas = arenas(s);
    let arenas: Vec<_> = arenas.iter().map(Binding::new).collect();
    let schedule = s.schedule()?;
    let mut room = vec![Binding::NONE; schedule.bindings()];
    let mut ready = schedule.bind(user, &arenas, &mut room)?;
    Ok(f(&mut ready))
}

fn run(gpu_ops: &'static [Kind], offload: bool) -> (Vec<Split>, Vec<Kind>, Vec<Kind>) {
    let gpu = if offload {
        Toy::offloading("gpu", gpu_ops)
    } else {
        Toy::leak("gpu", DeviceKind::Gpu, gpu_ops)
    };
    let cpu = Toy::leak("cpu", DeviceKind::Cpu, ALL);
    let (a, b) = (gpu.open(&Params::default()).unwrap(), cpu.open(&Params::default()).unwrap());
    let streams = [&a, &b];
    let (one, two) =
        (floats(gpu, &[1., 2., 3., 4., 10., 10., 10., 10.]), floats(cpu, &[1., 1., 2., 2.]));
    let user = [Binding::NONE, Binding::new(&one), Binding::new(&two)];
    let mut nodes = vec![Node::EMPTY; 16];
    let (graph, x, y) = graph(&mut nodes);
    let before = graph.fingerprint();
    let mut room = Room::<40, 8>::new();
    let mut s =
        Scheduler::new(&streams, room.storage(), Options { offload, ..Options::DEFAULT }).unwrap();
    let mut first = None;
    // Run 1 and run 100 of the same graph give the same, also after a reset.
    for _ in 0..3 {
        s.split(graph, &user).unwrap();
        assert_eq!(graph.fingerprint(), before, "the caller's graph is never changed");
        let (x, y) = (s.schedule().unwrap().node(x), s.schedule().unwrap().node(y));
        with(&s, &user, |ready| {
            for _ in 0..33 {
                ready.program().set_f32(x, &[1., 1., 1., 1.]).unwrap();
                ready.run().unwrap();
                ready.synchronize().unwrap();
                let mut out = [0.0; 4];
                ready.program().get_f32(y, &mut out).unwrap();
                assert_eq!(out, [122., 145., 339., 393.]);
            }
        })
        .unwrap();
        let splits = s.schedule().unwrap().splits().to_vec();
        assert_eq!(*first.get_or_insert(splits.clone()), splits);
    }
    let take = |t: &Toy| t.computed.lock().unwrap()[..].iter().take(5).copied().collect();
    (first.unwrap(), take(gpu), take(cpu))
}

#[test]
fn nodes_go_where_their_weights_are() {
    let (splits, gpu, cpu) = run(ALL, false);
    assert_eq!(splits.len(), 2);
    assert_eq!(gpu[..3], [Kind::Mul, Kind::Add, Kind::Sqr]);
    assert_eq!(cpu[..2], [Kind::Mul, Kind::Add]);
}

#[test]
fn an_unsupported_operation_goes_elsewhere() {
    // The GPU can't square: the CPU does.
    let (splits, gpu, cpu) = run(&[Kind::Add, Kind::Mul], false);
    assert_eq!(splits.len(), 2);
    assert_eq!(gpu[..2], [Kind::Mul, Kind::Add]);
    assert_eq!(cpu[..3], [Kind::Sqr, Kind::Mul, Kind::Add]);
}

#[test]
fn products_of_host_weights_are_offloaded_on_request() {
    let (splits, gpu, cpu) = run(ALL, true);
    assert_eq!(splits.len(), 1);
    assert_eq!(gpu, [Kind::Mul, Kind::Add, Kind::Sqr, Kind::Mul, Kind::Add]);
    assert!(cpu.is_empty());
}

#[test]
fn what_is_wanted_but_not_supported_is_not_offloaded() {
    // Asks for products, can't multiply.
    let (_, gpu, cpu) = run(&[Kind::Add, Kind::Sqr], true);
    assert!(!gpu.contains(&Kind::Mul) && cpu.contains(&Kind::Mul));
}

#[test]
fn nobody_can_is_an_error_and_the_scheduler_lives_on() {
    let gpu = Toy::leak("gpu", DeviceKind::Gpu, &[Kind::Add]);
    let cpu = Toy::leak("cpu", DeviceKind::Cpu, &[Kind::Mul]);
    let (a, b) = (gpu.open(&Params::default()).unwrap(), cpu.open(&Params::default()).unwrap());
    let streams = [&a, &b];
    let mut room = Room::<40, 8>::new();
    let mut s = Scheduler::new(&streams, room.storage(), Options::DEFAULT).unwrap();
    let mut nodes = vec![Node::EMPTY; 8];
    let mut build = Builder::new(&mut nodes);
    let x = build.input(DType::F32, [4, 1, 1, 1]);
    let y = build.mul(x, x);
    let z = build.op(crate::op::Op::Sqr, &[y]);
    let graph = build.finish().unwrap();
    assert_eq!(s.split(graph, &[]), Err(Error::Unsupported { node: z, op: Kind::Sqr }));
    let why = s.why(graph, z).to_string();
    assert_eq!(why, "node 2 (SQR f32[4,1,1,1] -> f32): gpu can't, cpu can't");
    // Nothing half-done can be bound.
    assert!(s.schedule().is_err());
    let mut nodes = vec![Node::EMPTY; 8];
    let mut build = Builder::new(&mut nodes);
    let x = build.input(DType::F32, [4, 1, 1, 1]);
    let y = build.mul(x, x);
    assert_eq!(s.split(build.finish().unwrap(), &[]), Ok(()));
    assert_eq!(s.schedule().unwrap().target(y), Some(1));
    // No device at all is refused at once.
    let mut room = Room::<4, 2>::new();
    assert!(Scheduler::new(&[], room.storage(), Options::DEFAULT).is_err());
}

fn targets<const K: usize>(s: &Scheduler<'_, '_>, nodes: [NodeId; K]) -> [Option<usize>; K] {
    nodes.map(|n| s.schedule().unwrap().target(n))
}

#[test]
fn wishes_are_obeyed_or_refused() {
    let gpu = Toy::leak("gpu", DeviceKind::Gpu, &[Kind::Add]);
    let cpu = Toy::leak("cpu", DeviceKind::Cpu, ALL);
    let (a, b) = (gpu.open(&Params::default()).unwrap(), cpu.open(&Params::default()).unwrap());
    let streams = [&a, &b];
    let mut room = Room::<40, 8>::new();
    let mut s = Scheduler::new(&streams, room.storage(), Options::DEFAULT).unwrap();
    let mut nodes = vec![Node::EMPTY; 8];
    let mut build = Builder::new(&mut nodes);
    let x = build.input(DType::F32, [4, 1, 1, 1]);
    let y = build.add(x, x);
    let z = build.mul(y, y);
    let graph = build.finish().unwrap();
    s.wish(y, Some(1)).unwrap();
    s.split(graph, &[]).unwrap();
    assert_eq!(targets(&s, [y, z]), [Some(1), Some(1)]);
    s.wish(y, Some(0)).unwrap();
    s.split(graph, &[]).unwrap();
    assert_eq!(targets(&s, [y, z]), [Some(0), Some(1)]);
    s.wish(z, Some(0)).unwrap();
    assert_eq!(s.split(graph, &[]), Err(Error::Unsupported { node: z, op: Kind::Mul }));
    assert!(s.wish(z, Some(2)).is_err());
    s.clear_wishes();
    assert!(s.split(graph, &[]).is_ok());
}

#[test]
fn capacities_are_errors() {
    let cpu = Toy::leak("cpu", DeviceKind::Cpu, ALL);
    let c = cpu.open(&Params::default()).unwrap();
    let streams = [&c];
    let mut nodes = vec![Node::EMPTY; 8];
    let mut build = Builder::new(&mut nodes);
    let x = build.input(DType::F32, [4, 1, 1, 1]);
    let y = build.add(x, x);
    build.mul(y, x);
    let graph = build.finish().unwrap();
    fn full<const N: usize, const S: usize>(streams: &[&Stream], graph: Graph<'_>) -> Error {
        let mut room = Room::<N, S>::new();
        let mut s = Scheduler::new(streams, room.storage(), Options::DEFAULT).unwrap();
        let error = s.split(graph, &[]).unwrap_err();
        assert_eq!(s.split(graph, &[]), Err(error), "still usable, to the same end");
        error
    }
    let nodes = |have| Error::Full { what: What::Nodes, need: 3, have };
    assert_eq!(full::<0, 1>(&streams, graph), nodes(0));
    assert_eq!(full::<2, 1>(&streams, graph), nodes(2));
    let splits = Error::Full { what: What::Splits, need: 1, have: 0 };
    assert_eq!(full::<3, 0>(&streams, graph), splits);
    let mut room = Room::<3, 1>::new();
    let mut s = Scheduler::new(&streams, room.storage(), Options::DEFAULT).unwrap();
    assert!(s.split(graph, &[]).is_ok());
    // More slots than there are numbers, too little memory, too little room for bindings.
    let many = [Binding::NONE; 254];
    assert!(matches!(s.split(graph, &many), Err(Error::Invalid { value: 254, .. })));
    s.split(graph, &many[..253]).unwrap();
    let schedule = s.schedule().unwrap();
    let short = Buffer::new(s.arena_type(0).unwrap(), s.arena_size(0) - 1).unwrap();
    let mut room = [Binding::NONE; 255];
    let small = schedule.bind(&[], &[Binding::new(&short)], &mut room).unwrap_err();
    assert_eq!(small, Error::Full { what: What::Arena, need: 128, have: 127 });
    let mut room = [Binding::NONE; 254];
    let small = schedule.bind(&[], &[Binding::new(&short)], &mut room).unwrap_err();
    assert_eq!(small, Error::Full { what: What::Plan, need: 255, have: 254 });
    for copies in [0, MAX_COPIES + 1] {
        let mut room = Room::<3, 1>::new();
        let options = Options { copies, ..Options::DEFAULT };
        assert!(Scheduler::new(&streams, room.storage(), options).is_err());
    }
}

#[test]
fn a_cache_written_by_one_device_is_read_fresh_by_another() {
    // The CPU owns the cache; the GPU squares it before and after it changes.
    let gpu = Toy::leak("gpu", DeviceKind::Gpu, &[Kind::Sqr, Kind::Sum]);
    let cpu = Toy::leak("cpu", DeviceKind::Cpu, &[Kind::Cpy, Kind::Add]);
    let (a, b) = (gpu.open(&Params::default()).unwrap(), cpu.open(&Params::default()).unwrap());
    let streams = [&a, &b];
    let cache = floats(cpu, &[1., 2., 3., 4.]);
    let user = [Binding::NONE, Binding::new(&cache)];
    let mut nodes = vec![Node::EMPTY; 16];
    let mut build = Builder::new(&mut nodes);
    let x = build.input(DType::F32, [4, 1, 1, 1]);
    let kv = build.leaf(DType::F32, [4, 1, 1, 1], 1, 0);
    let before = build.op(crate::op::Op::Sqr, &[kv]);
    build.output(before);
    build.cpy(x, kv);
    let after = build.op(crate::op::Op::Sqr, &[kv]);
    build.output(after);
    let graph = build.finish().unwrap();
    let mut room = Room::<40, 8>::new();
    let mut s = Scheduler::new(&streams, room.storage(), Options::DEFAULT).unwrap();
    s.split(graph, &user).unwrap();
    let x = s.schedule().unwrap().node(x);
    with(&s, &user, |ready| {
        let schedule = *ready.schedule();
        ready.program().set_f32(x, &[5., 6., 7., 8.]).unwrap();
        let mut seen = vec![];
        let output = |id| graph.node(id).unwrap().flags.has(Flags::OUTPUT);
        ready
            .run_watched(output, |p, id| {
                let mut v = [0.0; 4];
                p.get_f32(schedule.node(id), &mut v).unwrap();
                seen.push((id, v));
                true
            })
            .unwrap();
        assert_eq!(seen, [(before, [1., 4., 9., 16.]), (after, [25., 36., 49., 64.])]);
        assert!(gpu.copied_in.load(SeqCst) >= 32);
        let stopped = ready.run_watched(|_| true, |_, _| false);
        assert_eq!(stopped, Err(Error::Cancelled));
        ready.begin().unwrap();
        ready.run_watched(|_| true, |_, _| true).unwrap();
    })
    .unwrap();
}

#[test]
fn memory_is_known_before_it_is_taken_and_failing_to_get_it_is_survivable() {
    let gpu = Toy::leak("gpu", DeviceKind::Gpu, ALL);
    let g = gpu.open(&Params::default()).unwrap();
    let streams = [&g];
    let mut room = Room::<40, 8>::new();
    let mut s = Scheduler::new(&streams, room.storage(), Options::DEFAULT).unwrap();
    gpu.budget.store(1 << 20, SeqCst);
    for (len, fits) in [(1000usize, true), (1 << 19, false), (1000, true)] {
        let mut nodes = vec![Node::EMPTY; 8];
        let mut build = Builder::new(&mut nodes);
        let x = build.input(DType::F32, [len, 1, 1, 1]);
        let y = build.op(crate::op::Op::Sqr, &[x]);
        build.output(y);
        let graph = build.finish().unwrap();
        s.split(graph, &[]).unwrap();
        let size = s.arena_size(0);
        match Buffer::new(s.arena_type(0).unwrap(), size) {
            Ok(_) => assert!(fits),
            Err(e) => {
                assert!(!fits);
                let available = gpu.budget.load(SeqCst);
                assert_eq!(e, Error::OutOfMemory { requested: size, available });
                continue;
            }
        }
        // A GPU alone, no CPU at all; the smaller graph as well after the larger one as before.
        let (x, y) = (s.schedule().unwrap().node(x), s.schedule().unwrap().node(y));
        with(&s, &[], |ready| {
            ready.begin().unwrap().set_f32(x, &vec![3.0; len]).unwrap();
            ready.run().unwrap();
            ready.synchronize().unwrap();
            let mut out = vec![0.0; len];
            ready.program().get_f32(y, &mut out).unwrap();
            assert!(out.iter().all(|y| *y == 9.0));
        })
        .unwrap();
    }
}

#[test]
fn what_was_reserved_is_kept_for_smaller_graphs() {
    let cpu = Toy::leak("cpu", DeviceKind::Cpu, ALL);
    let c = cpu.open(&Params::default()).unwrap();
    let streams = [&c];
    let mut room = Room::<8, 2>::new();
    let mut s = Scheduler::new(&streams, room.storage(), Options::DEFAULT).unwrap();
    let of = |len: usize, nodes: &mut [Node]| {
        let mut build = Builder::new(nodes);
        let x = build.input(DType::F32, [len, 1, 1, 1]);
        let y = build.mul(x, x);
        build.output(y);
        assert_eq!(build.finish().unwrap().len(), 2);
    };
    let (mut large, mut small) = ([Node::EMPTY; 2], [Node::EMPTY; 2]);
    of(1024, &mut large);
    of(16, &mut small);
    let (large, small) = (Graph::check(&large).unwrap(), Graph::check(&small).unwrap());
    s.reserve(large, &[]).unwrap();
    let most = s.arena_size(0);
    // The same graph object, reserved and split again and again.
    for _ in 0..3 {
        s.split(small, &[]).unwrap();
        assert_eq!(s.arena_size(0), most);
        s.reserve(large, &[]).unwrap();
        assert_eq!(s.arena_size(0), most);
    }
    s.reset();
    s.split(small, &[]).unwrap();
    assert!(s.arena_size(0) < most);
}

/// What [`graph`] gives.
fn expected(x: f32) -> [f32; 4] {
    let w = [[1., 10., 1.], [2., 10., 1.], [3., 10., 2.], [4., 10., 2.]];
    w.map(|[w0, w1, w2]: [f32; 3]| (x * w0 + w1) * (x * w0 + w1) * w2 + x)
}

/// Queues eight runs with inputs 0, 1, 2, … and reads the result of each only when the next one is queued, where copies
/// allow it. Returns the most that was ever waiting when a run began.
fn overlapping(events: bool, asynchronous: bool, copies: usize, both_late: bool) -> usize {
    let world = World::leak();
    let gpu = Late::leak(world, "late0", 0, events, asynchronous);
    let cpu = Toy::with("cpu", DeviceKind::Cpu, ALL, |t| t.host = true);
    let second = Late::leak(world, "late1", 1, events, asynchronous);
    let other: &'static dyn Device = if both_late { second } else { cpu };
    let open = |d: &'static dyn Device| d.open(&Params::default()).unwrap();
    let (a, b, c) = (open(gpu), open(second), open(cpu));
    // Inputs start in the memory of the last one, where the host writes them without waiting for anybody.
    let streams: &[&Stream] = if both_late { &[&a, &b, &c] } else { &[&a, &c] };
    let fill = |d: &'static dyn Device, data: &[f32]| {
        let buffer = Buffer::new(d.buffer_type(), data.len() * 4).unwrap();
        buffer.write(0, &data.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>()).unwrap();
        buffer
    };
    // First on one device, then on the other.
    let (one, two) =
        (fill(gpu, &[1., 2., 3., 4., 10., 10., 10., 10.]), fill(other, &[1., 1., 2., 2.]));
    let user = [Binding::NONE, Binding::new(&one), Binding::new(&two)];
    let mut nodes = vec![Node::EMPTY; 16];
    let (graph, x, y) = graph(&mut nodes);
    let mut room = Room::<40, 8>::new();
    let options = Options { copies, ..Options::DEFAULT };
    let mut s = Scheduler::new(streams, room.storage(), options).unwrap();
    s.split(graph, &user).unwrap();
    let (x, y) = (s.schedule().unwrap().node(x), s.schedule().unwrap().node(y));
    let most = with(&s, &user, |ready| {
        let mut most = 0;
        // Results in order.
        for i in 0..8 {
            ready.begin().unwrap().set_f32(x, &[i as f32; 4]).unwrap();
            ready.run().unwrap();
            let mut out = [0.0; 4];
            ready.program().get_f32(y, &mut out).unwrap();
            assert_eq!(out, expected(i as f32), "run {i}");
        }
        // Only the last one's result.
        for i in 0..8 {
            let program = ready.begin().unwrap();
            most = most.max(world.pending());
            program.set_f32(x, &[i as f32; 4]).unwrap();
            ready.run().unwrap();
        }
        ready.synchronize().unwrap();
        let mut out = [0.0; 4];
        ready.program().get_f32(y, &mut out).unwrap();
        assert_eq!(out, expected(7.0));
        most
    })
    .unwrap();
    drop((one, two));
    assert_eq!(gpu.living.load(SeqCst), 0, "buffers and events are given back");
    most
}

#[test]
fn runs_overlap_and_give_the_same() {
    // One copy: nothing is under way when the next run begins.
    for (events, asynchronous) in [(true, true), (false, true), (true, false), (false, false)] {
        assert_eq!(overlapping(events, asynchronous, 1, true), 0, "{events} {asynchronous}");
    }
    // Devices that queue everything: with two copies one whole run is under way, with four three.
    let two = overlapping(true, true, 2, true);
    let four = overlapping(true, true, 4, true);
    assert!(two > 0 && four == 3 * two, "{two} {four}");
    // Without events or asynchronous copies it is slower and right.
    assert_eq!(overlapping(false, true, 3, true), 0);
    overlapping(true, false, 3, true);
    overlapping(false, false, 3, true);
    // A CPU behind it waits for its part of the run, but the rest of the queue may go on.
    for copies in 1..=4 {
        for (events, asynchronous) in [(true, true), (false, true), (true, false)] {
            overlapping(events, asynchronous, copies, false);
        }
    }
}

#[test]
fn host_inputs_are_on_their_way_while_the_last_run_computes() {
    let world = World::leak();
    let gpu = Late::leak(world, "late", 0, true, true);
    let cpu = Toy::with("cpu", DeviceKind::Cpu, ALL, |t| t.host = true);
    let (a, b) = (gpu.open(&Params::default()).unwrap(), cpu.open(&Params::default()).unwrap());
    let streams = [&a, &b];
    let mut build_nodes = [Node::EMPTY; 4];
    let mut build = Builder::new(&mut build_nodes);
    let x = build.input(DType::F32, [4, 1, 1, 1]);
    let y = build.op(crate::op::Op::Sqr, &[x]);
    build.output(y);
    let graph = build.finish().unwrap();
    let mut room = Room::<8, 2>::new();
    let options = Options { copies: 2, ..Options::DEFAULT };
    let mut s = Scheduler::new(&streams, room.storage(), options).unwrap();
    s.wish(y, Some(0)).unwrap();
    s.split(graph, &[]).unwrap();
    let schedule = s.schedule().unwrap();
    assert_eq!(schedule.part(1).turning, 2 * 64, "two places for the input");
    let split = schedule.splits()[0];
    let transfers: Vec<_> = schedule.transfers(&split).collect();
    assert_eq!(transfers, [(x, 1, 16)]);
    let (x, y) = (schedule.node(x), schedule.node(y));
    with(&s, &[], |ready| {
        for i in 0..2 {
            ready.begin().unwrap().set_f32(x, &[i as f32 + 2.0; 4]).unwrap();
            ready.run().unwrap();
        }
        // An upload and a square, twice: nothing has been waited for.
        assert_eq!(world.pending(), 4);
        let mut out = [0.0; 4];
        ready.program().get_f32(y, &mut out).unwrap();
        assert_eq!(out, [9.0; 4]);
    })
    .unwrap();
}

#[test]
fn devices_that_use_each_others_memory_wait_for_each_other() {
    // No transfers at all: only waiting keeps the second device from reading too early, and the first from writing the
    // next run's numbers under its eyes.
    for copies in [1, 2] {
        let world = World::leak();
        let cpu = Toy::with("cpu", DeviceKind::Cpu, ALL, |t| t.host = true);
        let one = Late::with(world, "one", 0, true, true, true);
        let two = Late::with(world, "two", 1, true, true, true);
        let open = |d: &'static dyn Device| d.open(&Params::default()).unwrap();
        let (a, b, c) = (open(one), open(two), open(cpu));
        let streams = [&a, &b, &c];
        let mut nodes = [Node::EMPTY; 8];
        let mut build = Builder::new(&mut nodes);
        let x = build.input(DType::F32, [4, 1, 1, 1]);
        let y = build.op(crate::op::Op::Sqr, &[x]);
        let z = build.add(y, y);
        build.output(z);
        let graph = build.finish().unwrap();
        let mut room = Room::<8, 4>::new();
        let options = Options { copies, in_place: false, ..Options::DEFAULT };
        let mut s = Scheduler::new(&streams, room.storage(), options).unwrap();
        // The reader is waited for before the writer.
        s.wish(y, Some(1)).unwrap();
        s.wish(z, Some(0)).unwrap();
        s.split(graph, &[]).unwrap();
        let schedule = s.schedule().unwrap();
        let [first, second] = schedule.splits() else { panic!("{:?}", schedule.splits()) };
        assert_eq!((first.waits, second.waits), (1, 2));
        assert_eq!(schedule.transfers(second).count(), 0);
        let (x, z) = (schedule.node(x), schedule.node(z));
        with(&s, &[], |ready| {
            for i in 0..5 {
                ready.begin().unwrap().set_f32(x, &[i as f32; 4]).unwrap();
                ready.run().unwrap();
                // The second device's part of this run is still to be done when the first gets the next one.
                assert!(world.pending() > 0);
                if i % 2 == 0 {
                    let mut out = [0.0; 4];
                    ready.synchronize().unwrap();
                    ready.program().get_f32(z, &mut out).unwrap();
                    assert_eq!(out, [(2 * i * i) as f32; 4]);
                }
            }
            ready.synchronize().unwrap();
        })
        .unwrap();
    }
}

#[test]
fn a_device_without_asynchronous_transfers_gives_the_right_numbers() {
    let world = World::leak();
    let late = Late::leak(world, "late", 0, true, false);
    let stranger = Late::leak(World::leak(), "other", 0, true, false);
    let stream = late.open(&Params::default()).unwrap();
    let mut nodes = [Node::EMPTY; 4];
    let mut build = Builder::new(&mut nodes);
    let x = build.input(DType::F32, [4, 1, 1, 1]);
    let y = build.op(crate::op::Op::Sqr, &[x]);
    build.output(y);
    let graph = build.finish().unwrap();
    let plan = crate::plan::PlanBuf::<4>::new(graph, &crate::plan::Options::DEFAULT).unwrap();
    let arena = Buffer::new(late.buffer_type(), plan.plan().summary().arena).unwrap();
    let bindings = [Binding::new(&arena)];
    let program = crate::program::Program::new(graph, plan.plan(), &bindings).unwrap();
    let place = |id: NodeId| {
        let (buffer, offset) = program.place(id).unwrap();
        (buffer, crate::hal::Span { desc: &graph.node(id).unwrap().desc, offset })
    };
    for i in 1..4u8 {
        let mut host: Vec<u8> = [f32::from(i); 4].iter().flat_map(|x| x.to_le_bytes()).collect();
        let mut out = [0u8; 16];
        // Input, computation and result in one scope: the fallback waits where it must, and the host's bytes are free
        // again when the scope ends.
        stream
            .scope(|s| {
                let (buffer, at) = place(x);
                s.set(buffer, at, 0, &host)?;
                s.compute(&program)?;
                let (buffer, at) = place(y);
                s.get(buffer, at, 0, &mut out)
            })
            .unwrap();
        host.fill(0xEE);
        assert_eq!(f32::from_le_bytes(out[..4].try_into().unwrap()), f32::from(i * i));
        assert_eq!(world.pending(), 0);
    }
    // An event of another device is an error, not a cast.
    let event = crate::hal::Event::new(stranger).unwrap();
    assert_eq!(stream.record(&event), Err(Error::ForeignObject { object: "event" }));
}
