//! `ARANGE`: values from nothing.

use super::mem::Mem;
use super::walk::share;
use crate::{Args, Kernel};
use dinrail_core::error::Result;
use dinrail_core::hal::Query;
use dinrail_core::op::Op;
use dinrail_core::tensor::DType;

/// The kernel.
pub(super) const fn resolve(q: &Query<'_>) -> Option<Kernel> {
    match q.dst.dtype {
        DType::F32 => Some(arange),
        _ => None,
    }
}

/// # Safety
/// As [`Kernel`].
unsafe fn arange(args: &Args<'_>) -> Result<()> {
    let &Op::Arange { start, step, .. } = args.op else { return Ok(()) };
    // SAFETY: the contract of `Kernel`; workers write disjoint elements.
    let dst = unsafe { Mem::new(&args.dst) };
    for i in share(args.worker, dst.desc.ne[0], 64) {
        dst.set(i * dst.desc.nb[0], start + step * i as f32);
    }
    Ok(())
}
