//! The same properties for every level that this machine runs.
//!
//! The measure is the f64 product of the decoded weights (by core's decoders, not by [`super::format`]) and the rounded
//! activations; what is left is f32 rounding, a few parts in 10^7 of the sum of magnitudes.

use super::activations::quantise_group;
use super::format::{self, Format, GROUP};
use super::{for_format, resolve, scratch};
use crate::kernels::vec::half;
use crate::{Args, Level, Operand};
use core::ptr::null_mut;
use dinrail_core::hal::Query;
use dinrail_core::hal::host::{Barrier, Worker};
use dinrail_core::op::{Op, Precision, Sources};
use dinrail_core::tensor::block::{decode_row, encode_row};
use dinrail_core::tensor::float::f32_to_f16;
use dinrail_core::tensor::{DType, Desc};
use std::vec::Vec;
use std::{format as text, vec};

const OP: Op = Op::MulMat { precision: Precision::Default };

/// The types that have kernels.
const QUANTISED: [DType; 15] = [
    DType::Q4_0,
    DType::Q4_1,
    DType::Q5_0,
    DType::Q5_1,
    DType::Q8_0,
    DType::Q2_K,
    DType::Q3_K,
    DType::Q4_K,
    DType::Q5_K,
    DType::Q6_K,
    DType::IQ4_NL,
    DType::IQ4_XS,
    DType::MXFP4,
    DType::TQ1_0,
    DType::TQ2_0,
];
const FLOATS: [DType; 3] = [DType::F32, DType::F16, DType::BF16];

/// Numbers in -1..1, mostly small ones.
struct Random(u64);

impl Random {
    fn next(&mut self) -> f32 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let x = (self.0 >> 40) as f32 / (1u64 << 23) as f32 - 1.0;
        x * x * x
    }

    fn many(&mut self, n: usize) -> Vec<f32> {
        (0..n).map(|_| self.next()).collect()
    }
}

/// A tensor and its bytes.
#[derive(Clone)]
struct Tensor {
    desc: Desc,
    bytes: Vec<u64>,
}

impl Tensor {
    fn new(dtype: DType, ne: [usize; 4], values: &[f32]) -> Self {
        let desc = Desc::new(dtype, ne).unwrap();
        let mut t = Self { desc, bytes: vec![0; desc.bytes().div_ceil(8)] };
        if !values.is_empty() {
            encode_row(dtype, values, &mut t.bytes_mut()[..desc.bytes()]).unwrap();
        }
        t
    }

    fn bytes(&self) -> &[u8] {
        // SAFETY: any bytes of a u64 are bytes.
        unsafe { self.bytes.align_to().1 }
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, both ways.
        unsafe { self.bytes.align_to_mut().1 }
    }

    fn operand(&self) -> Operand<'_> {
        let ptr = if self.desc.is_empty() { null_mut() } else { self.bytes().as_ptr().cast_mut() };
        Operand { desc: &self.desc, ptr }
    }

    /// Row `i` decoded.
    fn row(&self, i: [usize; 3]) -> Vec<f32> {
        let mut out = vec![0.0; self.desc.ne[0]];
        let at = self.desc.row_offset(i[0], i[1], i[2]);
        if self.desc.rows_contiguous() {
            let bytes = &self.bytes()[at..at + self.desc.row_bytes()];
            decode_row(self.desc.dtype, bytes, &mut out).unwrap();
        } else {
            for (k, y) in out.iter_mut().enumerate() {
                let at = at + k * self.desc.nb[0];
                let bytes = &self.bytes()[at..at + self.desc.dtype.block_bytes()];
                decode_row(self.desc.dtype, bytes, core::slice::from_mut(y)).unwrap();
            }
        }
        out
    }
}

struct Team(std::sync::Barrier);

// SAFETY: the standard library's.
unsafe impl Barrier for Team {
    fn wait(&self) {
        self.0.wait();
    }
}

/// A pointer that the test's threads share, as the workers of a stream do.
#[derive(Clone, Copy)]
struct Shared(*mut u8);
// SAFETY: what it points to is used by the rules of a kernel.
unsafe impl Send for Shared {}
// SAFETY: as above.
unsafe impl Sync for Shared {}

impl Shared {
    fn ptr(self) -> *mut u8 {
        self.0
    }
}

