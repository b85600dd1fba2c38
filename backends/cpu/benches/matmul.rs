//! Speed of the matrix products on one thread: arithmetic in GFLOP/s (two operations for each multiplication), and the
//! rate at which weights are read in GB/s.
//!
//! ```text
//! cargo bench -p dinrail-cpu --features std,avx2 --bench matmul [-- q4_1 q8_0 128]
//! ```
//!
//! Names choose types, `scalar` the plain level, numbers the columns.
//!
//! The shapes are those of a small language model: `k` and `n` of its feed-forward layers and of its output.

use core::hint::black_box;
use dinrail_core::graph::MAX_SRC;
use dinrail_core::hal::Query;
use dinrail_core::hal::host::Worker;
use dinrail_core::op::{Op, Precision, Sources};
use dinrail_core::tensor::block::encode_row;
use dinrail_core::tensor::{DType, Desc};
use dinrail_cpu::{Args, Level, Operand, resolve, scratch};
use std::time::{Duration, Instant};

const TYPES: [DType; 7] =
    [DType::Q4_1, DType::Q8_0, DType::Q4_0, DType::Q4_K, DType::Q6_K, DType::F16, DType::F32];

#[cfg(target_arch = "x86_64")]
const LEVELS: [Level; 2] = [Level::Avx2, Level::Scalar];
#[cfg(target_arch = "aarch64")]
const LEVELS: [Level; 3] = [Level::Dotprod, Level::Neon, Level::Scalar];
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const LEVELS: [Level; 1] = [Level::Scalar];

/// How long each case is repeated.
const FOR: Duration = Duration::from_millis(150);

fn main() {
    let names: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with('-')).collect();
    let widths: Vec<usize> = names.iter().filter_map(|n| n.parse().ok()).collect();
    let widths = if widths.is_empty() { vec![1, 128] } else { widths };
    let types: Vec<DType> = DType::ALL
        .iter()
        .copied()
        .filter(|t| names.iter().any(|n| n.eq_ignore_ascii_case(t.name())))
        .collect();
    let types = if types.is_empty() { TYPES.to_vec() } else { types };
    let scalar = names.iter().any(|n| n == "scalar");
    println!(
        "{:8} {:8} {:>6} {:>6} {:>5} {:>10} {:>8}",
        "level", "type", "k", "n", "m", "GFLOP/s", "GB/s"
    );
    for level in LEVELS.into_iter().filter(|l| scalar == matches!(l, Level::Scalar)) {
        for &dtype in &types {
            for (k, n) in [(576, 1536), (1536, 576), (576, 49152)] {
                for &m in &widths {
                    case(level, dtype, k, n, m);
                }
            }
        }
    }
}

fn case(level: Level, dtype: DType, k: usize, n: usize, m: usize) {
    // Rows of 256-blocks need a length that they divide.
    let k = k.next_multiple_of(dtype.block_len());
    let op = Op::MulMat { precision: Precision::Default };
    let desc = |t, ne| Desc::new(t, ne).expect("a size that fits");
    let (a, b) = (desc(dtype, [k, n, 1, 1]), desc(DType::F32, [k, m, 1, 1]));
    let dst = desc(DType::F32, [n, m, 1, 1]);
    let src = Sources::NONE.with(0, a).with(1, b);
    let query = Query { op: &op, dst: &dst, src: &src };
    let Some(kernel) = resolve(level, &query) else { return };
    let row: Vec<f32> = (0..k).map(|i| ((i * 37 + 11) % 101) as f32 / 50.0 - 1.0).collect();
    let mut bytes = vec![0u8; a.row_bytes()];
    encode_row(dtype, &row, &mut bytes).expect("a row of whole blocks");
    let mut weights = aligned(a.bytes());
    for place in bytes_of(&mut weights)[..a.bytes()].chunks_exact_mut(a.row_bytes()) {
        place.copy_from_slice(&bytes);
    }
    let mut columns: Vec<f32> = (0..k * m).map(|i| (i % 97) as f32 / 97.0 - 0.5).collect();
    let mut result = vec![0f32; n * m];
    let scratch_len = scratch(level, &query, 1);
    let mut work = aligned(scratch_len);
    let mut sources = [None; MAX_SRC];
    sources[0] = Some(Operand { desc: &a, ptr: weights.as_mut_ptr().cast() });
    sources[1] = Some(Operand { desc: &b, ptr: columns.as_mut_ptr().cast() });
    let args = Args {
        op: &op,
        dst: Operand { desc: &dst, ptr: result.as_mut_ptr().cast() },
        src: sources,
        worker: &Worker::ALONE,
        scratch: work.as_mut_ptr().cast(),
        scratch_len,
    };
    // The fastest of all runs: the machine may be shared.
    let (mut best, start) = (f64::INFINITY, Instant::now());
    while start.elapsed() < FOR || best.is_infinite() {
        let run = Instant::now();
        // SAFETY: the operands are as their descriptions say.
        black_box(unsafe { kernel(&args) }).expect("enough scratch memory");
        best = best.min(run.elapsed().as_secs_f64());
    }
    let flops = 2.0 * k as f64 * n as f64 * m as f64 / best / 1e9;
    let rate = a.bytes() as f64 / best / 1e9;
    println!(
        "{:8} {:8} {k:6} {n:6} {m:5} {flops:10.1} {rate:8.2}",
        format!("{level:?}"),
        dtype.name()
    );
}

/// Memory for some bytes, aligned for any type.
fn aligned(bytes: usize) -> Vec<[u64; 8]> {
    vec![[0; 8]; bytes.div_ceil(64)]
}

fn bytes_of(memory: &mut [[u64; 8]]) -> &mut [u8] {
    // SAFETY: any bits are bytes.
    unsafe { memory.align_to_mut().1 }
}
