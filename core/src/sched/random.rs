//! Graphs of chance on devices of chance, against an interpreter that knows nothing of devices.

use super::*;
use crate::graph::{Builder, Place};
use crate::hal::{Buffer, BufferType, Device, DeviceKind, Params};
use crate::op::{Kind, Op};
use crate::tensor::DType;
use crate::testing::{Late, Toy, World};
use std::vec;
use std::vec::Vec;

const ALL: &[Kind] = &[Kind::Add, Kind::Mul, Kind::Sqr, Kind::Cpy];
const SHAPE: [usize; 4] = [4, 1, 1, 1];

/// Numbers of chance (splitmix64).
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) % n as u64) as usize
    }

    fn yes(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    fn of<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }
}

/// What memory holds if nodes are computed in order: of slots, which stay, and of the nodes of one run.
struct Plain {
    slots: Vec<Vec<f32>>,
    nodes: Vec<Vec<f32>>,
}

impl Plain {
    /// The memory that node `id` lies in, and its first number there.
    fn memory(&mut self, graph: Graph<'_>, id: NodeId) -> (&mut Vec<f32>, usize) {
        let node = graph.node(id).unwrap();
        match node.place {
            Place::Slot { slot, offset } => (&mut self.slots[usize::from(slot)], offset / 4),
            Place::Arena => (&mut self.nodes[id.index()], 0),
            Place::Within { source, offset } => {
                let of = node.source(usize::from(source)).unwrap();
                let (memory, at) = self.memory(graph, of);
                (memory, at + offset / 4)
            }
        }
    }

    fn read(&mut self, graph: Graph<'_>, id: NodeId) -> Vec<f32> {
        let (memory, at) = self.memory(graph, id);
        memory[at..at + 4].to_vec()
    }

    fn run(&mut self, graph: Graph<'_>, x: NodeId, input: f32) {
        self.nodes = vec![vec![0.0; 4]; graph.len()];
        self.nodes[x.index()] = vec![input; 4];
        for (i, node) in graph.nodes().iter().enumerate().filter(|(_, n)| !n.op.is_view()) {
            let a = self.read(graph, node.source(0).unwrap());
            let out: Vec<f32> = match node.op {
                Op::Sqr => a.iter().map(|x| x * x).collect(),
                Op::Cpy => a,
                _ => {
                    let b = self.read(graph, node.source(1).unwrap());
                    let add = node.op == Op::Add;
                    a.iter().zip(&b).map(|(x, y)| if add { x + y } else { x * y }).collect()
                }
            };
            let (memory, at) = self.memory(graph, NodeId(i as u16));
            memory[at..at + 4].copy_from_slice(&out);
        }
    }
}

/// Some operations on an input, on what they gave, and on bound memory that some of them write to. Returns the input and
/// the outputs.
fn build(dice: &mut Dice, b: &mut Builder<'_>, slots: usize) -> (NodeId, Vec<NodeId>) {
    let x = b.input(DType::F32, SHAPE);
    let mut values = vec![x];
    for slot in 1..=slots {
        // Two pieces of the same memory, that overlap or not, and one seen through a view.
        let whole = b.leaf(DType::F32, [8, 1, 1, 1], slot as u8, 0);
        values.push(b.view_1d(whole, 4, 4 * dice.below(5)));
        values.push(b.view_1d(whole, 4, 4 * dice.below(5)));
    }
    let (mut computed, mut outputs) = (vec![], vec![]);
    for _ in 0..3 + dice.below(14) {
        let a = dice.of(&values);
        let id = match dice.below(6) {
            0 => b.op(Op::Sqr, &[a]),
            1 => b.add(a, dice.of(&values)),
            2 => b.mul(a, dice.of(&values)),
            3 => b.view_1d(a, 4, 0),
            _ => {
                // Into something else than what the input lies in, which the host owns.
                match dice.of(&values) {
                    to if to == a || to == x => b.add(a, to),
                    to => b.cpy(a, to),
                }
            }
        };
        values.push(id);
        computed.push(id);
    }
    for _ in 0..1 + dice.below(3) {
        outputs.push(dice.of(&computed));
    }
    outputs.iter().for_each(|id| b.output(*id));
    (x, outputs)
}

fn same(a: &[f32], b: &[f32]) -> bool {
    a.iter().zip(b).all(|(a, b)| a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan())
}