/// The product by a level's kernel with some workers. Checks that nothing beyond result and scratch is written.
fn product(level: Level, a: &Tensor, b: &Tensor, workers: usize) -> Vec<f32> {
    let ne = [a.desc.ne[1], b.desc.ne[1], b.desc.ne[2], b.desc.ne[3]];
    let desc = Desc::new(DType::F32, ne).unwrap();
    let src = Sources::NONE.with(0, a.desc).with(1, b.desc);
    let query = Query { op: &OP, dst: &desc, src: &src };
    let kernel = resolve(level, &query).expect("a kernel");
    let need = scratch(level, &query, workers);
    const GUARD: f32 = -12345.5;
    let mut out = vec![GUARD; desc.elements() + 8];
    let mut work = vec![0xa5u8; need + 9];
    let (result, memory) = (Shared(out[4..].as_mut_ptr().cast()), Shared(work[1..].as_mut_ptr()));
    let team = Team(std::sync::Barrier::new(workers));
    std::thread::scope(|s| {
        for i in 0..workers {
            let (team, desc) = (&team, &desc);
            let run = move || {
                let worker = Worker::new(i, workers, team);
                let mut src = [None; dinrail_core::graph::MAX_SRC];
                (src[0], src[1]) = (Some(a.operand()), Some(b.operand()));
                let args = Args {
                    op: &OP,
                    dst: Operand { desc, ptr: result.ptr() },
                    src,
                    worker: &worker,
                    scratch: memory.ptr(),
                    scratch_len: need,
                };
                // SAFETY: operands, result and scratch are as their descriptions say; the level runs here.
                unsafe { kernel(&args) }.unwrap();
            };
            // The last one here: starting a thread takes longer than most of these products.
            if i + 1 == workers {
                run();
            } else {
                s.spawn(run);
            }
        }
    });
    assert!(out[..4].iter().chain(&out[4 + desc.elements()..]).all(|&x| x == GUARD));
    assert!(work[..1].iter().chain(&work[1 + need..]).all(|&x| x == 0xa5));
    out[4..4 + desc.elements()].to_vec()
}

/// A row of activations as a product with weights of a type sees it.
fn rounded(dtype: DType, x: &[f32]) -> Vec<f32> {
    x.chunks_exact(GROUP)
        .flat_map(|x| {
            let (q, d, _) = quantise_group(x.try_into().unwrap());
            let d = if dtype.block_len() == GROUP { half(d) } else { d };
            q.map(|q| q as f32 * d)
        })
        .collect()
}

/// How far the sums that meet the minima of `Q4_1` and `Q5_1` may be off, for they are rounded to half precision. A
/// minimum is at most four times the strongest weight of its group.
fn sums_rounded(dtype: DType, row: &[f32], x: &[f32]) -> f64 {
    if !matches!(dtype, DType::Q4_1 | DType::Q5_1) {
        return 0.0;
    }
    let groups = row.chunks_exact(GROUP).zip(x.chunks_exact(GROUP));
    groups
        .map(|(w, x)| {
            let strongest = w.iter().fold(0f64, |m, w| m.max(f64::from(w.abs())));
            4.0 * strongest * x.iter().map(|x| f64::from(*x)).sum::<f64>().abs() / 1024.0
        })
        .sum()
}

/// The result in f64 and how far a level may be from it: column by column.
fn expected(a: &Tensor, b: &Tensor) -> Vec<(f64, f64)> {
    let (an, bn) = (&a.desc.ne, &b.desc.ne);
    let mut all = Vec::new();
    for (i3, i2) in (0..bn[3]).flat_map(|i3| (0..bn[2]).map(move |i2| (i3, i2))) {
        let outer = [i2 / (bn[2] / an[2]), i3 / (bn[3] / an[3])];
        let rows: Vec<_> = (0..an[1]).map(|r| a.row([r, outer[0], outer[1]])).collect();
        for c in 0..bn[1] {
            let mut x = b.row([c, i2, i3]);
            if a.desc.dtype.is_quantized() {
                x = rounded(a.desc.dtype, &x);
            } else if a.desc.dtype == DType::F16 && b.desc.dtype == DType::F32 {
                x.iter_mut().for_each(|x| *x = half(*x));
            }
            for row in &rows {
                let terms = || row.iter().zip(&x).map(|(w, x)| *w as f64 * *x as f64);
                let size = terms().map(f64::abs).sum::<f64>();
                // An offset and the levels above it cancel: the terms are larger than what is left.
                let allowed = 4e-7 * (4.0 + an[0] as f64 / 64.0) * size + 1e-30;
                let sums = sums_rounded(a.desc.dtype, row, &x);
                all.push((terms().sum::<f64>(), allowed + sums));
            }
        }
    }
    all
}

