//! Runs single kernels on tensors of the test's own, with gaps and sentinels.

use crate::{Args, Level, Operand};
use dinrail_core::error::Result;
use dinrail_core::graph::MAX_SRC;
use dinrail_core::hal::Query;
use dinrail_core::hal::host::{Barrier, Worker};
use dinrail_core::op::{Op, Sources, infer};
use dinrail_core::tensor::{DType, Desc, block};
use std::vec::Vec;

/// Fills what no kernel may write.
const SENTINEL: u8 = 0xa5;

/// A tensor in memory of its own.
#[derive(Clone)]
pub(crate) struct Tensor {
    pub(crate) desc: Desc,
    words: Vec<u64>,
}

impl Tensor {
    /// Contiguous, element number `i` (in logical order) being `f(i)`.
    pub(crate) fn new(dtype: DType, ne: [usize; 4], f: impl Fn(usize) -> f32) -> Self {
        Self::laid_out(dtype, ne, [1, 2, 3], 0, f)
    }

    /// Whole rows, but the outer dimensions nested in the order given (innermost first), with a gap behind each row.
    pub(crate) fn laid_out(
        dtype: DType,
        ne: [usize; 4],
        order: [usize; 3],
        gap: usize,
        f: impl Fn(usize) -> f32,
    ) -> Self {
        let mut desc = Desc::new(dtype, ne).unwrap();
        let mut stride = desc.row_bytes() + gap;
        for i in order {
            desc.nb[i] = stride;
            stride *= ne[i];
        }
        let filler = u64::from_ne_bytes([SENTINEL; 8]);
        let mut t = Self { desc, words: std::vec![filler; stride.div_ceil(8) + 1] };
        let mut row = std::vec![0.0; ne[0]];
        for r in 0..desc.rows() {
            for (i, x) in row.iter_mut().enumerate() {
                *x = f(r * ne[0] + i);
            }
            let at = t.offset(r);
            let len = desc.row_bytes();
            block::encode_row(dtype, &row, &mut t.bytes_mut()[at..at + len]).unwrap();
        }
        t
    }

    /// Row positions for the kernel that counts tokens: whole numbers.
    pub(crate) fn i32(values: &[i32]) -> Self {
        let desc = Desc::d1(DType::I32, values.len()).unwrap();
        let mut t = Self { desc, words: std::vec![0; values.len() / 2 + 1] };
        for (to, x) in t.bytes_mut().chunks_exact_mut(4).zip(values) {
            to.copy_from_slice(&x.to_ne_bytes());
        }
        t
    }

    fn bytes(&self) -> &[u8] {
        // SAFETY: any memory is bytes.
        unsafe { core::slice::from_raw_parts(self.words.as_ptr().cast(), self.words.len() * 8) }
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        let len = self.words.len() * 8;
        // SAFETY: any memory is bytes, and any bytes are words.
        unsafe { core::slice::from_raw_parts_mut(self.words.as_mut_ptr().cast(), len) }
    }

    fn offset(&self, row: usize) -> usize {
        let (i1, i2, i3) = super::split(row, &self.desc.ne);
        self.desc.row_offset(i1, i2, i3)
    }

    /// Row `i1, i2, i3` as numbers.
    pub(crate) fn row(&self, i1: usize, i2: usize, i3: usize) -> Vec<f32> {
        let at = self.desc.row_offset(i1, i2, i3);
        let mut out = std::vec![0.0; self.desc.ne[0]];
        let bytes = &self.bytes()[at..at + self.desc.row_bytes()];
        block::decode_row(self.desc.dtype, bytes, &mut out).unwrap();
        out
    }

    /// Row number `r` in logical order, in f64.
    pub(crate) fn row64(&self, r: usize) -> Vec<f64> {
        let (i1, i2, i3) = super::split(r, &self.desc.ne);
        self.row(i1, i2, i3).into_iter().map(f64::from).collect()
    }

    /// All elements in logical order.
    pub(crate) fn values(&self) -> Vec<f64> {
        (0..self.desc.rows()).flat_map(|r| self.row64(r)).collect()
    }

    /// The bits of all elements in logical order, so that NaNs compare.
    pub(crate) fn bits(&self) -> Vec<u64> {
        self.values().iter().map(|x| x.to_bits()).collect()
    }

    /// Fails if anything outside the rows was written.
    fn check_gaps(&self) {
        let mut inside = std::vec![false; self.bytes().len()];
        for r in 0..self.desc.rows() {
            let at = self.offset(r);
            inside[at..at + self.desc.row_bytes()].fill(true);
        }
        for (i, (byte, inside)) in self.bytes().iter().zip(inside).enumerate() {
            assert!(inside || *byte == SENTINEL, "byte {i} outside the rows was written");
        }
    }

    fn operand(&self) -> Operand<'_> {
        let empty = self.desc.is_empty();
        let p = if empty { core::ptr::null_mut() } else { self.words.as_ptr().cast_mut().cast() };
        Operand { desc: &self.desc, ptr: p }
    }
}

/// What crosses to a worker's thread.
struct Shared<'a>(&'a Args<'a>);

// SAFETY: workers of one call share their operands by contract.
unsafe impl Send for Shared<'_> {}

struct Meet(std::sync::Barrier);

// SAFETY: the standard library's.
unsafe impl Barrier for Meet {
    fn wait(&self) {
        self.0.wait();
    }
}

