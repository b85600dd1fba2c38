//! `SCALE`, `SQR`, `SQRT`, `LOG`, `SIN`, `COS`, `CLAMP`: a function of one element, of tensors of any layout.

use super::mem::{Mem, STAGE};
use super::walk::{Cursor, share};
use crate::{Args, Kernel};
use dinrail_core::error::Result;
use dinrail_core::hal::Query;
use dinrail_core::op::Op;
use dinrail_core::tensor::DType;

/// The kernel, for `F32`, `F16` and `BF16`.
pub(super) const fn resolve(q: &Query<'_>) -> Option<Kernel> {
    if !matches!(q.dst.dtype, DType::F32 | DType::F16 | DType::BF16) {
        return None;
    }
    match q.op {
        Op::Scale { .. } => Some(scale),
        Op::Sqr => Some(sqr),
        Op::Sqrt => Some(sqrt),
        Op::Log => Some(log),
        Op::Sin => Some(sin),
        Op::Cos => Some(cos),
        Op::Clamp { .. } => Some(clamp),
        _ => None,
    }
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
    sqr = |x| x * x;
    sqrt = libm::sqrtf;
    log = libm::logf;
    sin = libm::sinf;
    cos = libm::cosf;
}

/// # Safety
/// As [`Kernel`].
unsafe fn scale(args: &Args<'_>) -> Result<()> {
    let &Op::Scale { scale, bias } = args.op else { return Ok(()) };
    if bias == 0.0 {
        // Without the sum a zero keeps its sign.
        // SAFETY: the same contract.
        return unsafe { run(args, |x| x * scale) };
    }
    // SAFETY: the same contract.
    unsafe { run(args, |x| x * scale + bias) }
}

/// A NaN stays.
///
/// # Safety
/// As [`Kernel`].
unsafe fn clamp(args: &Args<'_>) -> Result<()> {
    let &Op::Clamp { min, max } = args.op else { return Ok(()) };
    let limit = |x: f32| {
        let x = if x < min { min } else { x };
        if x > max { max } else { x }
    };
    // SAFETY: the same contract.
    unsafe { run(args, limit) }
}

/// # Safety
/// As [`Kernel`].
#[inline(always)]
unsafe fn run(args: &Args<'_>, f: impl Fn(f32) -> f32 + Copy) -> Result<()> {
    let Some(src) = args.src[0] else { return Ok(()) };
    // SAFETY: the contract of `Kernel`; workers write disjoint elements.
    let dst = unsafe { Mem::new(&args.dst) };
    // SAFETY: as above. Where both are the same memory, each element is read before it is written.
    let src = unsafe { Mem::new(&src) };
    let part = share(args.worker, dst.desc.elements(), STAGE);
    let (mut to, mut from) = (Cursor::new(dst.desc, part.start), Cursor::new(src.desc, part.start));
    let single = matches!(dst.desc.dtype, DType::F32);
    let mut left = part.len();
    while left > 0 {
        let n = to.run().min(from.run()).min(left);
        if single && to.step() == 4 && from.step() == 4 {
            packed(f, (&dst, to.offset()), (&src, from.offset()), n);
        } else {
            strided(f, (&dst, to.offset(), to.step()), (&src, from.offset(), from.step()), n);
        }
        to.advance(n);
        from.advance(n);
        left -= n;
    }
    Ok(())
}

/// Neighbouring `f32`, sixteen at a time through registers: the result may be the source's memory.
#[inline(always)]
fn packed(
    f: impl Fn(f32) -> f32 + Copy,
    (dst, to): (&Mem<'_>, usize),
    (src, from): (&Mem<'_>, usize),
    n: usize,
) {
    let whole = n / 16 * 16;
    for i in (0..whole).step_by(16) {
        dst.set(to + i * 4, src.get::<[f32; 16]>(from + i * 4).map(f));
    }
    for i in whole..n {
        dst.set(to + i * 4, f(src.get(from + i * 4)));
    }
}

#[inline(always)]
fn strided(
    f: impl Fn(f32) -> f32 + Copy,
    (dst, to, to_step): (&Mem<'_>, usize, usize),
    (src, from, step): (&Mem<'_>, usize, usize),
    n: usize,
) {
    let mut stage = [0.0; STAGE];
    for start in (0..n).step_by(STAGE) {
        let Some(x) = stage.get_mut(..(n - start).min(STAGE)) else { break };
        src.load(from.wrapping_add(start.wrapping_mul(step)), step, x);
        x.iter_mut().for_each(|x| *x = f(*x));
        dst.store(to.wrapping_add(start.wrapping_mul(to_step)), to_step, x);
    }
}