/// Compares with [`expected`] and says where.
fn check(level: Level, a: &Tensor, b: &Tensor, what: &str) -> Vec<f32> {
    let out = product(level, a, b, 1);
    compare(level, a, b, what, &out, expected(a, b).into_iter());
    out
}

fn compare(
    level: Level,
    a: &Tensor,
    b: &Tensor,
    what: &str,
    out: &[f32],
    expected: impl Iterator<Item = (f64, f64)>,
) {
    for (i, (have, (want, allowed))) in out.iter().zip(expected).enumerate() {
        let have = *have as f64;
        assert!(
            (have - want).abs() <= allowed,
            "{level:?} {what} {:?} {:?} x {:?} number {i}: {have}, not {want} within {allowed:e}",
            a.desc.dtype,
            a.desc.ne,
            b.desc.ne
        );
    }
}

/// Row lengths for a type: one block, and some more that divide by nothing else.
fn lengths(dtype: DType) -> &'static [usize] {
    match dtype.block_len() {
        1 => &[1, 2, 3, 7, 8, 9, 31, 64, 100],
        32 => &[32, 96, 224, 960],
        _ => &[256, 768],
    }
}

fn shapes(level: Level) {
    const N: [usize; 10] = [1, 2, 3, 5, 7, 8, 9, 16, 17, 33];
    const M: [usize; 7] = [1, 2, 3, 4, 5, 7, 9];
    let mut random = Random(1);
    for dtype in QUANTISED.into_iter().chain(FLOATS) {
        for &k in lengths(dtype) {
            // The largest product has all the others in it.
            let mut a = Tensor::new(dtype, [k, N[9], 1, 1], &random.many(k * N[9]));
            let mut b = Tensor::new(DType::F32, [k, M[6], 1, 1], &random.many(k * M[6]));
            let all = expected(&a, &b);
            for (n, m) in N.into_iter().flat_map(|n| M.map(|m| (n, m))) {
                (a.desc.ne[1], b.desc.ne[1]) = (n, m);
                let out = product(level, &a, &b, 1);
                let part = (0..m).flat_map(|c| all[c * N[9]..c * N[9] + n].iter().copied());
                compare(level, &a, &b, "shapes", &out, part);
            }
        }
    }
}

fn every_small_shape(level: Level) {
    let mut random = Random(2);
    for dtype in [DType::Q4_1, DType::Q8_0, DType::F32, DType::F16] {
        for n in 1..40 {
            for m in (1..36).step_by(1 + n % 5) {
                let k = if dtype.is_quantized() { 32 * (1 + (n * m) % 3) } else { 1 + n * m % 70 };
                let a = Tensor::new(dtype, [k, n, 1, 1], &random.many(k * n));
                let b = Tensor::new(DType::F32, [k, m, 1, 1], &random.many(k * m));
                check(level, &a, &b, "small shapes");
            }
        }
    }
}

/// Any bits of the levels and integer scales, also those that no encoder writes.
fn random_bits(level: Level) {
    let mut random = Random(3);
    for dtype in QUANTISED {
        let (k, n) = (2 * dtype.block_len(), 17);
        let mut a = Tensor::new(dtype, [k, n, 1, 1], &random.many(k * n));
        // Where the floats of a block lie.
        let floats: &[usize] = match dtype {
            DType::Q4_1 | DType::Q5_1 | DType::Q4_K | DType::Q5_K => &[0, 1, 2, 3],
            DType::Q2_K => &[80, 81, 82, 83],
            DType::Q3_K => &[108, 109],
            DType::Q6_K => &[208, 209],
            DType::TQ1_0 => &[52, 53],
            DType::TQ2_0 => &[64, 65],
            DType::MXFP4 => &[0],
            _ => &[0, 1],
        };
        for block in a.bytes_mut()[..].chunks_exact_mut(dtype.block_bytes()) {
            for (i, b) in block.iter_mut().enumerate() {
                if !floats.contains(&i) {
                    *b = random.next().to_bits() as u8;
                }
            }
        }
        for m in [1, 6] {
            let b = Tensor::new(DType::F32, [k, m, 1, 1], &random.many(k * m));
            check(level, &a, &b, "random bits");
        }
    }
}

