//! Products with a single column, at the portable level: what small networks and the generation of text do.
//!
//! The bits are those of the general driver. What is left out is what one column doesn't need: preparing columns,
//! cutting the work in two directions, slices. That is most of the driver's code, which counts where flash is small.

use super::driver::operands;
use super::float::Stored;
use super::format::{Format, GROUP, Q8_0};
use crate::Args;
// Only some processors have a way of their own that needs it.
#[allow(unused_imports)]
use crate::kernels::vec::Simd;
use crate::kernels::vec::{Bf16, Elem, F16, F32, Lanes, Scalar};
use dinrail_core::error::{Error, Result, What};
use dinrail_core::tensor::{DType, Desc};

/// Lanes of the portable level.
const LANES: usize = 8;

/// Whether these kernels can compute a product with `b`.
pub const fn fits(b: &Desc) -> bool {
    matches!(b.dtype, DType::F32) && b.rows_contiguous() && b.rows() == 1
}

/// Weights that may have a way of their own to multiply two rows.
pub trait Pairs: Elem + Stored {
    /// The products of two rows of `len` elements with `x`: each in eight sums, of every eighth element; each product
    /// rounded, each sum rounded.
    ///
    /// # Safety
    /// Rows and `x` are readable for `len` elements, and aligned for them.
    #[inline(always)]
    unsafe fn pair(rows: [*const u8; 2], x: *const f32, len: usize) -> [f32; 2] {
        let single = Scalar.single();
        rows.map(|row| {
            let mut sums = [0.0; LANES];
            for i in 0..len {
                // SAFETY: the caller's promise.
                let x = unsafe { x.wrapping_add(i).read() };
                // SAFETY: the caller's promise.
                let w = unsafe { Self::load(single, row.wrapping_add(i * Self::SIZE)) }.first();
                if let Some(sum) = sums.get_mut(i % LANES) {
                    *sum += w * x;
                }
            }
            total(&sums)
        })
    }
}

impl Pairs for Bf16 {}
cfg_if::cfg_if! {
    if #[cfg(cortex_m_fpu)] {
        impl Pairs for F32 {
            #[inline(always)]
            unsafe fn pair(rows: [*const u8; 2], x: *const f32, len: usize) -> [f32; 2] {
                // SAFETY: the caller's promise.
                unsafe { super::cortex_m::f32_2(rows.map(|r| r.cast()), x, len) }
            }
        }

        impl Pairs for F16 {
            #[inline(always)]
            unsafe fn pair(rows: [*const u8; 2], x: *const f32, len: usize) -> [f32; 2] {
                // Model files align tensors; rows of an odd length end between words.
                if rows.iter().all(|r| r.addr() % 4 == 0) {
                    // SAFETY: the caller's promise, and the rows' alignment was looked at.
                    return unsafe { super::cortex_m::f16_2(rows.map(|r| r.cast()), x, len) };
                }
                // SAFETY: the caller's promise; any two bytes make a half.
                unsafe { <Odd as Pairs>::pair(rows, x, len) }
            }
        }

        /// Halves at any address.
        #[derive(Clone, Copy)]
        struct Odd;

        impl Stored for Odd {
            type Bits = u16;
        }

        impl Elem for Odd {
            const SIZE: usize = F16::SIZE;

            #[inline(always)]
            unsafe fn load<S: Simd>(s: S, p: *const u8) -> S::F {
                // SAFETY: the caller's promise.
                unsafe { F16::load(s, p) }
            }

            #[inline(always)]
            unsafe fn store<S: Simd>(s: S, p: *mut u8, v: S::F) {
                // SAFETY: the caller's promise.
                unsafe { F16::store(s, p, v) }
            }
        }

        impl Pairs for Odd {}
    } else {
        impl Pairs for F32 {}
        impl Pairs for F16 {}
    }
}

/// The kernel of a float type. See [`Kernel`](crate::Kernel) for its contract.
///
/// # Safety
/// A kernel's contract; the right-hand side [fits](fits).
pub unsafe fn float<E: Pairs>(args: &Args<'_>) -> Result<()> {
    let (_, b) = operands(args)?;
    // SAFETY: the caller's promise.
    unsafe { rows::<E>(args, b.ptr.cast::<f32>().cast_const()) }
}

/// The kernel of `F16`, whose columns are rounded to half precision. See [`Kernel`](crate::Kernel) for its contract.
///
/// # Safety
/// A kernel's contract; the right-hand side [fits](fits).
pub unsafe fn half(args: &Args<'_>) -> Result<()> {
    let (_, b) = operands(args)?;
    let k = b.desc.ne[0];
    let (need, have) = (k.saturating_mul(4).saturating_add(4), args.scratch_len);
    if need > have && k > 0 {
        return Err(Error::Full { what: What::Scratch, need, have });
    }
    let from = b.ptr.cast::<f32>();
    let to = args.scratch.wrapping_add(args.scratch.addr().wrapping_neg() % 4).cast::<f32>();
    for i in args.worker.share(k) {
        // SAFETY: the column has `k` elements.
        let x = unsafe { from.wrapping_add(i).read() };
        // SAFETY: the scratch memory has room for as many, and this one is this worker's.
        unsafe { to.wrapping_add(i).write(super::activations::half(x)) };
    }
    args.worker.wait();
    // SAFETY: the caller's promise; the column was written before the barrier.
    unsafe { rows::<F16>(args, to) }
}

