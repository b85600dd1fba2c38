//! `ACC`, `SET`: a copy of a tensor with another one added or stored in a window of it.

use super::mem::Mem;
use super::walk::{Rows, share};
use crate::{Args, Kernel};
use dinrail_core::error::Result;
use dinrail_core::hal::Query;
use dinrail_core::op::{Op, Window};

/// The kernel: `ACC` for `F32`, `SET` for every type without blocks.
pub(super) const fn resolve(q: &Query<'_>) -> Option<Kernel> {
    match q.op {
        Op::Acc(_) => Some(acc),
        Op::Set(_) => Some(set),
        _ => None,
    }
}

/// # Safety
/// As [`Kernel`].
unsafe fn acc(args: &Args<'_>) -> Result<()> {
    let &Op::Acc(window) = args.op else { return Ok(()) };
    // SAFETY: the same contract.
    unsafe { run(args, window, true) }
}

/// # Safety
/// As [`Kernel`].
unsafe fn set(args: &Args<'_>) -> Result<()> {
    let &Op::Set(window) = args.op else { return Ok(()) };
    // SAFETY: the same contract.
    unsafe { run(args, window, false) }
}

/// # Safety
/// As [`Kernel`].
unsafe fn run(args: &Args<'_>, w: Window, add: bool) -> Result<()> {
    let [Some(a), Some(b), ..] = args.src else {
        args.worker.wait();
        return Ok(());
    };
    // SAFETY: the contract of `Kernel`; workers write disjoint bytes before the barrier and disjoint rows after it.
    let dst = unsafe { Mem::new(&args.dst) };
    // SAFETY: as above.
    let a = unsafe { Mem::new(&a) };
    // SAFETY: as above.
    let b = unsafe { Mem::new(&b) };
    let part = share(args.worker, dst.desc.bytes(), 4096);
    dst.copy(part.start, &a, part.start, part.len());
    args.worker.wait();
    let (ne, size) = (b.desc.ne, b.desc.dtype.block_bytes());
    // Rows that lie over each other are stored in order, by one worker.
    let apart = w.nb[0] >= ne[0].wrapping_mul(size)
        && (w.nb[1] >= w.nb[0].wrapping_mul(ne[1]) || ne[2] == 1)
        && (w.nb[2] >= w.nb[1].wrapping_mul(ne[2]) || ne[3] == 1);
    let rows = match (apart, args.worker.index()) {
        (true, _) => args.worker.share(b.desc.rows()),
        (false, 0) => 0..b.desc.rows(),
        (false, _) => 0..0,
    };
    for [i1, i2, i3] in Rows::new(&ne, rows) {
        let to = w.offset + i1 * w.nb[0] + i2 * w.nb[1] + i3 * w.nb[2];
        let from = b.desc.row_offset(i1, i2, i3);
        if add {
            for i in 0..ne[0] {
                let x: f32 = dst.get(to + i * 4);
                dst.set(to + i * 4, x + b.get::<f32>(from + i * 4));
            }
        } else {
            dst.copy(to, &b, from, ne[0] * size);
        }
    }
    Ok(())
}