fn outer_dimensions(level: Level) {
    let mut random = Random(4);
    for dtype in [DType::Q4_0, DType::Q8_0, DType::F16, DType::F32] {
        for m in [1, 3, 6] {
            let (k, n) = (64, 19);
            let a = Tensor::new(dtype, [k, n, 2, 3], &random.many(k * n * 6));
            let b = Tensor::new(DType::F32, [k, m, 6, 3], &random.many(k * m * 18));
            check(level, &a, &b, "broadcast");
        }
    }
}

fn strides(level: Level) {
    let mut random = Random(5);
    for dtype in [DType::Q8_0, DType::Q4_1, DType::F16, DType::F32] {
        // Rows of `a` taken from a cache [k, heads, n] as [k, n, heads].
        let (k, n, heads) = (64, 9, 3);
        let mut a = Tensor::new(dtype, [k, heads, n, 1], &random.many(k * n * heads));
        a.desc.ne = [k, n, heads, 1];
        a.desc.nb.swap(1, 2);
        for m in [1, 5] {
            // The same for `b`, and `b` with a gap behind every element.
            let mut b = Tensor::new(DType::F32, [k, heads, m, 1], &random.many(k * m * heads));
            b.desc.ne = [k, m, heads, 1];
            b.desc.nb.swap(1, 2);
            check(level, &a, &b, "permuted");
            for from in [DType::F32, DType::F16, DType::BF16] {
                let mut b =
                    Tensor::new(from, [2 * k, m, heads, 1], &random.many(2 * k * m * heads));
                b.desc.ne[0] = k;
                check(level, &a, &b, "cut");
                b.desc.nb[0] *= 2;
                check(level, &a, &b, "every second");
            }
        }
    }
}

fn worker_counts(level: Level) {
    let mut random = Random(6);
    for dtype in [DType::Q4_1, DType::Q6_K, DType::F16] {
        for (n, m, outer) in [(1, 1, 1), (70, 1, 1), (5, 70, 1), (40, 33, 2), (100, 9, 3)] {
            let k = 512;
            let a = Tensor::new(dtype, [k, n, 1, 1], &random.many(k * n));
            // Not in place, so that float products have a first phase as well.
            let mut b =
                Tensor::new(DType::F32, [2 * k, m, outer, 1], &random.many(2 * k * m * outer));
            (b.desc.ne[0], b.desc.nb[0]) = (k, 8);
            let one: Vec<u32> = product(level, &a, &b, 1).iter().map(|x| x.to_bits()).collect();
            for workers in [2, 3, 8] {
                let more: Vec<u32> =
                    product(level, &a, &b, workers).iter().map(|x| x.to_bits()).collect();
                assert!(one == more, "{level:?} {dtype:?} {n} x {m} x {outer} by {workers}");
            }
        }
    }
}

fn zero_sizes(level: Level) {
    for dtype in [DType::Q4_0, DType::Q6_K, DType::F32, DType::F16] {
        let k = dtype.block_len() * 2;
        for (k, n, m) in [(k, 0, 3), (k, 3, 0), (k, 0, 0), (0, 3, 5), (0, 3, 1)] {
            let a = Tensor::new(dtype, [k, n, 1, 1], &[]);
            let b = Tensor::new(DType::F32, [k, m, 1, 1], &[]);
            for workers in [1, 2] {
                let out = product(level, &a, &b, workers);
                assert!(out.len() == n * m && out.iter().all(|&x| x == 0.0));
            }
        }
    }
}

/// Activations up to the largest f16 give finite results; a NaN stays in its column, and in all of it.
fn extremes(level: Level) {
    let mut random = Random(7);
    for dtype in QUANTISED.into_iter().chain(FLOATS) {
        let (k, n, m) = (512, 18, 6);
        let a = Tensor::new(
            dtype,
            [k, n, 1, 1],
            &random.many(k * n).iter().map(|x| x + 2.0).collect::<Vec<_>>(),
        );
        for size in [2100.0, 65504.0, -65504.0, 1e-30, 1e-42] {
            let b = Tensor::new(DType::F32, [k, m, 1, 1], &vec![size; k * m]);
            assert!(check(level, &a, &b, "extremes").iter().all(|x| x.is_finite()));
        }
        for width in [1, m] {
            let bad = width - 1;
            let mut values = random.many(k * width);
            values[bad * k + 77] = f32::NAN;
            let b = Tensor::new(DType::F32, [k, width, 1, 1], &values);
            for (i, x) in product(level, &a, &b, 1).iter().enumerate() {
                assert_eq!(x.is_nan(), i / n == bad, "{level:?} {dtype:?} {i}");
            }
        }
    }
}

