use super::*;
use crate::graph::{Builder, Flags};
use crate::hal::{Buffer, Device, DeviceKind, Params};
use crate::op::Kind;
use crate::tensor::DType;
use crate::testing::{Toy, floats};
use core::sync::atomic::Ordering::SeqCst;
use std::vec;
use std::vec::Vec;

struct Room {
    nodes: Vec<Node>,
    targets: Vec<u8>,
    work: Vec<Work>,
    locs: Vec<Loc>,
    info: Vec<Info>,
    splits: Vec<Split>,
}

impl Room {
    fn new(n: usize, splits: usize) -> Self {
        Self {
            nodes: vec![Node::EMPTY; n],
            targets: vec![0; n],
            work: vec![Work::EMPTY; n],
            locs: vec![Loc::ZERO; n],
            info: vec![Info::EMPTY; n],
            splits: vec![Split::default(); splits],
        }
    }
    fn storage(&mut self) -> Storage<'_> {
        Storage {
            nodes: &mut self.nodes,
            targets: &mut self.targets,
            work: &mut self.work,
            locs: &mut self.locs,
            info: &mut self.info,
            splits: &mut self.splits,
        }
    }
}

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

fn arenas(s: &Scheduler<'_, '_>, n: usize) -> Vec<Buffer<'static>> {
    (0..n).map(|t| Buffer::new(s.arena_type(t).unwrap(), s.arena_size(t)).unwrap()).collect()
}

fn bind<'b>(user: &[Binding<'b>], arenas: &'b [Buffer<'static>]) -> Vec<Binding<'b>> {
    let mut all = vec![Binding::NONE; usize::from(ARENAS) + arenas.len()];
    all[..user.len()].copy_from_slice(user);
    for (i, a) in arenas.iter().enumerate() {
        all[usize::from(ARENAS) + i] = Binding::new(a);
    }
    all
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
    let mut room = Room::new(40, 8);
    let mut s =
        Scheduler::new(&streams, room.storage(), Options { offload, ..Options::DEFAULT }).unwrap();
    let mut first = None;
    // Run 1 and run 100 of the same graph give the same, also after a reset.
    for _ in 0..3 {
        s.split(graph, &user).unwrap();
        assert_eq!(graph.fingerprint(), before, "the caller's graph is never changed");
        let arenas = arenas(&s, 2);
        let bound = bind(&user, &arenas);
        let ready = s.bind(&bound).unwrap();
        for _ in 0..10 {
            ready.program().set_f32(s.node(x), &[1., 1., 1., 1.]).unwrap();
            ready.run().unwrap();
            ready.synchronize().unwrap();
            let mut out = [0.0; 4];
            ready.program().get_f32(s.node(y), &mut out).unwrap();
            assert_eq!(out, [122., 145., 339., 393.]);
        }
        let splits = s.splits().to_vec();
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
    let mut room = Room::new(40, 8);
    let mut s = Scheduler::new(&streams, room.storage(), Options::DEFAULT).unwrap();
    let mut nodes = vec![Node::EMPTY; 8];
    let mut build = Builder::new(&mut nodes);
    let x = build.input(DType::F32, [4, 1, 1, 1]);
    let y = build.mul(x, x);
    let z = build.op(crate::op::Op::Sqr, &[y]);
    let graph = build.finish().unwrap();
    assert_eq!(s.split(graph, &[]), Err(Error::Unsupported { node: z, op: Kind::Sqr }));
    let mut said = vec![];
    s.explain(graph, z, |stream, yes| said.push((stream.device().name(), yes)));
    assert_eq!(said, [("gpu", false), ("cpu", false)]);
    let mut nodes = vec![Node::EMPTY; 8];
    let mut build = Builder::new(&mut nodes);
    let x = build.input(DType::F32, [4, 1, 1, 1]);
    let y = build.mul(x, x);
    assert_eq!(s.split(build.finish().unwrap(), &[]), Ok(()));
    assert_eq!(s.target(y), Some(1));
    // No device at all is refused at once.
    let mut room = Room::new(4, 2);
    assert!(Scheduler::new(&[], room.storage(), Options::DEFAULT).is_err());
}

#[test]
fn wishes_are_obeyed_or_refused() {
    let gpu = Toy::leak("gpu", DeviceKind::Gpu, &[Kind::Add]);
    let cpu = Toy::leak("cpu", DeviceKind::Cpu, ALL);
    let (a, b) = (gpu.open(&Params::default()).unwrap(), cpu.open(&Params::default()).unwrap());
    let streams = [&a, &b];
    let mut room = Room::new(40, 8);
    let mut s = Scheduler::new(&streams, room.storage(), Options::DEFAULT).unwrap();
    let mut nodes = vec![Node::EMPTY; 8];
    let mut build = Builder::new(&mut nodes);
    let x = build.input(DType::F32, [4, 1, 1, 1]);
    let y = build.add(x, x);
    let z = build.mul(y, y);
    let graph = build.finish().unwrap();
    s.wish(y, Some(1)).unwrap();
    s.split(graph, &[]).unwrap();
    assert_eq!((s.target(y), s.target(z)), (Some(1), Some(1)));
    s.wish(y, Some(0)).unwrap();
    s.split(graph, &[]).unwrap();
    assert_eq!((s.target(y), s.target(z)), (Some(0), Some(1)));
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
    for n in 0..3 {
        let mut room = Room::new(n, 1);
        let mut s = Scheduler::new(&streams, room.storage(), Options::DEFAULT).unwrap();
        assert!(matches!(s.split(graph, &[]), Err(Error::Full { .. })));
    }
    let mut room = Room::new(3, 0);
    let mut s = Scheduler::new(&streams, room.storage(), Options::DEFAULT).unwrap();
    assert!(matches!(s.split(graph, &[]), Err(Error::Full { what: What::Splits, .. })));
    let mut room = Room::new(3, 1);
    let mut s = Scheduler::new(&streams, room.storage(), Options::DEFAULT).unwrap();
    assert!(s.split(graph, &[]).is_ok());
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
    let mut room = Room::new(40, 8);
    let mut s = Scheduler::new(&streams, room.storage(), Options::DEFAULT).unwrap();
    s.split(graph, &user).unwrap();
    let arenas = arenas(&s, 2);
    let bound = bind(&user, &arenas);
    let ready = s.bind(&bound).unwrap();
    ready.program().set_f32(s.node(x), &[5., 6., 7., 8.]).unwrap();
    let mut seen = vec![];
    ready
        .run_watched(
            |id| ready.program().graph().node(id).unwrap().flags.has(Flags::OUTPUT),
            |p, id| {
                let mut v = [0.0; 4];
                p.get_f32(id, &mut v).unwrap();
                seen.push(v);
                true
            },
        )
        .unwrap();
    assert_eq!(seen, [[1., 4., 9., 16.], [25., 36., 49., 64.]]);
    assert!(gpu.copied_in.load(SeqCst) >= 32);
    let stopped = ready.run_watched(|_| true, |_, _| false);
    assert_eq!(stopped, Err(Error::Cancelled));
}

#[test]
fn memory_is_known_before_it_is_taken_and_failing_to_get_it_is_survivable() {
    let gpu = Toy::leak("gpu", DeviceKind::Gpu, ALL);
    let g = gpu.open(&Params::default()).unwrap();
    let streams = [&g];
    let mut room = Room::new(40, 8);
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
        let got = Buffer::new(s.arena_type(0).unwrap(), s.arena_size(0));
        assert_eq!(got.is_ok(), fits);
    }
}
