//! Computes one small graph on a stream of the CPU backend.
#![allow(dead_code)] // Each test file uses its part.

use dinrail_core::error::Result;
use dinrail_core::graph::{Builder, GraphBuf, NodeId, Place};
use dinrail_core::hal::{Backend as _, Buffer, Device, Params};
use dinrail_core::op::Op;
use dinrail_core::plan::{Options, PlanBuf};
use dinrail_core::program::{Binding, Program};
use dinrail_core::tensor::block::{decode_row, encode_row};
use dinrail_core::tensor::{DType, Desc};
use dinrail_cpu::{Backend, Services};

pub static CPU: Backend = Backend::new(Services {
    heap: Some(&dinrail_host::HEAP),
    threads: Some(&dinrail_host::THREADS),
});

pub fn device() -> &'static dyn Device {
    CPU.device(0).unwrap()
}

/// Values as bytes of a type.
pub fn encode(dtype: DType, values: &[f32]) -> Vec<u8> {
    let size = values.len() / dtype.block_len() * dtype.block_bytes();
    let mut bytes = vec![0; size];
    encode_row(dtype, values, &mut bytes).unwrap();
    bytes
}

/// Values as a type stores them.
pub fn rounded(dtype: DType, values: &[f32]) -> Vec<f32> {
    let mut out = vec![0.0; values.len()];
    decode_row(dtype, &encode(dtype, values), &mut out).unwrap();
    out
}

/// A tensor's elements in logical order, out of the bytes of its span.
pub fn decode(desc: &Desc, bytes: &[u8]) -> Vec<f32> {
    let (block, size) = (desc.dtype.block_len(), desc.dtype.block_bytes());
    let mut out = vec![0.0; desc.elements()];
    for (k, part) in out.chunks_mut(block).enumerate() {
        let per_row = desc.ne[0] / block;
        let (i0, r) = (k % per_row, k / per_row);
        let (i1, i2, i3) =
            (r % desc.ne[1], r / desc.ne[1] % desc.ne[2], r / desc.ne[1] / desc.ne[2]);
        let at = i0 * desc.nb[0] + desc.row_offset(i1, i2, i3);
        decode_row(desc.dtype, &bytes[at..at + size], part).unwrap();
    }
    out
}

/// Computes a graph; `inputs` are the bytes of its input nodes in their order. Gives the bytes of the result.
pub fn bytes(
    threads: usize,
    inputs: &[Vec<u8>],
    build: impl Fn(&mut Builder<'_>) -> NodeId,
) -> Result<(Desc, Vec<u8>)> {
    let mut storage = Box::new(GraphBuf::<24>::new());
    let mut b = storage.builder();
    let out = build(&mut b);
    b.output(out);
    let graph = b.finish()?;
    let params = Params { threads: Some(threads), ..Params::default() };
    let stream = device().open(&params)?;
    let options = Options { scratch: stream.scratch(graph), ..Options::DEFAULT };
    let plan = Box::new(PlanBuf::<24>::new(graph, &options)?);
    let arena = Buffer::new(device().buffer_type(), plan.plan().summary().arena)?;
    arena.clear(0xa5)?;
    let bindings = [Binding::new(&arena)];
    let program = Program::new(graph, plan.plan(), &bindings)?;
    let leaves = graph
        .nodes()
        .iter()
        .enumerate()
        .filter(|(_, n)| matches!(n.op, Op::None) && matches!(n.place, Place::Arena));
    for ((i, _), data) in leaves.zip(inputs) {
        program.set(NodeId(i as u16), data)?;
    }
    stream.compute(&program)?;
    let desc = graph.node(out).unwrap().desc;
    let mut result = vec![0; desc.bytes()];
    program.get(out, &mut result)?;
    Ok((desc, result))
}

/// As [`bytes`], on one, two and three workers, which must give the same. As numbers in logical order.
pub fn values(inputs: &[Vec<u8>], build: impl Fn(&mut Builder<'_>) -> NodeId) -> Vec<f32> {
    let (desc, one) = bytes(1, inputs, &build).unwrap();
    for threads in [2, 3] {
        let (_, more) = bytes(threads, inputs, &build).unwrap();
        assert!(one == more, "{threads} workers give other bits than one");
    }
    decode(&desc, &one)
}

/// Numbers without a pattern, in -1..1.
pub fn noise(n: usize, seed: u32) -> Vec<f32> {
    let mut x = seed.wrapping_mul(2_654_435_761) | 1;
    (0..n)
        .map(|_| {
            x = x.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (x >> 8) as f32 / 8_388_608.0 - 1.0
        })
        .collect()
}

/// Coordinates of element number `k`.
pub fn coords(k: usize, ne: [usize; 4]) -> [usize; 4] {
    [k % ne[0], k / ne[0] % ne[1], k / ne[0] / ne[1] % ne[2], k / ne[0] / ne[1] / ne[2]]
}

/// Number of the element at coordinates.
pub fn index(i: [usize; 4], ne: [usize; 4]) -> usize {
    i[0] + ne[0] * (i[1] + ne[1] * (i[2] + ne[2] * i[3]))
}