/// With whole numbers for scales and few enough terms, nothing is rounded: all levels give the same bits.
fn integers_are_exact(level: Level) {
    let mut random = Random(8);
    for dtype in QUANTISED {
        let k = dtype.block_len().max(64);
        let n = 17;
        // Levels as they come, and scales that are powers of two or small whole numbers.
        let mut a = Tensor::new(dtype, [k, n, 1, 1], &random.many(k * n));
        for block in a.bytes_mut().chunks_exact_mut(dtype.block_bytes()) {
            let one = f32_to_f16(1.0).to_le_bytes();
            match dtype {
                DType::Q4_1 | DType::Q5_1 | DType::Q4_K | DType::Q5_K => {
                    block[..2].copy_from_slice(&one);
                    block[2..4].copy_from_slice(&one);
                }
                DType::Q2_K => {
                    block[80..82].copy_from_slice(&one);
                    block[82..84].copy_from_slice(&one);
                }
                DType::MXFP4 => block[0] = 128,
                _ => {
                    let at = match dtype {
                        DType::Q3_K => 108,
                        DType::Q6_K => 208,
                        DType::TQ1_0 => 52,
                        DType::TQ2_0 => 64,
                        _ => 0,
                    };
                    block[at..at + 2].copy_from_slice(&one);
                }
            }
        }
        for m in [1, 2, 5] {
            // One 127 in each group makes the scale 1.
            let values: Vec<f32> = (0..k * m)
                .map(|i| if i % 32 == 5 { 127.0 } else { (random.next() * 127.0).round() })
                .collect();
            let b = Tensor::new(DType::F32, [k, m, 1, 1], &values);
            let out = product(level, &a, &b, 1);
            for (i, have) in out.iter().enumerate() {
                let terms = a.row([i % n, 0, 0]).into_iter().zip(b.row([i / n, 0, 0]));
                let want: f64 = terms.map(|(w, x)| w as f64 * x as f64).sum();
                // Sums beyond 2^24 may round once or twice more.
                if want.abs() < 4e6 {
                    assert_eq!(*have as f64, want, "{level:?} {dtype:?} {i}");
                }
            }
        }
    }
}

macro_rules! level {
    ($name:ident, $level:expr, $there:expr) => {
        mod $name {
            use super::*;
            level!(@each $level, $there, shapes every_small_shape random_bits outer_dimensions strides
                worker_counts zero_sizes extremes integers_are_exact);
        }
    };
    (@each $level:expr, $there:expr, $($test:ident)*) => {$(
        #[test]
        fn $test() {
            if $there {
                super::$test($level);
            } else {
                std::eprintln!("skipped: this processor has not the level's instructions");
            }
        }
    )*};
}

level!(scalar, Level::Scalar, true);
#[cfg(all(feature = "avx2", target_arch = "x86_64"))]
level!(
    avx2,
    Level::Avx2,
    std::is_x86_feature_detected!("avx2")
        && std::is_x86_feature_detected!("fma")
        && std::is_x86_feature_detected!("f16c")
);

#[cfg(all(feature = "neon", target_arch = "aarch64"))]
level!(neon, Level::Neon, true);
#[cfg(all(feature = "dotprod", target_arch = "aarch64"))]
level!(dotprod, Level::Dotprod, std::arch::is_aarch64_feature_detected!("dotprod"));

