//! Copies, with and without a change of type: `CONT`, `DUP`, `CPY`.

use super::mem::{Mem, STAGE};
use super::walk::{Cursor, share};
use crate::{Args, Kernel};
use dinrail_core::error::Result;
use dinrail_core::hal::Query;
use dinrail_core::tensor::DType;

/// The kernel for a copy: between equal types, between floats and quantised types, and between `F32` and `I32`.
pub(super) const fn resolve(q: &Query<'_>) -> Option<Kernel> {
    let Some(from) = q.src.source(0) else { return None };
    let (a, b) = (from.dtype, q.dst.dtype);
    if a as u8 == b as u8 {
        return Some(same);
    }
    let integers = a.is_integer() || b.is_integer();
    let doubles = matches!(a, DType::F64) || matches!(b, DType::F64);
    match (a, b) {
        (DType::F32, DType::I32) | (DType::I32, DType::F32) => Some(convert),
        _ if integers || doubles => None,
        _ => Some(convert),
    }
}

/// Elements in their logical order, byte for byte.
///
/// # Safety
/// As [`Kernel`].
unsafe fn same(args: &Args<'_>) -> Result<()> {
    let Some(src) = args.src[0] else { return Ok(()) };
    // SAFETY: the contract of `Kernel`; workers write disjoint elements.
    let dst = unsafe { Mem::new(&args.dst) };
    // SAFETY: as above.
    let src = unsafe { Mem::new(&src) };
    let dtype = dst.desc.dtype;
    let (block, size) = (dtype.block_len(), dtype.block_bytes());
    let part = share(args.worker, dst.desc.elements(), STAGE);
    let (mut to, mut from) = (Cursor::new(dst.desc, part.start), Cursor::new(src.desc, part.start));
    let mut left = part.len();
    while left > 0 {
        let n = to.run().min(from.run()).min(left);
        dst.copy_blocks(
            (to.offset(), to.step()),
            (&src, from.offset(), from.step()),
            n / block,
            size,
        );
        to.advance(n);
        from.advance(n);
        left -= n;
    }
    Ok(())
}

/// Elements in their logical order through `f32`.
///
/// # Safety
/// As [`Kernel`].
unsafe fn convert(args: &Args<'_>) -> Result<()> {
    let Some(src) = args.src[0] else { return Ok(()) };
    // SAFETY: the contract of `Kernel`; workers write disjoint elements.
    let dst = unsafe { Mem::new(&args.dst) };
    // SAFETY: as above.
    let src = unsafe { Mem::new(&src) };
    let part = share(args.worker, dst.desc.elements(), STAGE);
    let (mut to, mut from) = (Cursor::new(dst.desc, part.start), Cursor::new(src.desc, part.start));
    let mut stage = [0.0; STAGE];
    let mut left = part.len();
    while left > 0 {
        // A stage starts and ends between blocks of both types, however their rows are cut.
        let n = left.min(STAGE);
        let Some(mut rest) = stage.get_mut(..n) else { break };
        while !rest.is_empty() {
            let (piece, more) = rest.split_at_mut(from.run().min(rest.len()));
            src.load(from.offset(), from.step(), piece);
            from.advance(piece.len());
            rest = more;
        }
        let Some(mut rest) = stage.get(..n) else { break };
        while !rest.is_empty() {
            let (piece, more) = rest.split_at(to.run().min(rest.len()));
            dst.store(to.offset(), to.step(), piece);
            to.advance(piece.len());
            rest = more;
        }
        left -= n;
    }
    Ok(())
}
