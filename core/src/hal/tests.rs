use super::*;
use crate::error::{Error, What};
use crate::graph::GraphBuf;
use crate::op::Kind;
use crate::plan::{Options, PlanBuf};
use crate::program::{Binding, Program};
use crate::tensor::{DType, Desc};
use crate::testing::{Late, Toy, World, floats};
use std::vec::Vec;

const OPS: &[Kind] = &[Kind::Add, Kind::Mul, Kind::Sqr, Kind::Sum];

fn toy() -> &'static Toy {
    Toy::leak("toy", DeviceKind::Gpu, OPS)
}

#[test]
fn transfers_stay_inside_tensor_and_buffer() {
    let b = Buffer::new(toy().buffer_type(), 64).unwrap();
    let d = Desc::d1(DType::F32, 8).unwrap();
    let at = Span { desc: &d, offset: 16 };
    assert!(b.set(at, 0, &[1; 32]).is_ok());
    assert_eq!(b.set(at, 4, &[1; 32]), Err(Error::Range { offset: 4, len: 32, size: 32 }));
    assert_eq!(
        b.set(at, usize::MAX, &[1]),
        Err(Error::Range { offset: usize::MAX, len: 1, size: 32 })
    );
    let out = Span { desc: &d, offset: 40 };
    assert_eq!(b.get(out, 0, &mut [0; 4]), Err(Error::Range { offset: 40, len: 32, size: 64 }));
    assert_eq!(b.get(at, 32, &mut []), Ok(()));
    let mut all = [0u8; 64];
    b.read(0, &mut all).unwrap();
    assert_eq!(&all[16..48], &[1; 32]);
    assert_eq!(all[..16], [0xAA; 16]);
    assert_eq!(all[48..], [0xAA; 16]);
}

/// Without a copy of the device's own, and in more than one piece.
#[test]
fn copies_that_overlap() {
    let n = 40 * 1024;
    let b = Buffer::new(toy().buffer_type(), n + 5000).unwrap();
    let d = Desc::d1(DType::I8, n).unwrap();
    let data: Vec<u8> = (0..n).map(|i| (i / 7) as u8).collect();
    for (from, to) in [(0, 5000), (5000, 0), (0, 1), (1, 0), (64, 64)] {
        b.write(from, &data).unwrap();
        b.copy_from(Span { desc: &d, offset: to }, &b, Span { desc: &d, offset: from }).unwrap();
        let mut back = std::vec![0; n];
        b.read(to, &mut back).unwrap();
        assert!(back == data, "from {from} to {to}");
    }
}

#[test]
fn pieces_at_distances() {
    let b = Buffer::new(toy().buffer_type(), 64).unwrap();
    b.clear(0).unwrap();
    let d = Desc::d1(DType::I8, 64).unwrap();
    let at = Span { desc: &d, offset: 0 };
    let rows = Rows { len: 2, count: 3, stride: 20, host_stride: 3 };
    b.set_2d(at, 1, rows, &[1, 2, 0, 3, 4, 0, 5, 6]).unwrap();
    let mut all = [0u8; 64];
    b.read(0, &mut all).unwrap();
    assert_eq!((all[1], all[2], all[21], all[22], all[41], all[42]), (1, 2, 3, 4, 5, 6));
    let mut back = [9u8; 8];
    b.get_2d(at, 1, rows, &mut back).unwrap();
    assert_eq!(back, [1, 2, 9, 3, 4, 9, 5, 6]);
    assert!(matches!(b.set_2d(at, 1, rows, &[0; 7]), Err(Error::Range { .. })));
    let huge = Rows { stride: usize::MAX, ..rows };
    assert!(matches!(b.get_2d(at, 0, huge, &mut back), Err(Error::Size(_))));
}

