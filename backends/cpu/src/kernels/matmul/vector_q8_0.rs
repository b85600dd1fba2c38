//! Products of `Q8_0` rows with a single column on Cortex-M cores with the DSP extension. The bits are those of the
//! general driver at the scalar level.

use super::driver::operands;
use super::format::GROUP;
use crate::Args;
use crate::kernels::cortex_m::column::{largest, levels};
use crate::kernels::cortex_m::q8_0::{Blocks, singles, twins};
use crate::kernels::vec::half;
use dinrail_core::error::{Error, Result, What};

/// Bytes of the levels of a group of the column, 16 bits each, and of its scale.
const LEVELS: usize = 2 * GROUP;
const ITEM: usize = LEVELS + 4;

/// Bytes of scratch memory for a column of `k` elements, and to align it.
pub const fn scratch(k: usize) -> usize {
    (k / GROUP).saturating_mul(ITEM).saturating_add(4)
}

/// The kernel. See [`Kernel`](crate::Kernel) for its contract.
///
/// # Safety
/// A kernel's contract; the right-hand side [fits](super::vector::fits).
pub unsafe fn q8_0(args: &Args<'_>) -> Result<()> {
    let (a, b) = operands(args)?;
    let k = b.desc.ne[0];
    let (need, have) = (scratch(k), args.scratch_len);
    if need > have {
        return Err(Error::Full { what: What::Scratch, need, have });
    }
    let column = args.scratch.wrapping_add(args.scratch.addr().wrapping_neg() % 4);
    let (groups, stride) = (k / GROUP, a.desc.nb[1]);
    let twin = groups.is_multiple_of(2) && (a.ptr.addr() | stride).is_multiple_of(4);
    for g in args.worker.share(groups) {
        let x = b.ptr.cast::<f32>().wrapping_add(g * GROUP).cast_const();
        // Twins have their scales behind the levels of both, and the first one is turned.
        let (at, scale_at, turned) = match (twin, g % 2) {
            (false, _) => (g * ITEM, g * ITEM + LEVELS, 0),
            (true, 0) => (g * ITEM, g * ITEM + 2 * LEVELS, 1),
            (true, _) => (g * ITEM - 4, g * ITEM + LEVELS, 0),
        };
        let (to, scale) = (column.wrapping_add(at).cast(), column.wrapping_add(scale_at).cast());
        // SAFETY: the column has this group; the scratch memory has room for it, aligned, and it is this worker's.
        unsafe { quantise(x, to, scale, turned) };
    }
    args.worker.wait();
    let share = args.worker.share(a.desc.ne[1]);
    let row = |r: usize| a.ptr.wrapping_add(r.wrapping_mul(stride)).cast_const();
    let out = args.dst.ptr.cast::<f32>().wrapping_add(share.start);
    if groups == 0 {
        for r in 0..share.len() {
            // SAFETY: the result has a value for each row, and these are this worker's.
            unsafe { out.wrapping_add(r).write(0.0) };
        }
        return Ok(());
    }
    let items = if twin { groups / 2 } else { groups };
    let run = |rows: *const u8, stride: usize, pairs: usize, out: *mut f32| {
        let mut job = Blocks::new(rows, stride, pairs, (column.cast_const(), groups, items), out);
        if twin {
            // SAFETY: each row has as many blocks as the column has groups, which were all written before the barrier,
            // and the result a value for each row; pairs of blocks lie at multiples of 4.
            unsafe { twins(&mut job) }
        } else {
            // SAFETY: as above.
            unsafe { singles(&mut job) }
        }
    };
    let pairs = share.len() / 2;
    if pairs > 0 {
        run(row(share.start), stride, pairs, out);
    }
    if share.len() % 2 == 1 {
        // The last row goes with itself.
        let mut twice = [0.0; 2];
        run(row(share.end - 1), 0, 1, twice.as_mut_ptr());
        // SAFETY: the result has a value for each row, and this one is this worker's.
        unsafe { out.wrapping_add(share.len() - 1).write(twice[0]) };
    }
    Ok(())
}

/// Rounds a group as `activations::quantise_group` does.
///
/// # Safety
/// * `x` is readable for a group, `to` writable for one, `scale` writable, all aligned.
#[inline(always)]
unsafe fn quantise(x: *const f32, to: *mut u32, scale: *mut f32, turned: usize) {
    // SAFETY: the caller's promise.
    let bits = unsafe { largest(x) };
    let (d, inverse) = (f32::from_bits(bits) / 127.0, 127.0 / f32::from_bits(bits));
    let finite = bits < 0x7f80_0000;
    if finite && inverse < f32::INFINITY {
        // SAFETY: the caller's promise; the elements times `inverse` are at most 127.
        unsafe { levels(x, to, turned, inverse) };
    } else {
        for i in 0..GROUP / 2 {
            // SAFETY: the caller's promise.
            unsafe { to.wrapping_add(i).write(0) };
        }
    }
    // SAFETY: the caller's promise.
    unsafe { scale.write(half(if finite { d } else { f32::NAN })) };
}