#[test]
fn groups_decode_as_core_does() {
    let mut random = Random(9);
    for dtype in QUANTISED {
        macro_rules! compare {
            ($f:ident) => {{
                type F = format::$f;
                let len = dtype.block_len();
                for _ in 0..50 {
                    let a = Tensor::new(dtype, [len, 1, 1, 1], &random.many(len));
                    let want = a.row([0; 3]);
                    let block = a.bytes().first_chunk().unwrap();
                    for g in 0..F::GROUPS {
                        let w = F::group(block, g);
                        for i in 0..GROUP {
                            let (q, s) = (w.q[i] as i32, w.s[i / 16] as i32);
                            assert!((q * s).abs() <= 4096);
                            assert!(F::TOP == 0 || (0..=F::TOP as i32).contains(&q));
                            assert!(F::SCALED || s == 1);
                            assert!(F::OFFSET || w.m == [0.0; 2]);
                            assert!(F::HALVES || w.m[0] == w.m[1]);
                            let have = (q * s) as f64 * w.d as f64 + w.m[i / 16] as f64;
                            let want = want[GROUP * g + i] as f64;
                            let size = (w.m[i / 16].abs() as f64).max(want.abs());
                            assert!(
                                (have - want).abs() <= 2e-7 * size,
                                "{dtype:?} {g} {i} {have} {want}"
                            );
                        }
                    }
                }
            }};
        }
        for_format!(dtype, compare, panic!("{dtype:?} has no format"));
    }
}

#[test]
fn activations_round_to_the_nearest_level() {
    let mut random = Random(10);
    for size in [1e-20, 1.0, 65504.0, 1e38] {
        let x: [f32; GROUP] = core::array::from_fn(|_| random.next() * size);
        let (q, d, sums) = quantise_group(&x);
        for (x, q) in x.iter().zip(q) {
            assert!((x - q as f32 * d).abs() <= d * 0.50001);
        }
        assert_eq!(q.iter().map(|q| q.unsigned_abs()).max(), Some(127));
        assert_eq!(sums[0], q[..16].iter().map(|&q| q as i32).sum::<i32>());
        assert_eq!(sums[1], q[16..].iter().map(|&q| q as i32).sum::<i32>());
    }
    let mut x = [0.0; GROUP];
    assert_eq!(quantise_group(&x), ([0; GROUP], 0.0, [0; 2]));
    for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        x[3] = bad;
        let (q, d, sums) = quantise_group(&x);
        assert!(q == [0; GROUP] && d.is_nan() && sums == [0; 2]);
    }
}

#[test]
fn what_has_no_kernel_is_refused() {
    let desc = |dtype, ne| Desc::new(dtype, ne).unwrap();
    let b = desc(DType::F32, [256, 2, 1, 1]);
    let dst = desc(DType::F32, [3, 2, 1, 1]);
    let ask = |a, b| {
        let src = Sources::NONE.with(0, a).with(1, b);
        resolve(Level::Scalar, &Query { op: &OP, dst: &dst, src: &src }).is_some()
    };
    for &dtype in DType::ALL {
        let there = QUANTISED.contains(&dtype) || FLOATS.contains(&dtype);
        assert_eq!(ask(desc(dtype, [256, 3, 1, 1]), b), there, "{dtype:?}");
    }
    let mut gaps = desc(DType::F32, [256, 3, 1, 1]);
    gaps.nb = [8, 2048, 6144, 6144];
    assert!(!ask(gaps, b));
    assert!(!ask(desc(DType::F32, [256, 3, 1, 1]), desc(DType::F64, [256, 2, 1, 1])));
}

#[test]
fn too_little_scratch_is_an_error() {
    let mut random = Random(11);
    let a = Tensor::new(DType::Q8_0, [64, 4, 1, 1], &random.many(256));
    let b = Tensor::new(DType::F32, [64, 1, 1, 1], &random.many(64));
    let desc = Desc::new(DType::F32, [4, 1, 1, 1]).unwrap();
    let src = Sources::NONE.with(0, a.desc).with(1, b.desc);
    let query = Query { op: &OP, dst: &desc, src: &src };
    let need = scratch(Level::Scalar, &query, 1);
    let kernel = resolve(Level::Scalar, &query).unwrap();
    let mut out = [0f32; 4];
    let mut work = vec![0u8; need];
    let mut src = [None; dinrail_core::graph::MAX_SRC];
    (src[0], src[1]) = (Some(a.operand()), Some(b.operand()));
    let args = Args {
        op: &OP,
        dst: Operand { desc: &desc, ptr: out.as_mut_ptr().cast() },
        src,
        worker: &Worker::ALONE,
        scratch: work.as_mut_ptr(),
        scratch_len: need - 1,
    };
    // SAFETY: the operands are as their descriptions say.
    let error = unsafe { kernel(&args) }.unwrap_err();
    assert!(text!("{error}").contains("scratch"), "{error}");
}