/// All rows with the column `x`.
///
/// # Safety
/// As [`float`]; `x` has as many elements as a row.
#[inline(always)]
unsafe fn rows<E: Pairs>(args: &Args<'_>, x: *const f32) -> Result<()> {
    let (a, b) = operands(args)?;
    let (k, stride) = (b.desc.ne[0], a.desc.nb[1]);
    let out = args.dst.ptr.cast::<f32>();
    let share = args.worker.share(a.desc.ne[1]);
    let mut r = share.start;
    while r < share.end {
        // The last row of an odd number goes with itself.
        let second = if r + 1 < share.end { r + 1 } else { r };
        let rows = [r, second].map(|r| a.ptr.wrapping_add(r.wrapping_mul(stride)).cast_const());
        // SAFETY: rows and column have `k` elements, aligned as core has checked.
        let sums = unsafe { E::pair(rows, x, k) };
        for (r, sum) in [r, second].into_iter().zip(sums) {
            // SAFETY: the result has a value for each row, and this one is this worker's.
            unsafe { out.wrapping_add(r).write(sum) };
        }
        r += 2;
    }
    Ok(())
}

/// The sum of a vector's lanes, in the order of the scalar level.
#[inline(always)]
pub(in crate::kernels) fn total(s: &[f32; LANES]) -> f32 {
    ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]))
}

/// A group of the column, as the loop over a pair of rows wants it: `q[2 i]` holds elements `4 i` and `4 i + 2`, `q[2 i
/// + 1]` elements `4 i + 1` and `4 i + 3`, each pair in the halves of a word.
#[repr(C)]
pub struct Wide {
    /// Levels.
    pub q: [[i16; 2]; GROUP / 2],
    /// Scale.
    pub d: f32,
}

/// Bytes of scratch memory for a column of `k` elements.
pub const fn q8_0_bytes(k: usize) -> usize {
    // And to align the first one.
    (k / GROUP).saturating_mul(size_of::<Wide>()).saturating_add(align_of::<Wide>())
}

/// The kernel of `Q8_0`. See [`Kernel`](crate::Kernel) for its contract.
///
/// # Safety
/// A kernel's contract; the right-hand side [fits](fits).
#[cfg_attr(not(any(test, all(cortex_m_dsp, cortex_m_fpu))), allow(dead_code))]
pub unsafe fn q8_0(args: &Args<'_>) -> Result<()> {
    let (a, b) = operands(args)?;
    let k = b.desc.ne[0];
    let (need, have) = (q8_0_bytes(k), args.scratch_len);
    if need > have {
        return Err(Error::Full { what: What::Scratch, need, have });
    }
    let gap = args.scratch.addr().wrapping_neg() % align_of::<Wide>();
    let column = args.scratch.wrapping_add(gap).cast::<Wide>();
    let groups = k / GROUP;
    for g in args.worker.share(groups) {
        let x = b.ptr.cast::<f32>().wrapping_add(g * GROUP).cast_const();
        // SAFETY: the column has this group; the scratch memory has room for it, aligned, and it is this worker's.
        unsafe { widen(x, column.wrapping_add(g)) };
    }
    args.worker.wait();
    // SAFETY: all groups were written before the barrier.
    let column = unsafe { core::slice::from_raw_parts(column.cast_const(), groups) };
    let share = args.worker.share(a.desc.ne[1]);
    let row = |r: usize| a.ptr.wrapping_add(r.wrapping_mul(a.desc.nb[1])).cast_const();
    let out = args.dst.ptr.cast::<f32>().wrapping_add(share.start);
    let pairs = share.len() / 2;
    // SAFETY: each row has as many blocks as the column has groups, and the result a value for each row.
    unsafe { q8_0_rows(row(share.start), a.desc.nb[1], pairs, column, out) };
    if share.len() % 2 == 1 {
        let mut twice = [0.0; 2];
        // SAFETY: as above; the last row goes with itself.
        unsafe { q8_0_rows(row(share.end - 1), 0, 1, column, twice.as_mut_ptr()) };
        // SAFETY: as above.
        unsafe { out.wrapping_add(share.len() - 1).write(twice[0]) };
    }
    Ok(())
}

