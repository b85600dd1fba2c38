//! `ADD`, `SUB`, `MUL`, `DIV`.

use super::f32s;
use crate::kernels::walk::Rows;
use crate::{Args, Kernel};
use dinrail_core::error::Result;
use dinrail_core::hal::Query;
use dinrail_core::op::Op;

pub(super) const fn resolve(q: &Query<'_>) -> Option<Kernel> {
    let (Some(a), Some(b)) = (q.src.source(0), q.src.source(1)) else { return None };
    // The second operand's rows are whole or a single number.
    if !f32s(a) || !f32s(b) || !f32s(q.dst) || (b.ne[0] != a.ne[0] && b.ne[0] != 1) {
        return None;
    }
    match q.op {
        Op::Add => Some(add),
        Op::Sub => Some(sub),
        Op::Mul => Some(mul),
        Op::Div => Some(div),
        _ => None,
    }
}

macro_rules! kernels {
    ($($name:ident = $f:expr;)*) => {$(
        /// # Safety
        /// As [`Kernel`], for a node that [`resolve`] gave it to.
        unsafe fn $name(args: &Args<'_>) -> Result<()> {
            // SAFETY: the same contract.
            unsafe { run(args, $f) }
        }
    )*};
}

kernels! {
    add = |a, b| a + b;
    sub = |a, b| a - b;
    mul = |a, b| a * b;
    div = |a, b| a / b;
}

/// # Safety
/// As [`Kernel`], for a node that [`resolve`] gave it to.
#[inline(always)]
unsafe fn run(args: &Args<'_>, f: impl Fn(f32, f32) -> f32) -> Result<()> {
    let [Some(a), Some(b), ..] = args.src else { return Ok(()) };
    let d = args.dst.desc;
    let [_, n1, n2, n3] = b.desc.ne;
    let step = usize::from(b.desc.ne[0] != 1);
    for [i1, i2, i3] in Rows::new(&d.ne, args.worker.share(d.rows())) {
        let mut to = args.dst.ptr.wrapping_add(d.row_offset(i1, i2, i3)).cast::<f32>();
        let mut from = a.ptr.wrapping_add(a.desc.row_offset(i1, i2, i3)).cast::<f32>();
        let with = b.desc.row_offset(i1 % n1.max(1), i2 % n2.max(1), i3 % n3.max(1));
        let mut with = b.ptr.wrapping_add(with).cast::<f32>();
        for _ in 0..d.ne[0] {
            // SAFETY: the row has so many elements. Where the result is a source's memory, each is read before it is
            // written.
            let x = unsafe { from.read() };
            // SAFETY: as above.
            let y = unsafe { with.read() };
            // SAFETY: as above; the row is this worker's.
            unsafe { to.write(f(x, y)) };
            (to, from, with) = (to.wrapping_add(1), from.wrapping_add(1), with.wrapping_add(step));
        }
    }
    Ok(())
}
