//! Checksums of what kernels compute, for one promise: the portable level gives the same bits on every target, and a
//! microcontroller's own loops give them too.
//!
//! [`all`] runs kernels of a level on numbers made up here and gives each result's checksum to the caller. It needs no
//! heap and no operating system. `tests/golden.rs` compares with [`GOLDEN`] on machines that have one; the program in
//! `bare` prints the checksums elsewhere, and `ci/bits.sh` compares those.
#![no_std]
#![warn(missing_docs)]

mod cases;
mod golden;

pub use cases::{all, compare};
pub use dinrail_cpu::Level;
pub use golden::GOLDEN;

use dinrail_core::graph::MAX_SRC;
use dinrail_core::hal::Query;
use dinrail_core::hal::host::Worker;
use dinrail_core::op::{Op, Sources};
use dinrail_core::tensor::{DType, Desc};
use dinrail_cpu::{Args, Operand, resolve, scratch};

/// Bytes of memory that [`all`] works in.
pub const MEMORY: usize = 96 * 1024;

/// Memory that is aligned for everything.
#[repr(C, align(64))]
pub struct Memory(pub [u8; MEMORY]);

/// Numbers without a pattern.
struct Random(u32);

impl Random {
    fn next(&mut self) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 17;
        self.0 ^= self.0 << 5;
        self.0
    }

    /// From -1 to 1, at steps of 2^-23.
    fn float(&mut self) -> f32 {
        (self.next() >> 8) as f32 / 8_388_608.0 - 1.0
    }

    /// A half-precision number from 2^-7 to 2^-5, of either sign.
    fn half(&mut self) -> u16 {
        let x = self.next();
        (x & 0x83ff) as u16 | 0x2000 | (x >> 16 & 0x0400) as u16
    }
}

/// Where a block keeps half-precision numbers, for each quantised type.
fn scales(dtype: DType) -> &'static [usize] {
    match dtype {
        DType::Q4_1 | DType::Q5_1 | DType::Q4_K | DType::Q5_K => &[0, 2],
        DType::Q2_K => &[80, 82],
        DType::Q3_K => &[108],
        DType::Q6_K => &[208],
        DType::TQ1_0 => &[52],
        DType::TQ2_0 => &[64],
        DType::MXFP4 => &[],
        _ => &[0],
    }
}

/// Fills a tensor: floats from -1 to 1, blocks with scales of a usual size.
fn fill(desc: &Desc, bytes: &mut [u8], seed: u32) {
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9) | 1);
    let size = desc.dtype.block_bytes();
    for block in bytes.chunks_exact_mut(size) {
        match desc.dtype {
            DType::F32 => block.copy_from_slice(&random.float().to_le_bytes()),
            DType::F16 => block.copy_from_slice(&random.half().to_le_bytes()),
            DType::BF16 => block.copy_from_slice(&random.float().to_le_bytes()[2..]),
            DType::I32 => block.copy_from_slice(&(random.next() % 5).to_le_bytes()),
            _ => {
                block.iter_mut().for_each(|b| *b = random.next() as u8);
                for at in scales(desc.dtype) {
                    block[*at..*at + 2].copy_from_slice(&random.half().to_le_bytes());
                }
                if desc.dtype == DType::MXFP4 {
                    block[0] = 120 + block[0] % 8;
                }
            }
        }
    }
}

/// What a case is made of. Source `i` is filled from the seed `i + 1`, unless bytes are given.
struct Case<'a> {
    name: &'static str,
    op: Op,
    dst: Desc,
    src: &'a [Desc],
    /// The bytes of the last source, where they mean something.
    last: Option<&'a [u8]>,
}

/// FNV-1a over 32-bit words. All NaNs are one: which of them comes out is the processor's affair.
fn checksum(bytes: &[u8]) -> u32 {
    bytes.as_chunks::<4>().0.iter().fold(0x811c_9dc5, |sum, word| {
        let bits = u32::from_le_bytes(*word);
        let bits = if bits & 0x7fff_ffff > 0x7f80_0000 { 0x7fc0_0000 } else { bits };
        bits.to_le_bytes()
            .iter()
            .fold(sum, |sum, b| (sum ^ u32::from(*b)).wrapping_mul(0x0100_0193))
    })
}

/// How far results of two levels are apart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Apart {
    /// Whether every bit is the same.
    pub same: bool,
    /// The largest difference over the largest magnitude.
    pub most: f32,
}

/// Compares the results `want` and `got`.
fn apart(want: &[u8], got: &[u8]) -> Apart {
    let floats = |b: &'_ [u8; 4]| f32::from_le_bytes(*b);
    let pairs = || want.as_chunks::<4>().0.iter().zip(got.as_chunks::<4>().0);
    let max = |a: f32, b: f32| if b > a { b } else { a };
    let largest = pairs().fold(0.0, |m, (w, _)| max(m, floats(w).abs()));
    let difference = pairs().fold(0.0, |m, (w, g)| {
        let (w, g) = (floats(w), floats(g));
        // Two infinities or two NaNs are no difference; one is.
        if w.to_bits() == g.to_bits() || w.is_nan() && g.is_nan() {
            m
        } else {
            max(m, if (w - g).is_finite() { (w - g).abs() } else { f32::MAX })
        }
    });
    Apart { same: want == got, most: if largest > 0.0 { difference / largest } else { difference } }
}

/// Runs a case and gives its result, `None` where the level has no kernel, the memory is too small, or the kernel fails.
fn run<'m>(level: Level, case: &Case<'_>, memory: &'m mut Memory) -> Option<&'m [u8]> {
    let mut sources = Sources::NONE;
    for (i, desc) in case.src.iter().enumerate() {
        sources = sources.with(i, *desc);
    }
    let query = Query { op: &case.op, dst: &case.dst, src: &sources };
    let kernel = resolve(level, &query)?;
    let mut rest = memory.0.as_mut_slice();
    // Each part begins at a multiple of 64.
    let mut part = |bytes: usize| {
        let taken = core::mem::take(&mut rest);
        let (a, b) = taken.split_at_mut_checked(bytes.next_multiple_of(64))?;
        rest = b;
        a.get_mut(..bytes)
    };
    let mut src = [None; MAX_SRC];
    for (i, desc) in case.src.iter().enumerate() {
        let bytes = part(desc.bytes())?;
        match case.last {
            Some(given) if i + 1 == case.src.len() => bytes.copy_from_slice(given),
            _ => fill(desc, bytes, i as u32 + 1),
        }
        src[i] = Some(Operand { desc, ptr: bytes.as_mut_ptr() });
    }
    let out = part(case.dst.bytes())?;
    out.fill(0);
    let work = part(scratch(level, &query, 1))?;
    let args = Args {
        op: &case.op,
        dst: Operand { desc: &case.dst, ptr: out.as_mut_ptr() },
        src,
        worker: &Worker::ALONE,
        scratch: work.as_mut_ptr(),
        scratch_len: work.len(),
    };
    // SAFETY: every operand is as large as its description says and aligned, no other thread knows the memory, and
    // the caller runs a level that the machine has.
    unsafe { kernel(&args) }.ok()?;
    Some(out)
}
