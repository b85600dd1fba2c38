//! Products with a single column, at the portable level: what small networks and the generation of text do.
//!
//! The bits are those of the general driver. What is left out is what one column doesn't need: preparing columns,
//! cutting the work in two directions, slices. That is most of the driver's code, which counts where flash is small.

use super::driver::operands;
use super::float::Stored;
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

/// Rows of the weights that lie `stride` bytes apart.
#[derive(Clone, Copy)]
pub struct Rows {
    /// The first one.
    pub first: *const u8,
    /// Bytes from one to the next.
    pub stride: usize,
    /// How many there are.
    pub count: usize,
}

/// Weights that may have a way of their own to multiply rows.
pub trait Weights: Elem + Stored {
    /// The products of rows of `len` elements with `x`: each in eight sums, of every eighth element; each product
    /// rounded, each sum rounded.
    ///
    /// # Safety
    /// Rows and `x` are readable for `len` elements, and aligned for them; `out` is writable for a float a row.
    #[inline(always)]
    unsafe fn product(rows: Rows, x: *const f32, len: usize, out: *mut f32) {
        let single = Scalar.single();
        for r in 0..rows.count {
            let row = rows.first.wrapping_add(r.wrapping_mul(rows.stride));
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
            // SAFETY: the caller's promise.
            unsafe { out.wrapping_add(r).write(total(&sums)) };
        }
    }
}

impl Weights for Bf16 {}
cfg_if::cfg_if! {
    if #[cfg(cortex_m_fpu)] {
        use crate::kernels::cortex_m::rows as fast;

        /// Calls `f` for all pairs of rows, and for the last one of an odd number, which is then a pair with itself.
        #[inline(always)]
        fn pairs(rows: Rows, x: *const f32, len: usize, out: *mut f32, f: impl Fn(&fast::Rows)) {
            let Rows { first, stride, count } = rows;
            if count > 1 {
                f(&fast::Rows { rows: first, stride, pairs: count / 2, x, len, out });
            }
            if count % 2 == 1 {
                let mut twice = [0.0; 2];
                let last = first.wrapping_add(stride.wrapping_mul(count - 1));
                f(&fast::Rows { rows: last, stride: 0, pairs: 1, x, len, out: twice.as_mut_ptr() });
                // SAFETY: there is room for a float a row.
                unsafe { out.wrapping_add(count - 1).write(twice[0]) };
            }
        }

        impl Weights for F32 {
            #[inline(always)]
            unsafe fn product(rows: Rows, x: *const f32, len: usize, out: *mut f32) {
                // SAFETY: the caller's promise.
                pairs(rows, x, len, out, |job| unsafe { fast::f32(job) });
            }
        }

        impl Weights for F16 {
            #[inline(always)]
            unsafe fn product(rows: Rows, x: *const f32, len: usize, out: *mut f32) {
                // Model files align tensors; rows of an odd length end between words.
                if rows.first.addr().is_multiple_of(4) && rows.stride.is_multiple_of(4) {
                    // SAFETY: the caller's promise, and the rows' alignment was looked at.
                    pairs(rows, x, len, out, |job| unsafe { fast::f16(job) });
                } else {
                    // SAFETY: the caller's promise; any two bytes make a half.
                    unsafe { <Odd as Weights>::product(rows, x, len, out) }
                }
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

        impl Weights for Odd {}
    } else {
        impl Weights for F32 {}
        impl Weights for F16 {}
    }
}

/// The kernel of a float type. See [`Kernel`](crate::Kernel) for its contract.
///
/// # Safety
/// A kernel's contract; the right-hand side [fits](fits).
pub unsafe fn float<E: Weights>(args: &Args<'_>) -> Result<()> {
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
    let from = b.ptr.cast::<f32>().cast_const();
    let to = args.scratch.wrapping_add(args.scratch.addr().wrapping_neg() % 4).cast::<f32>();
    let share = args.worker.share(k);
    // SAFETY: the column has `k` elements; the scratch memory has room for as many, of which these are this worker's.
    unsafe { halves(from.wrapping_add(share.start), to.wrapping_add(share.start), share.len()) };
    args.worker.wait();
    // SAFETY: the caller's promise; the column was written before the barrier.
    unsafe { rows::<F16>(args, to) }
}

/// `to[i]` = `from[i]` rounded to half precision, below `len`.
///
/// # Safety
/// * `from` is readable and `to` writable for `len` floats, both aligned.
#[inline(always)]
pub unsafe fn halves(from: *const f32, to: *mut f32, len: usize) {
    #[cfg(cortex_m_fpu)]
    // SAFETY: the caller's promise.
    if unsafe { crate::kernels::cortex_m::column::halves(from, to, len) } {
        return;
    }
    for i in 0..len {
        // SAFETY: the caller's promise.
        let x = unsafe { from.wrapping_add(i).read() };
        // SAFETY: the caller's promise.
        unsafe { to.wrapping_add(i).write(crate::kernels::vec::half(x)) };
    }
}

/// All rows with the column `x`.
///
/// # Safety
/// As [`float`]; `x` has as many elements as a row.
#[inline(always)]
unsafe fn rows<E: Weights>(args: &Args<'_>, x: *const f32) -> Result<()> {
    let (a, b) = operands(args)?;
    let stride = a.desc.nb[1];
    let out = args.dst.ptr.cast::<f32>();
    let share = args.worker.share(a.desc.ne[1]);
    let first = a.ptr.wrapping_add(share.start.wrapping_mul(stride)).cast_const();
    let rows = Rows { first, stride, count: share.len() };
    // SAFETY: rows and column have as many elements, aligned as core has checked; the result has a value for each row,
    // and these are this worker's.
    unsafe { E::product(rows, x, b.desc.ne[0], out.wrapping_add(share.start)) };
    Ok(())
}

/// The sum of a vector's lanes, in the order of the scalar level.
#[inline(always)]
pub(in crate::kernels) fn total(s: &[f32; LANES]) -> f32 {
    ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]))
}
