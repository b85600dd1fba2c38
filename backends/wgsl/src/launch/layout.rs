//! Copies, conversions, repetition, concatenation.

use super::Work;
use crate::Args;
use crate::table::Family;
use dinrail_core::hal::Query;
use dinrail_core::op::{Op, Window};
use dinrail_core::tensor::{DType, Desc};

/// The unit in which elements of a type are copied bit by bit, and the tensor counted in such units.
fn units(d: &Desc) -> Option<(DType, Desc)> {
    let bytes = d.dtype.block_bytes();
    match bytes {
        1 if !d.dtype.is_quantized() => return Some((DType::I8, *d)),
        2 => return Some((DType::I16, *d)),
        4 => return Some((DType::I32, *d)),
        _ => {}
    }
    // Blocks and 8-byte numbers: several units, which must follow each other.
    if !d.rows_contiguous() {
        return None;
    }
    let (unit, size) = match d.dtype.align() {
        1 => (DType::I8, 1),
        2 => (DType::I16, 2),
        _ => (DType::I32, 4),
    };
    let mut out = *d;
    out.ne[0] = d.row_bytes() / size;
    out.nb[0] = size;
    Some((unit, out))
}

fn copy<'w>(args: &'w mut Args, q: &Query<'_>, a: &Desc) -> Option<Work<'w>> {
    let (unit, to) = units(q.dst)?;
    let (_, from) = units(a)?;
    let mut w = Work::new(args, Family::Copy, [unit; 3], &to, &[&from]);
    w.n([to.elements(), 0, 0, 0]);
    w.invocations(to.elements());
    Some(w)
}

/// Chunks of eight elements in a row.
pub(super) fn chunks(a: &Desc) -> usize {
    a.ne[0].div_ceil(8)
}

fn dequantize<'w>(args: &'w mut Args, q: &Query<'_>, a: &Desc) -> Option<Work<'w>> {
    let mut to = *q.dst;
    if !a.rows_contiguous() {
        return None;
    }
    if !to.same_shape(a) {
        if !to.is_contiguous() {
            return None;
        }
        to = Desc::new(to.dtype, a.ne).ok()?;
    }
    let mut w = Work::new(args, Family::Dequantize, [to.dtype, a.dtype, DType::F32], &to, &[a]);
    let n = chunks(a) * a.rows();
    w.n([n, chunks(a), 0, 0]);
    w.invocations(n);
    Some(w)
}

fn quantize<'w>(args: &'w mut Args, q: &Query<'_>, a: &Desc) -> Option<Work<'w>> {
    // Blocks are filled from one row.
    if !q.dst.same_shape(a) || !q.dst.rows_contiguous() {
        return None;
    }
    let blocks = a.ne[0] / q.dst.dtype.block_len();
    let types = [q.dst.dtype, a.dtype, DType::F32];
    let mut w = Work::new(args, Family::Quantize, types, q.dst, &[a]);
    let n = blocks * a.rows();
    w.n([n, blocks, 0, 0]);
    w.invocations(n);
    Some(w)
}

/// `Acc` and `Set`: every element of the result asks whether it lies in the window.
pub(super) fn window<'w>(
    args: &'w mut Args,
    q: &Query<'_>,
    window: &Window,
    add: bool,
) -> Option<Work<'w>> {
    let (a, b) = (q.src.source(0)?, q.src.source(1)?);
    let size = a.dtype.block_bytes();
    let mut laid = Desc { ne: b.ne, nb: [size, window.nb[0], window.nb[1], window.nb[2]], ..*a };
    // That has one answer if no stride is shorter than what it steps over.
    let mut span = size * laid.ne[0];
    for i in 1..4 {
        if laid.ne[i] == 1 {
            laid.nb[i] = span;
        }
        if laid.nb[i] < span {
            return None;
        }
        span = laid.nb[i].checked_mul(laid.ne[i])?;
    }
    if span == 0 || span > u32::MAX as usize {
        return None;
    }
    let (unit, to) = units(q.dst)?;
    if unit == DType::I8 && size > 1 || size > 4 {
        return None;
    }
    let (family, types) = match add {
        true => (Family::AddWindow, [DType::F32; 3]),
        false => (Family::SetWindow, [unit; 3]),
    };
    let mut w = Work::new(args, family, types, &to, &[a, b]);
    w.args.tensor(3, &laid);
    w.n([to.elements(), window.offset, 0, 0]);
    w.invocations(to.elements());
    Some(w)
}

pub(super) fn work<'w>(args: &'w mut Args, q: &Query<'_>) -> Option<Work<'w>> {
    let a = q.src.source(0)?;
    match *q.op {
        Op::Repeat => {
            let (unit, to) = units(q.dst)?;
            let (_, from) = units(a)?;
            let mut w = Work::new(args, Family::Repeat, [unit; 3], &to, &[&from]);
            w.n([to.elements(), 0, 0, 0]);
            w.invocations(to.elements());
            Some(w)
        }
        Op::Concat { dim } => {
            let (unit, to) = units(q.dst)?;
            let (_, from) = units(a)?;
            let (_, behind) = units(q.src.source(1)?)?;
            let mut w = Work::new(args, Family::Concat, [unit; 3], &to, &[&from, &behind]);
            w.n([to.elements(), usize::from(dim), 0, 0]);
            w.invocations(to.elements());
            Some(w)
        }
        _ if q.dst.dtype == a.dtype => copy(args, q, a),
        _ if a.dtype.is_quantized() => dequantize(args, q, a),
        _ if q.dst.dtype.is_quantized() => quantize(args, q, a),
        _ => {
            let types = [q.dst.dtype, a.dtype, DType::F32];
            let mut w = Work::new(args, Family::Cast, types, q.dst, &[a]);
            w.n([q.dst.elements(), 0, 0, 0]);
            w.invocations(q.dst.elements());
            Some(w)
        }
    }
}
