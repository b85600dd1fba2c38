//! `ADD`, `SUB`, `MUL`, `DIV`, `ADD1`: two operands, the second repeated to the first.
//!
//! Computed in `f32` and rounded to the first operand's type.

use super::mem::{Mem, STAGE};
use super::walk::{Rows, share};
use crate::{Args, Kernel};
use core::num::NonZeroUsize;
use dinrail_core::error::Result;
use dinrail_core::hal::Query;
use dinrail_core::op::Op;
use dinrail_core::tensor::{DType, Desc};

/// The kernel: `F32`, `F16` and `BF16` in any mixture, and sums with a quantised first operand.
pub(super) const fn resolve(q: &Query<'_>) -> Option<Kernel> {
    let (Some(a), Some(b)) = (q.src.source(0), q.src.source(1)) else { return None };
    if !single(b) || !(single(a) || a.dtype.is_quantized()) {
        return None;
    }
    match q.op {
        Op::Add | Op::Add1 => Some(add),
        Op::Sub if single(a) => Some(sub),
        Op::Mul if single(a) => Some(mul),
        Op::Div if single(a) => Some(div),
        _ => None,
    }
}

const fn single(d: &Desc) -> bool {
    matches!(d.dtype, DType::F32 | DType::F16 | DType::BF16)
}

macro_rules! kernels {
    ($($name:ident = $f:expr;)*) => {$(
        /// # Safety
        /// As [`Kernel`].
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
/// As [`Kernel`].
#[inline(always)]
unsafe fn run(args: &Args<'_>, f: impl Fn(f32, f32) -> f32 + Copy) -> Result<()> {
    let [Some(a), Some(b), ..] = args.src else { return Ok(()) };
    // SAFETY: the contract of `Kernel`; workers write disjoint elements.
    let dst = unsafe { Mem::new(&args.dst) };
    // SAFETY: as above. Where the result is the memory of a source, each element is read before it is written.
    let a = unsafe { Mem::new(&a) };
    // SAFETY: as above.
    let b = unsafe { Mem::new(&b) };
    let (d, n) = (dst.desc, dst.desc.ne[0]);
    let flat = b.desc.same_shape(d) || b.desc.is_scalar();
    if flat && d.is_contiguous() && a.desc.is_contiguous() && b.desc.is_contiguous() {
        let part = share(args.worker, d.elements(), STAGE);
        let side = |m: &'_ Mem<'_>| {
            let (block, step) = (m.desc.dtype.block_len(), m.desc.dtype.block_bytes());
            (part.start / block * step, step)
        };
        let with = if b.desc.same_shape(d) { side(&b) } else { (0, 0) };
        row(f, (&dst, side(&dst)), (&a, side(&a)), (&b, with), part.len());
        return Ok(());
    }
    let piece = b.desc.ne[0];
    let Some([n1, n2, n3]) = nonzero(&b.desc.ne) else { return Ok(()) };
    for [i1, i2, i3] in Rows::new(&d.ne, args.worker.share(d.rows())) {
        let to = d.row_offset(i1, i2, i3);
        let from = a.desc.row_offset(i1, i2, i3);
        let with = b.desc.row_offset(i1 % n1, i2 % n2, i3 % n3);
        let (d_step, a_step) = (d.nb[0], a.desc.nb[0]);
        if piece == n || piece == 1 {
            let b_step = if piece == 1 { 0 } else { b.desc.nb[0] };
            row(f, (&dst, (to, d_step)), (&a, (from, a_step)), (&b, (with, b_step)), n);
        } else if d.dtype.is_quantized() {
            quantised(f, (&dst, to), (&a, from), (&b, with), n);
        } else {
            let mut k = 0;
            while k < n {
                let (to, from) = (to + k * d_step, from + k * a_step);
                let with = (with, b.desc.nb[0]);
                row(f, (&dst, (to, d_step)), (&a, (from, a_step)), (&b, with), piece);
                k += piece.max(1);
            }
        }
    }
    Ok(())
}

/// The outer lengths, where none is 0: a remainder by them can't panic.
fn nonzero(ne: &[usize; 4]) -> Option<[NonZeroUsize; 3]> {
    let [_, n1, n2, n3] = *ne;
    Some([NonZeroUsize::new(n1)?, NonZeroUsize::new(n2)?, NonZeroUsize::new(n3)?])
}

/// A tensor, the byte where its elements start, and the distance of its blocks: 0 for one element all along.
type Side<'m, 'a> = (&'m Mem<'a>, (usize, usize));

/// `n` elements of a row.
#[inline(always)]
fn row(
    f: impl Fn(f32, f32) -> f32 + Copy,
    (dst, (mut to, d_step)): Side<'_, '_>,
    (a, (mut from, a_step)): Side<'_, '_>,
    (b, (mut with, b_step)): Side<'_, '_>,
    n: usize,
) {
    let f32s = |m: &Mem<'_>| matches!(m.desc.dtype, DType::F32);
    let one = single_value(b, with);
    let mut left = n;
    if f32s(dst) && f32s(a) && d_step == 4 && a_step == 4 && (b_step == 0 || f32s(b) && b_step == 4)
    {
        // Sixteen at a time through registers: the result may be a source's memory.
        while left >= 16 {
            let x: [f32; 16] = a.get(from);
            let y = if b_step == 0 { [one; 16] } else { b.get(with) };
            dst.set(to, core::array::from_fn::<f32, 16, _>(|i| f(x[i], y[i])));
            (to, from, with, left) = (to + 64, from + 64, with + b_step * 16, left - 16);
        }
        while left > 0 {
            let y = if b_step == 0 { one } else { b.get(with) };
            dst.set(to, f(a.get(from), y));
            (to, from, with, left) = (to + 4, from + 4, with + b_step, left - 1);
        }
        return;
    }
    let (mut x, mut y) = ([0.0; STAGE], [one; STAGE]);
    let forth = |m: &Mem<'_>, n: usize, step: usize| n / m.desc.dtype.block_len() * step;
    while left > 0 {
        let m = left.min(STAGE);
        let (Some(x), Some(y)) = (x.get_mut(..m), y.get_mut(..m)) else { break };
        a.load(from, a_step, x);
        if b_step != 0 {
            b.load(with, b_step, y);
        }
        x.iter_mut().zip(y).for_each(|(x, y)| *x = f(*x, *y));
        dst.store(to, d_step, x);
        to += forth(dst, m, d_step);
        from += forth(a, m, a_step);
        with += m * b_step;
        left -= m;
    }
}

fn single_value(b: &Mem<'_>, at: usize) -> f32 {
    let mut y = [0.0];
    b.load(at, b.desc.nb[0], &mut y);
    y[0]
}

/// A row of blocks with a `b` whose length is no whole number of blocks.
fn quantised(
    f: impl Fn(f32, f32) -> f32 + Copy,
    (dst, to): (&Mem<'_>, usize),
    (a, from): (&Mem<'_>, usize),
    (b, with): (&Mem<'_>, usize),
    n: usize,
) {
    let mut x = [0.0; STAGE];
    let piece = b.desc.ne[0];
    for start in (0..n).step_by(STAGE) {
        let Some(x) = x.get_mut(..(n - start).min(STAGE)) else { break };
        let blocks = start / dst.desc.dtype.block_len();
        a.load(from + blocks * a.desc.nb[0], a.desc.nb[0], x);
        for (i, x) in x.iter_mut().enumerate() {
            *x = f(*x, single_value(b, with + (start + i) % piece * b.desc.nb[0]));
        }
        dst.store(to + blocks * dst.desc.nb[0], dst.desc.nb[0], x);
    }
}