/// Runs `op` on a level with a number of workers; the result has gaps behind its rows.
pub(crate) fn run(
    level: Level,
    op: &Op,
    src: &[Option<&Tensor>],
    workers: usize,
) -> Result<Tensor> {
    let sources = sources(src);
    let desc = infer(op, &sources, None).expect("the test's own shapes");
    let dst = Tensor::laid_out(desc.dtype, desc.ne, [1, 2, 3], 0, |_| f32::NAN);
    run_into(level, op, src, workers, dst)
}

/// As [`run`], into memory of the first source.
pub(crate) fn run_in_place(level: Level, op: &Op, src: &[Option<&Tensor>]) -> Result<Tensor> {
    let dst = src[0].expect("a source").clone();
    let mut src = src.to_vec();
    let alias = dst.operand().ptr;
    // The clone's memory is both.
    src[0] = None;
    compute(level, op, &src, 1, &dst, Some(Operand { desc: &dst.desc, ptr: alias }))?;
    dst.check_gaps();
    Ok(dst)
}

fn run_into(
    level: Level,
    op: &Op,
    src: &[Option<&Tensor>],
    workers: usize,
    dst: Tensor,
) -> Result<Tensor> {
    compute(level, op, src, workers, &dst, None)?;
    dst.check_gaps();
    Ok(dst)
}

fn sources(src: &[Option<&Tensor>]) -> Sources {
    src.iter().enumerate().fold(Sources::NONE, |all, (i, t)| match t {
        Some(t) => all.with(i, t.desc),
        None => all,
    })
}

fn compute(
    level: Level,
    op: &Op,
    src: &[Option<&Tensor>],
    workers: usize,
    dst: &Tensor,
    first: Option<Operand<'_>>,
) -> Result<()> {
    let mut all = sources(src);
    let mut operands = [None; MAX_SRC];
    for (slot, t) in operands.iter_mut().zip(src) {
        *slot = t.map(Tensor::operand);
    }
    if let Some(o) = first {
        all = all.with(0, *o.desc);
        operands[0] = first;
    }
    let query = Query { op, dst: &dst.desc, src: &all };
    let kernel = crate::kernels::resolve(level, &query).expect("a kernel");
    let bytes = crate::kernels::scratch(level, &query, workers);
    // A NaN in every place that a kernel might forget to set.
    let mut scratch = std::vec![u64::MAX; bytes.div_ceil(8) + 1];
    let meet = Meet(std::sync::Barrier::new(workers));
    let pointer = scratch.as_mut_ptr().cast::<u8>();
    let teams: Vec<Worker<'_>> = (0..workers).map(|i| Worker::new(i, workers, &meet)).collect();
    let args: Vec<Args<'_>> = teams
        .iter()
        .map(|worker| Args {
            op,
            dst: dst.operand(),
            src: operands,
            worker,
            scratch: pointer,
            scratch_len: bytes,
        })
        .collect();
    let mut result = Ok(());
    std::thread::scope(|scope| {
        let handles: Vec<_> = args
            .iter()
            .map(|a| {
                let shared = Shared(a);
                scope.spawn(move || {
                    let shared = shared;
                    // SAFETY: the operands are valid, every worker runs, and the level is one that this machine has.
                    unsafe { kernel(shared.0) }
                })
            })
            .collect();
        for h in handles {
            result = h.join().expect("no panic").and(result);
        }
    });
    assert!(bytes < 8 || scratch[bytes.div_ceil(8)] == u64::MAX, "past the scratch memory");
    result
}

/// Deterministic numbers in -1 to 1.
pub(crate) fn noise(i: usize) -> f32 {
    let mut x = (i as u32).wrapping_mul(0x9e37_79b9) ^ 0x1234_5678;
    x ^= x >> 15;
    x = x.wrapping_mul(0x85eb_ca6b);
    x ^= x >> 13;
    x = x.wrapping_mul(0xc2b2_ae35);
    x ^= x >> 16;
    (x >> 8) as f32 / 8_388_608.0 - 1.0
}

/// Fails where `got` differs from `want` by more than `relative` of it plus `absolute`, NaN being equal to NaN.
pub(crate) fn close(got: &[f64], want: &[f64], relative: f64, absolute: f64, what: &str) {
    assert_eq!(got.len(), want.len(), "{what}");
    for (i, (g, w)) in got.iter().zip(want).enumerate() {
        let same = g == w || g.is_nan() && w.is_nan();
        assert!(
            same || (g - w).abs() <= relative * w.abs() + absolute,
            "{what}: element {i} is {g}, not {w}"
        );
    }
}

/// Mounts each test `fn name(level: Level)` once per level that this machine runs.
macro_rules! on_levels {
    ($($name:ident),* $(,)?) => {
        mod scalar {
            $(#[test] fn $name() { super::$name(crate::Level::Scalar) })*
        }
        #[cfg(all(feature = "avx2", target_arch = "x86_64"))]
        mod avx2 {
            $(#[test] fn $name() {
                if crate::kernels::vec::tests::levels().contains(&crate::Level::Avx2) {
                    super::$name(crate::Level::Avx2);
                }
            })*
        }
        #[cfg(all(feature = "neon", target_arch = "aarch64"))]
        mod neon {
            $(#[test] fn $name() { super::$name(crate::Level::Neon) })*
        }
    };
}
pub(crate) use on_levels;
