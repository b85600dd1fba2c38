//! The plain cases against the general kernels.

use crate::{Args, Kernel, Level, Operand};
use dinrail_core::graph::MAX_SRC;
use dinrail_core::hal::Query;
use dinrail_core::hal::host::Worker;
use dinrail_core::op::{Op, Precision, Rope, RopeMode, Sources};
use dinrail_core::tensor::{DType, Desc};
use std::vec;
use std::vec::Vec;

pub(in crate::kernels) fn numbers(n: usize, seed: u32) -> Vec<u8> {
    let mut x = seed;
    let next = move |_| {
        x = x.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        ((x >> 8) as f32 / 8_388_608.0 - 1.0).to_le_bytes()
    };
    (0..n).map(next).collect::<Vec<_>>().concat()
}

/// Result of a kernel that was resolved in some way.
pub(in crate::kernels) fn compute(
    kernel: Kernel,
    q: &Query<'_>,
    data: &mut [Vec<u8>],
    scratch: usize,
) -> Vec<f32> {
    let mut src = [None; MAX_SRC];
    for (i, bytes) in data.iter_mut().enumerate() {
        src[i] = q.src.source(i).map(|desc| Operand { desc, ptr: bytes.as_mut_ptr() });
    }
    let mut out = vec![f32::NAN; q.dst.elements()];
    let mut scratch = vec![0u64; scratch.div_ceil(8)];
    let args = Args {
        op: q.op,
        dst: Operand { desc: q.dst, ptr: out.as_mut_ptr().cast() },
        src,
        worker: &Worker::ALONE,
        scratch: scratch.as_mut_ptr().cast(),
        scratch_len: scratch.len() * 8,
    };
    // SAFETY: every operand is as large as its description says, and the level is the scalar one.
    unsafe { kernel(&args) }.unwrap();
    out
}

/// The plain case's result is the general kernel's to a few roundings.
fn compare(op: Op, dst: Desc, sources: &[(Desc, Vec<u8>)]) {
    compare_within(op, dst, sources, 4e-6);
}

fn compare_within(op: Op, dst: Desc, sources: &[(Desc, Vec<u8>)], tolerance: f32) {
    let mut src = Sources::NONE;
    for (i, (d, _)) in sources.iter().enumerate() {
        src = src.with(i, *d);
    }
    let q = Query { op: &op, dst: &dst, src: &src };
    let mut data: Vec<_> = sources.iter().map(|(_, b)| b.clone()).collect();
    let small = super::resolve(&q).expect("a plain case");
    let got = compute(small, &q, &mut data, super::scratch(&q, 1));
    let general = crate::kernels::general(Level::Scalar, &q).unwrap();
    let need = crate::kernels::general_scratch(Level::Scalar, &q, 1);
    let want = compute(general, &q, &mut data, need);
    for (g, w) in got.iter().zip(&want) {
        assert!((g - w).abs() <= tolerance * w.abs().max(0.1), "{op:?}: {g} {w}");
    }
}

fn f32s(ne: [usize; 4], seed: u32) -> (Desc, Vec<u8>) {
    (Desc::new(DType::F32, ne).unwrap(), numbers(ne.iter().product(), seed))
}

#[test]
fn two_operands_with_every_broadcast() {
    for op in [Op::Add, Op::Sub, Op::Mul, Op::Div] {
        for b in [[7, 3, 2, 2], [7, 1, 1, 1], [1, 3, 1, 2], [1, 1, 1, 1], [7, 3, 2, 1]] {
            let a = f32s([7, 3, 2, 2], 1);
            compare(op, a.0, &[a, f32s(b, 2)]);
        }
    }
}

#[test]
fn gated_units() {
    let glu = dinrail_core::op::Glu { kind: dinrail_core::op::GluKind::Swiglu, swapped: false };
    let a = f32s([172, 3, 1, 1], 8);
    compare(Op::Glu(glu), a.0, &[a, f32s([172, 3, 1, 1], 9)]);
}

#[test]
fn rows_by_number() {
    let numbers = |n: [i32; 3]| {
        (Desc::d1(DType::I32, 3).unwrap(), n.map(i32::to_le_bytes).as_flattened().to_vec())
    };
    let table = f32s([7, 5, 1, 1], 10);
    let dst = Desc::d2(DType::F32, 7, 3).unwrap();
    compare(Op::GetRows, dst, &[table, numbers([4, 0, 4])]);
    // The result is not otherwise written, so every row gets a value here.
    let rows = f32s([7, 3, 1, 1], 11);
    compare(Op::SetRows, dst, &[rows, numbers([2, 0, 1])]);
}

#[test]
fn norms() {
    for n in [1, 7, 8, 64, 172, 511] {
        let a = f32s([n, 3, 2, 1], 3);
        compare(Op::RmsNorm { eps: 1e-5 }, a.0, &[a]);
    }
}

#[test]
fn rotations() {
    for mode in [RopeMode::Normal, RopeMode::NeoX] {
        for (n, dims) in [(8, 8), (16, 16), (24, 16), (128, 128)] {
            let a = f32s([n, 4, 1, 1], 4);
            let at = (Desc::d1(DType::I32, 1).unwrap(), 117i32.to_le_bytes().to_vec());
            compare(Op::Rope(Rope::plain(dims, mode, 10_000.0)), a.0, &[a, at]);
        }
    }
}

#[test]
fn attention_of_one_token() {
    for (dtype, size) in [(DType::F32, 4), (DType::F16, 2)] {
        for seen in [1, 5, 32, 37] {
            let kv = |seed| {
                let d = Desc::new(dtype, [8, 37, 2, 1]).unwrap();
                let mut bytes = numbers(8 * 37 * 2, seed);
                if size == 2 {
                    bytes = bytes
                        .as_chunks::<4>()
                        .0
                        .iter()
                        .flat_map(|b| {
                            let h = dinrail_core::tensor::float::f32_to_f16(f32::from_le_bytes(*b));
                            h.to_le_bytes()
                        })
                        .collect();
                }
                (d, bytes)
            };
            let mask: Vec<u8> =
                (0..37).flat_map(|i| if i < seen { [0, 0] } else { [0, 0xfc] }).collect();
            let mask = (Desc::d2(DType::F16, 37, 1).unwrap(), mask);
            let op = Op::FlashAttn {
                scale: 0.35,
                max_bias: 0.0,
                softcap: 0.0,
                precision: Precision::Default,
            };
            let dst = Desc::new(DType::F32, [8, 4, 1, 1]).unwrap();
            // The general kernel rounds queries to half precision where keys are.
            let tolerance = if size == 2 { 2e-3 } else { 4e-6 };
            compare_within(op, dst, &[f32s([8, 1, 4, 1], 5), kv(6), kv(7), mask], tolerance);
        }
    }
}