#[test]
fn borrowed_memory() {
    let t = toy();
    let bytes = [7u8; 32];
    let b = Buffer::from_bytes(t.buffer_type(), &bytes);
    let mut out = [0u8; 4];
    b.read(28, &mut out).unwrap();
    assert_eq!(out, [7; 4]);
    assert_eq!(b.write(0, &[1]), Err(Error::ReadOnly));
    assert_eq!(b.clear(0), Err(Error::ReadOnly));
    let mut own = [0u8; 32];
    let b = Buffer::from_bytes_mut(t.buffer_type(), &mut own);
    b.clear(3).unwrap();
    b.write(8, &[9, 9]).unwrap();
    drop(b);
    assert_eq!(&own[6..12], &[3, 3, 9, 9, 3, 3]);
}

#[test]
fn copies_between_devices_go_through_the_host() {
    let (one, two) = (toy(), toy());
    let from = floats(one, &(0..300).map(|x| x as f32).collect::<Vec<_>>());
    let to = Buffer::new(two.buffer_type(), 1200).unwrap();
    let d = Desc::d1(DType::F32, 300).unwrap();
    let at = Span { desc: &d, offset: 0 };
    to.copy_from(at, &from, at).unwrap();
    let mut a = [0u8; 1200];
    to.read(0, &mut a).unwrap();
    assert_eq!(&a[1196..], &299f32.to_le_bytes());
    let other = Desc::d1(DType::F32, 299).unwrap();
    assert!(to.copy_from(at, &from, Span { desc: &other, offset: 0 }).is_err());
}

#[test]
fn nothing_needed_is_not_a_failure() {
    let t = toy();
    t.budget.store(100, core::sync::atomic::Ordering::SeqCst);
    let empty = Buffer::new(t.buffer_type(), 0).unwrap();
    assert_eq!(empty.size(), 0);
    let d = Desc::new(DType::F32, [0, 4, 1, 1]).unwrap();
    assert_eq!(empty.set(Span { desc: &d, offset: 0 }, 0, &[]), Ok(()));
    assert!(matches!(
        Buffer::new(t.buffer_type(), 101),
        Err(Error::OutOfMemory { requested: 101, available: 100 })
    ));
    assert!(Buffer::new(t.buffer_type(), 100).is_ok());
}

#[test]
fn events_stay_with_their_device() {
    let (one, two) = (toy(), toy());
    let stream = one.open(&Params::default()).unwrap();
    let own = Event::new(one).unwrap();
    let foreign = Event::new(two).unwrap();
    assert_eq!(stream.record(&own), Ok(()));
    assert_eq!(stream.record(&foreign), Err(Error::ForeignObject { object: "event" }));
    assert_eq!(stream.wait(&foreign), Ok(()));
    drop((own, foreign));
    assert_eq!(one.events.load(core::sync::atomic::Ordering::SeqCst), 0);
}

#[test]
fn programs_are_checked_and_run_in_steps() {
    let t = toy();
    let mut g = GraphBuf::<8>::new();
    let mut b = g.builder();
    let x = b.input(DType::F32, [4, 1, 1, 1]);
    let w = b.weight(DType::F32, [4, 1, 1, 1], 1, 0);
    let y = b.mul(x, w);
    let z = b.sqr(y);
    b.output(z);
    b.finish().unwrap();
    let p = PlanBuf::<8>::new(g.graph(), &Options::DEFAULT).unwrap();
    let arena = Buffer::new(t.buffer_type(), p.plan().summary().arena).unwrap();
    let weights = floats(t, &[1.0, 2.0, 3.0, 4.0]);
    let bound = [Binding::new(&arena), Binding::new(&weights)];
    assert!(matches!(
        Program::new(g.graph(), p.plan(), &bound[..1]),
        Err(Error::Unbound { slot: 1, .. })
    ));
    let small = Buffer::new(t.buffer_type(), 8).unwrap();
    assert!(matches!(
        Program::new(g.graph(), p.plan(), &[Binding::new(&small), Binding::new(&weights)]),
        Err(Error::Full { what: What::Arena, .. })
    ));
    let short = floats(t, &[1.0]);
    assert!(matches!(
        Program::new(g.graph(), p.plan(), &[Binding::new(&arena), Binding::new(&short)]),
        Err(Error::Range { .. })
    ));
    let program = Program::new(g.graph(), p.plan(), &bound).unwrap();
    let stream = t.open(&Params::default()).unwrap();
    program.set_f32(x, &[1.0, 1.0, 2.0, -1.0]).unwrap();
    let mut run = stream.begin(&program);
    while !run.poll().unwrap() {}
    let mut out = [0.0; 4];
    program.get_f32(z, &mut out).unwrap();
    assert_eq!(out, [1.0, 4.0, 36.0, 16.0]);
    assert!(program.set_i32(x, &[1]).is_err());
}

