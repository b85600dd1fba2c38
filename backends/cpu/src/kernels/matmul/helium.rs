//! Products with a single column on cores with Helium. Integer sums are the portable level's; floats are summed in four
//! lanes, fused.

use super::driver::operands;
use super::format::GROUP;
use super::vector::{self, halves};
use crate::kernels::cortex_m::helium::{self as fast, Quads};
use crate::kernels::vec::half;
use crate::{Args, Kernel};
use dinrail_core::error::{Error, Result, What};
use dinrail_core::tensor::{DType, Desc};

/// Bytes of a group of the column: levels and a scale.
const ITEM: usize = GROUP + 4;

/// The kernel for a type of weights, where there is one.
pub const fn kernel(dtype: DType, b: &Desc) -> Option<Kernel> {
    match dtype {
        _ if !vector::fits(b) => None,
        DType::F32 => Some(f32),
        DType::F16 => Some(f16),
        DType::Q8_0 => Some(q8_0),
        _ => None,
    }
}

/// Bytes of scratch memory of a kernel for a column of `k` elements, and to align it.
pub const fn scratch(dtype: DType, k: usize) -> usize {
    match dtype {
        DType::F32 => 0,
        DType::F16 => k.saturating_mul(4).saturating_add(4),
        _ => (k / GROUP).saturating_mul(ITEM).saturating_add(4),
    }
}

/// The aligned start of the scratch memory.
fn column(args: &Args<'_>, dtype: DType, k: usize) -> Result<*mut u8> {
    let (need, have) = (scratch(dtype, k), args.scratch_len);
    if need > have {
        return Err(Error::Full { what: What::Scratch, need, have });
    }
    Ok(args.scratch.wrapping_add(args.scratch.addr().wrapping_neg() % 4))
}

/// # Safety
/// As [`Kernel`], for weights of `F32` and a right-hand side that [fits](vector::fits).
unsafe fn f32(args: &Args<'_>) -> Result<()> {
    let (_, b) = operands(args)?;
    // SAFETY: the caller's promise.
    unsafe { rows(args, b.ptr, b.desc.ne[0], fast::f32) }
}

/// # Safety
/// As [`f32`], for weights of `F16`.
unsafe fn f16(args: &Args<'_>) -> Result<()> {
    let (_, b) = operands(args)?;
    let k = b.desc.ne[0];
    let column = column(args, DType::F16, k)?;
    let (from, to) = (b.ptr.cast::<f32>().cast_const(), column.cast::<f32>());
    let share = args.worker.share(k);
    // SAFETY: the column has `k` elements; the scratch memory has room for as many, of which these are this worker's.
    unsafe { halves(from.wrapping_add(share.start), to.wrapping_add(share.start), share.len()) };
    args.worker.wait();
    // SAFETY: the caller's promise; the column was written before the barrier.
    unsafe { rows(args, column, k, fast::f16) }
}

/// # Safety
/// As [`f32`], for weights of `Q8_0`.
unsafe fn q8_0(args: &Args<'_>) -> Result<()> {
    let (_, b) = operands(args)?;
    let k = b.desc.ne[0];
    let column = column(args, DType::Q8_0, k)?;
    for g in args.worker.share(k / GROUP) {
        let x = b.ptr.cast::<f32>().wrapping_add(g * GROUP).cast_const();
        // SAFETY: the column has this group; the scratch memory has room for it, and it is this worker's.
        unsafe { quantise(x, column.wrapping_add(g * ITEM)) };
    }
    args.worker.wait();
    // SAFETY: the caller's promise; the column was written before the barrier.
    unsafe { rows(args, column, k / GROUP, fast::q8_0) }
}

/// Rounds a group as `activations::quantise_group` does.
///
/// # Safety
/// * `x` is readable for a group, `to` writable for an item, both aligned.
unsafe fn quantise(x: *const f32, to: *mut u8) {
    // SAFETY: the caller's promise.
    let bits = unsafe { fast::largest(x) };
    let (d, inverse) = (f32::from_bits(bits) / 127.0, 127.0 / f32::from_bits(bits));
    let finite = bits < 0x7f80_0000;
    if finite && inverse < f32::INFINITY {
        // SAFETY: the caller's promise; the elements times `inverse` are at most 127.
        unsafe { fast::levels(x, to.cast(), inverse) };
    } else {
        // SAFETY: the caller's promise.
        unsafe { to.cast::<[i8; GROUP]>().write([0; GROUP]) };
    }
    let scale = half(if finite { d } else { f32::NAN });
    // SAFETY: the caller's promise.
    unsafe { to.wrapping_add(GROUP).cast::<f32>().write(scale) };
}

/// All rows with a column of `len` items, by a loop over quads of rows. The last rows of a number that four doesn't divide
/// are computed again with those before them, or alone where there are less than four.
///
/// # Safety
/// * The loop's contract holds for the rows of the weights and the column.
#[inline(always)]
unsafe fn rows(
    args: &Args<'_>,
    x: *const u8,
    len: usize,
    run: unsafe extern "C" fn(*const Quads),
) -> Result<()> {
    let (a, _) = operands(args)?;
    let stride = a.desc.nb[1];
    let share = args.worker.share(a.desc.ne[1]);
    let row = |r: usize| a.ptr.wrapping_add(r.wrapping_mul(stride)).cast_const();
    let out = |r: usize| args.dst.ptr.cast::<f32>().wrapping_add(r);
    if len == 0 {
        for r in share {
            // SAFETY: the result has a value for each row, and these are this worker's.
            unsafe { out(r).write(0.0) };
        }
        return Ok(());
    }
    if share.len() < 4 {
        for r in share {
            let mut four = [0.0; 4];
            let job = Quads { rows: row(r), stride: 0, quads: 1, x, len, out: four.as_mut_ptr() };
            // SAFETY: the caller's promise; this is one row four times.
            unsafe { run(&job) };
            // SAFETY: as above.
            unsafe { out(r).write(four[0]) };
        }
        return Ok(());
    }
    let (first, quads) = (share.start, share.len() / 4);
    let job = Quads { rows: row(first), stride, quads, x, len, out: out(first) };
    // SAFETY: the caller's promise.
    unsafe { run(&job) };
    if !share.len().is_multiple_of(4) {
        let last = share.end - 4;
        let job = Quads { rows: row(last), stride, quads: 1, x, len, out: out(last) };
        // SAFETY: the caller's promise.
        unsafe { run(&job) };
    }
    Ok(())
}