/// Whether the graph could be split.
fn one(seed: u64) -> bool {
    let mut dice = Dice(seed);
    let world = World::leak();
    let flags = [0; 6].map(|_| dice.yes(60));
    let one = Late::with(world, "one", 0, flags[0], flags[1], flags[2]);
    let two = Late::with(world, "two", 1, flags[3], flags[4], flags[5]);
    let ops = dice.of(&[ALL, ALL, &[Kind::Add, Kind::Mul, Kind::Cpy], &[Kind::Sqr, Kind::Mul]]);
    let cpu = Toy::with("cpu", DeviceKind::Cpu, ops, |t| t.host = true);
    let devices: [&'static dyn Device; 3] = [one, two, cpu];
    let streams = devices.map(|d| d.open(&Params::default()).unwrap());
    let streams: Vec<&Stream> = streams.iter().skip(dice.below(3).min(1)).collect();
    let types: Vec<&'static dyn BufferType> =
        streams.iter().map(|s| s.device().buffer_type()).collect();

    let slots: Vec<Buffer<'_>> =
        (0..dice.below(4)).map(|_| Buffer::new(dice.of(&types), 32).unwrap()).collect();
    let mut plain = Plain { slots: vec![vec![]], nodes: vec![] };
    for (i, slot) in slots.iter().enumerate() {
        let numbers: Vec<f32> = (0..8).map(|k| (i + k) as f32 * 0.25 - 0.5).collect();
        let bytes: Vec<u8> = numbers.iter().flat_map(|x| x.to_le_bytes()).collect();
        slot.write(0, &bytes).unwrap();
        plain.slots.push(numbers);
    }
    let user: Vec<Binding<'_>> =
        core::iter::once(Binding::NONE).chain(slots.iter().map(Binding::new)).collect();

    let mut nodes = vec![Node::EMPTY; 48];
    let mut b = Builder::new(&mut nodes);
    let (x, outputs) = build(&mut dice, &mut b, slots.len());
    let graph = b.finish().unwrap();
    let mut room = Room::<200, 40>::new();
    let (copies, in_place) = (1 + dice.below(MAX_COPIES), dice.yes(70));
    let options = Options { copies, in_place, ..Options::DEFAULT };
    let mut s = Scheduler::new(&streams, room.storage(), options).unwrap();
    for i in 0..graph.len() {
        let node = graph.nodes()[i];
        if !node.op.is_view() && dice.yes(30) {
            s.wish(NodeId(i as u16), Some(dice.below(streams.len()))).unwrap();
        }
    }
    match s.split(graph, &user) {
        Ok(()) => {}
        Err(Error::Unsupported { .. }) => return false,
        Err(e) => panic!("seed {seed}: {e}"),
    }
    let arenas: Vec<Buffer<'_>> =
        (0..streams.len()).map(|t| Buffer::new(types[t], s.arena_size(t)).unwrap()).collect();
    let arenas: Vec<Binding<'_>> = arenas.iter().map(Binding::new).collect();
    let schedule = s.schedule().unwrap();
    let mut room = vec![Binding::NONE; schedule.bindings()];
    let mut ready = schedule.bind(&user, &arenas, &mut room).unwrap();
    for run in 0..6 {
        let input = run as f32 * 0.5 - 1.0;
        ready.begin().unwrap().set_f32(schedule.node(x), &[input; 4]).unwrap();
        plain.run(graph, x, input);
        if dice.yes(20) {
            ready.run_watched(|n| n.0 % 3 == 0, |_, _| true).unwrap();
        } else {
            ready.run().unwrap();
        }
        if run == 5 || dice.yes(40) {
            ready.synchronize().unwrap();
            for id in &outputs {
                let mut out = [0.0; 4];
                ready.program().get_f32(schedule.node(*id), &mut out).unwrap();
                let wanted = plain.read(graph, *id);
                assert!(same(&out, &wanted), "seed {seed}, run {run}: {out:?}, {wanted:?}");
            }
        }
    }
    for (i, slot) in slots.iter().enumerate() {
        let mut bytes = [0; 32];
        slot.read(0, &mut bytes).unwrap();
        let numbers: Vec<f32> =
            bytes.chunks_exact(4).map(|b| f32::from_le_bytes(b.try_into().unwrap())).collect();
        assert!(same(&numbers, &plain.slots[i + 1]), "seed {seed}, slot {i}: {numbers:?}");
    }
    true
}

#[test]
fn any_graph_gives_the_numbers_of_one_device() {
    let split = (0..3000).filter(|seed| one(*seed)).count();
    assert!(split > 1500, "{split}");
}

#[test]
fn of_a_view_only_what_it_shows_is_copied() {
    let gpu = Toy::leak("gpu", DeviceKind::Gpu, ALL);
    let cpu = Toy::leak("cpu", DeviceKind::Cpu, ALL);
    let streams = [gpu, cpu].map(|d| d.open(&Params::default()).unwrap());
    let streams = [&streams[0], &streams[1]];
    let cache = Buffer::new(cpu.buffer_type(), 4000).unwrap();
    let user = [Binding::NONE, Binding::new(&cache)];
    let mut nodes = vec![Node::EMPTY; 8];
    let mut b = Builder::new(&mut nodes);
    let x = b.input(DType::F32, SHAPE);
    let whole = b.leaf(DType::F32, [1000, 1, 1, 1], 1, 0);
    let y = b.op(Op::Sqr, &[x]);
    // Views of a view, laid down between two nodes of the split that needs them.
    let part = b.view_1d(whole, 100, 400);
    let piece = b.view_1d(part, 4, 8);
    let z = b.mul(y, piece);
    b.output(z);
    let graph = b.finish().unwrap();
    let mut room = Room::<16, 4>::new();
    let mut s = Scheduler::new(&streams, room.storage(), Options::DEFAULT).unwrap();
    s.wish(y, Some(0)).unwrap();
    s.wish(z, Some(0)).unwrap();
    s.split(graph, &user).unwrap();
    let schedule = s.schedule().unwrap();
    let [split] = schedule.splits() else { panic!("{:?}", schedule.splits()) };
    let copied: Vec<_> = schedule.transfers(split).collect();
    assert_eq!(copied, [(x, 1, 16), (piece, 1, 16)]);
}

#[test]
fn what_has_no_numbers_gets_through() {
    let gpu = Toy::leak("gpu", DeviceKind::Gpu, ALL);
    let cpu = Toy::leak("cpu", DeviceKind::Cpu, ALL);
    let streams = [gpu, cpu].map(|d| d.open(&Params::default()).unwrap());
    let streams = [&streams[0], &streams[1]];
    let cache = Buffer::new(gpu.buffer_type(), 16).unwrap();
    let user = [Binding::NONE, Binding::new(&cache)];
    let mut nodes = vec![Node::EMPTY; 12];
    let mut b = Builder::new(&mut nodes);
    let x = b.input(DType::F32, [0, 1, 1, 1]);
    let whole = b.leaf(DType::F32, SHAPE, 1, 0);
    let nothing = b.view_1d(whole, 0, 8);
    // Nothing is written to memory out of reach, and nothing of it is read.
    let written = b.cpy(x, nothing);
    let seen = b.view_1d(written, 0, 0);
    let y = b.op(Op::Sqr, &[seen]);
    let z = b.op(Op::Sqr, &[y]);
    b.output(z);
    let graph = b.finish().unwrap();
    let mut room = Room::<32, 8>::new();
    for t in 0..4 {
        let mut s = Scheduler::new(&streams, room.storage(), Options::DEFAULT).unwrap();
        s.wish(written, Some(1)).unwrap();
        s.wish(y, Some(t & 1)).unwrap();
        s.wish(z, Some(t >> 1)).unwrap();
        s.split(graph, &user).unwrap();
        let kinds = streams.map(|s| s.device().buffer_type());
        let arenas = [0, 1].map(|t| Buffer::new(kinds[t], s.arena_size(t)).unwrap());
        let arenas = [0, 1].map(|t| Binding::new(&arenas[t]));
        let schedule = s.schedule().unwrap();
        let mut room = vec![Binding::NONE; schedule.bindings()];
        let mut ready = schedule.bind(&user, &arenas, &mut room).unwrap();
        ready.run().unwrap();
        ready.synchronize().unwrap();
    }
    // No nodes at all: nothing to run, and nothing that breaks.
    let mut s = Scheduler::new(&streams, room.storage(), Options::DEFAULT).unwrap();
    s.reserve(Graph::check(&[]).unwrap(), &[]).unwrap();
    assert!(s.schedule().is_err() && s.arena_size(0) == 0);
}
