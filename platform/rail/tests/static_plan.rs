//! A table that the compiler made, in memory that is good and in memory that isn't.
#![cfg(feature = "cpu")]

use dinrail::Error;
use dinrail::cpu::{Level, Memory, Port};
use dinrail::error::What;
use dinrail::graph::{Builder, NodeId};
use dinrail::tensor::DType;

const WEIGHT_BYTES: usize = 4 * 2 * 4;

const fn layer(b: &mut Builder<'_>) -> [NodeId; 2] {
    let x = b.input(DType::F32, [4, 1, 1, 1]);
    let w = b.weight(DType::F32, [4, 2, 1, 1], 1, 0);
    let y = b.mul_mat(w, x);
    let y = b.relu(y);
    b.output(y);
    [x, y]
}

dinrail::static_plan! {
    mod plan {
        graph: super::layer => [super::NodeId; 2],
        level: super::Level::Scalar,
    }
}

/// Another graph's, whose arena is larger.
const fn wide(b: &mut Builder<'_>) -> [NodeId; 2] {
    let x = b.input(DType::F32, [1024, 1, 1, 1]);
    let y = b.silu(x);
    b.output(y);
    [x, y]
}
dinrail::static_plan! {
    mod other {
        graph: super::wide => [super::NodeId; 2],
        level: super::Level::Scalar,
    }
}

const IN: Port = plan::port(plan::NODES[0]);
const OUT: Port = plan::port(plan::NODES[1]);
const FOREIGN: Port = other::port(other::NODES[0]);

/// A byte more than the plan's, to begin at an odd address.
#[repr(align(64))]
struct Bytes<const N: usize>([u8; N]);
type Arena = Bytes<{ plan::ARENA + 1 }>;

fn weights() -> Bytes<{ WEIGHT_BYTES + 1 }> {
    let mut bytes = Bytes([0; _]);
    let values = [1f32, 2.0, 3.0, 4.0, -1.0, -1.0, -1.0, -1.0];
    for (to, w) in bytes.0.chunks_exact_mut(4).zip(values) {
        to.copy_from_slice(&w.to_le_bytes());
    }
    bytes
}

fn fails(arena: Memory<'_>, weights: Memory<'_>) -> Error {
    plan::TABLE.bind([arena, weights]).map(|_| ()).unwrap_err()
}

fn computes(arena: &mut [u8], weights: &[u8]) {
    let mut model = plan::TABLE.bind([Memory::Write(arena), Memory::Read(weights)]).unwrap();
    for scale in [1.0, 2.0] {
        model.write(IN).unwrap().copy_from_slice(&[scale; 4]);
        model.run().unwrap();
        assert_eq!(model.read::<f32>(OUT).unwrap(), [10.0 * scale, 0.0]);
    }
}

#[test]
fn bad_memory_is_refused_with_numbers_and_good_memory_works_after() {
    let (mut arena, weights) = (Bytes([0; _]), weights());
    let (arena, weights): (&mut Arena, _) = (&mut arena, &weights.0);
    let (need, good) = (plan::ARENA, &weights[..WEIGHT_BYTES]);
    for have in [0, 1, need - 1] {
        let e = fails(Memory::Write(&mut arena.0[..have]), Memory::Read(good));
        assert_eq!(e, Error::Full { what: What::Arena, need, have });
        assert!(e.to_string().contains(&format!("{need} needed, capacity is {have}")), "{e}");
    }
    for have in [0, WEIGHT_BYTES - 1] {
        let e = fails(Memory::Write(&mut arena.0), Memory::Read(&weights[..have]));
        assert_eq!(e, Error::Full { what: What::Buffer, need: WEIGHT_BYTES, have });
    }
    let address = arena.0.as_ptr().addr() + 1;
    let e = fails(Memory::Write(&mut arena.0[1..]), Memory::Read(good));
    assert_eq!(e, Error::Misaligned { address, align: 8 });
    assert!(e.to_string().contains(&format!("{address:#x}")), "{e}");
    let address = weights.as_ptr().addr() + 1;
    let e = fails(Memory::Write(&mut arena.0), Memory::Read(&weights[1..]));
    assert_eq!(e, Error::Misaligned { address, align: 8 });
    let e = fails(Memory::Read(&arena.0), Memory::Read(good));
    assert_eq!(e, Error::ReadOnly);
    computes(&mut arena.0[..need], good);
}

#[test]
fn ports_are_checked() {
    let (mut arena, weights) = (Bytes([0; _]), weights());
    let arena: &mut Arena = &mut arena;
    let good = Memory::Read(&weights.0[..WEIGHT_BYTES]);
    let mut model = plan::TABLE.bind([Memory::Write(&mut arena.0), good]).unwrap();
    let e = model.write::<i32>(IN).unwrap_err();
    assert_eq!(e, Error::Invalid { what: "element type", value: DType::F32 as i64 });
    let e = model.write::<f32>(FOREIGN).unwrap_err();
    assert_eq!(e, Error::Range { offset: 0, len: 4096, size: plan::ARENA });
    assert_eq!(model.read::<f32>(OUT).unwrap().len(), 2);
}