/// Rounds the group at `x` as `activations::quantise_group` does, without a copy of it.
///
/// # Safety
/// * `x` is readable for a group, `to` writable, both aligned.
#[inline(always)]
unsafe fn widen(x: *const f32, to: *mut Wide) {
    let mut max = 0;
    for i in 0..GROUP {
        // SAFETY: the caller's promise.
        let bits = unsafe { x.wrapping_add(i).cast::<u32>().read() } & 0x7fff_ffff;
        max = if bits > max { bits } else { max };
    }
    let largest = f32::from_bits(max);
    let (d, inverse) = (largest / 127.0, 127.0 / largest);
    let usable = max < 0x7f80_0000 && inverse < f32::INFINITY;
    for i in 0..GROUP / 2 {
        let first = 4 * (i / 2) + i % 2;
        let level = |k: usize| {
            // SAFETY: the caller's promise; `first + 2` is at most 31.
            let x = unsafe { x.wrapping_add(first + k).read() };
            // In [2^23, 2^24) the last place is worth one, so the addition rounds; the level is in the low bits.
            if usable { (x * inverse + 12_582_912.0).to_bits() as i16 } else { 0 }
        };
        let pair = [level(0), level(2)];
        // SAFETY: the caller's promise.
        unsafe { to.cast::<[i16; 2]>().wrapping_add(i).write(pair) };
    }
    let d = if max < 0x7f80_0000 { d } else { f32::NAN };
    let scale = to.cast::<u8>().wrapping_add(core::mem::offset_of!(Wide, d)).cast::<f32>();
    // SAFETY: the caller's promise.
    unsafe { scale.write(super::activations::half(d)) };
}

/// Pairs of rows with the column: two results each.
///
/// # Safety
/// * Each row has a block for each group; the next one begins `row_bytes` further.
/// * `out` is writable for two floats a pair.
#[inline(always)]
unsafe fn q8_0_rows(
    rows: *const u8,
    row_bytes: usize,
    pairs: usize,
    column: &[Wide],
    out: *mut f32,
) {
    if column.is_empty() {
        for i in 0..2 * pairs {
            // SAFETY: the caller's promise.
            unsafe { out.wrapping_add(i).write(0.0) };
        }
        return;
    }
    cfg_if::cfg_if! {
        if #[cfg(all(cortex_m_dsp, cortex_m_fpu))] {
            // SAFETY: the caller's promise.
            unsafe { super::cortex_m::q8_0(rows, row_bytes, pairs, column, out) }
        } else {
            for r in 0..2 * pairs {
                let row = rows.wrapping_add(r.wrapping_mul(row_bytes)).cast::<<Q8_0 as Format>::Block>();
                let mut sum = 0.0;
                for (g, x) in column.iter().enumerate() {
                    // SAFETY: the caller's promise.
                    let w = Q8_0::group(unsafe { &*row.wrapping_add(g) }, 0);
                    let mut dot = 0;
                    for (w, x) in w.q.as_chunks::<4>().0.iter().zip(x.q.as_chunks::<2>().0) {
                        let [a, b, c, d] = w.map(i32::from);
                        let [[p, r], [q, s]] = x.map(|x| x.map(i32::from));
                        dot += a * p + b * q + c * r + d * s;
                    }
                    sum += dot as f32 * (w.d * x.d);
                }
                // SAFETY: the caller's promise.
                unsafe { out.wrapping_add(r).write(sum) };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Level;
    use crate::kernels::matmul;
    use crate::kernels::small::tests::{compute, numbers};
    use dinrail_core::hal::Query;
    use dinrail_core::op::{Op, Precision, Sources};

    /// The way that cores with the DSP extension go gives the bits of the general one.
    #[test]
    fn q8_0_to_the_bit() {
        for (k, n) in [(32, 1), (64, 2), (160, 7), (640, 16)] {
            let a = Desc::d2(DType::Q8_0, k, n).unwrap();
            let b = Desc::d1(DType::F32, k).unwrap();
            let dst = Desc::d1(DType::F32, n).unwrap();
            let src = Sources::NONE.with(0, a).with(1, b);
            let op = Op::MulMat { precision: Precision::Default };
            let q = Query { op: &op, dst: &dst, src: &src };
            let mut weights = numbers(a.bytes().div_ceil(4), 1);
            for block in weights.chunks_exact_mut(34) {
                // A scale that is a usual number.
                block[1] = 0x20 | block[1] & 3;
            }
            let mut data = [weights, numbers(k, 2)];
            let general = matmul::scalar_kernel(DType::Q8_0).unwrap();
            let need = matmul::plan(Level::Scalar, DType::Q8_0, &b).1.total(1);
            let want = compute(general, &q, &mut data, need);
            let got = compute(q8_0, &q, &mut data, q8_0_bytes(k));
            assert!(
                got.iter().zip(&want).all(|(g, w)| g.to_bits() == w.to_bits()),
                "{got:?} {want:?}"
            );
            assert!(got.iter().any(|x| *x != 0.0));
        }
    }
}