#[test]
fn results_never_go_to_read_only_memory() {
    let t = toy();
    let mut g = GraphBuf::<8>::new();
    let mut b = g.builder();
    let x = b.input(DType::F32, [4, 1, 1, 1]);
    let w = b.leaf(DType::F32, [4, 1, 1, 1], 1, 0);
    b.cpy(x, w);
    b.finish().unwrap();
    let p = PlanBuf::<8>::new(g.graph(), &Options::DEFAULT).unwrap();
    let arena = Buffer::new(t.buffer_type(), p.plan().summary().arena).unwrap();
    #[repr(align(4))]
    struct Flash([u8; 20]);
    let flash = Flash([0; 20]);
    let fixed = Buffer::from_bytes(t.buffer_type(), &flash.0[..16]);
    let bound = [Binding::new(&arena), Binding::new(&fixed)];
    assert!(matches!(Program::new(g.graph(), p.plan(), &bound), Err(Error::ReadOnly)));
    let odd = Buffer::from_bytes(t.buffer_type(), &flash.0[1..17]);
    let bound = [Binding::new(&arena), Binding::new(&odd)];
    assert!(matches!(
        Program::new(g.graph(), p.plan(), &bound),
        Err(Error::Misaligned { align: 4, .. })
    ));
}

/// Devices that copy to and from each other on their own are never asked for what a copy can't be.
#[test]
fn copies_are_checked_before_a_device_queues_them() {
    let world = World::leak();
    let [one, two] =
        [("one", 0), ("two", 1)].map(|(name, i)| Late::leak(world, name, i, true, true));
    let open = |d: &'static Late| Device::open(d, &Params::default()).unwrap();
    let (s, t) = (open(one), open(two));
    let buffer = |s: &Stream, size| Buffer::new(s.device().buffer_type(), size).unwrap();
    let (a, b) = (buffer(&s, 64), buffer(&t, 64));
    let [eight, four, none] = [8, 4, 0].map(|n| Desc::d1(DType::F32, n).unwrap());
    let at = |desc, offset| Span { desc, offset };
    let layout = t.copy(&s, (&a, at(&four, 0)), (&b, at(&eight, 0)));
    assert!(matches!(layout, Err(Error::Invalid { .. })), "{layout:?}");
    for (from, to) in [(36, 0), (0, 36), (usize::MAX, 0), (0, usize::MAX)] {
        let range = t.copy(&s, (&a, at(&eight, from)), (&b, at(&eight, to)));
        assert!(matches!(range, Err(Error::Range { .. } | Error::Size(_))), "{range:?}");
    }
    let constant = Buffer::from_bytes(t.device().buffer_type(), &[0; 64]);
    let read_only = t.copy(&s, (&a, at(&eight, 0)), (&constant, at(&eight, 0)));
    assert_eq!(read_only, Err(Error::ReadOnly));
    t.copy(&s, (&a, at(&none, 0)), (&b, at(&none, 0))).unwrap();
    assert_eq!(world.pending(), 0);
    t.copy(&s, (&a, at(&eight, 32)), (&b, at(&eight, 32))).unwrap();
    assert_eq!(world.pending(), 1);
    t.synchronize().unwrap();
}
