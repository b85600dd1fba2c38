//! Views, copies, repetition, concatenation, windows.

use super::{Reason, Sources, Window, fresh};
use crate::error::tri;
use crate::tensor::Desc;

/// `Reshape`: as many elements as before, source contiguous, strides packed anew.
pub(super) const fn reshape(src: &Sources, want: Option<[usize; 4]>) -> Result<Desc, Reason> {
    let a = tri!(src.need(0));
    let Some(ne) = want else { return Err(Reason::BadParameter) };
    if !a.is_contiguous() {
        return Err(Reason::NotContiguous);
    }
    let d = tri!(fresh(a.dtype, ne));
    if d.elements() != a.elements() {
        return Err(Reason::ShapeMismatch);
    }
    Ok(d)
}

/// `Permute`, `Transpose`: `axes` is a permutation; lengths and strides move together.
pub(super) const fn permute(src: &Sources, axes: &[u8; 4]) -> Result<Desc, Reason> {
    let a = tri!(src.need(0));
    let mut out = *a;
    let mut seen = 0u8;
    let mut i = 0;
    while i < 4 {
        let to = axes[i] as usize;
        if to > 3 || seen & (1 << to) != 0 {
            return Err(Reason::BadParameter);
        }
        seen |= 1 << to;
        out.ne[to] = a.ne[i];
        out.nb[to] = a.nb[i];
        i += 1;
    }
    // A block type keeps its blocks along dimension 0.
    if a.dtype.block_len() > 1 && axes[0] != 0 {
        return Err(Reason::Block);
    }
    Ok(out)
}

/// `Cont`, `Dup`: a packed tensor of the source's type and lengths.
pub(super) const fn dup(src: &Sources) -> Result<Desc, Reason> {
    let a = tri!(src.need(0));
    fresh(a.dtype, a.ne)
}

/// `Cpy`: as many elements on both sides; the result has the target's layout.
pub(super) const fn cpy(src: &Sources) -> Result<Desc, Reason> {
    let a = tri!(src.need(0));
    let b = tri!(src.need(1));
    if a.elements() != b.elements() {
        return Err(Reason::ShapeMismatch);
    }
    Ok(*b)
}

/// `Repeat`: the wanted lengths are multiples of the source's.
pub(super) const fn repeat(src: &Sources, want: Option<[usize; 4]>) -> Result<Desc, Reason> {
    let a = tri!(src.need(0));
    let Some(ne) = want else { return Err(Reason::BadParameter) };
    let d = tri!(fresh(a.dtype, ne));
    if !a.repeats_to(&d) {
        return Err(Reason::NotBroadcastable);
    }
    Ok(d)
}

/// `Concat`: equal types, and equal lengths but for `dim`.
pub(super) const fn concat(src: &Sources, dim: u8) -> Result<Desc, Reason> {
    let a = tri!(src.need(0));
    let b = tri!(src.need(1));
    let dim = dim as usize;
    if dim > 3 {
        return Err(Reason::BadParameter);
    }
    if a.dtype as u8 != b.dtype as u8 {
        return Err(Reason::TypeMismatch);
    }
    let mut ne = a.ne;
    let mut i = 0;
    while i < 4 {
        if i == dim {
            match ne[i].checked_add(b.ne[i]) {
                Some(n) => ne[i] = n,
                None => return Err(Reason::Overflow),
            }
        } else if a.ne[i] != b.ne[i] {
            return Err(Reason::ShapeMismatch);
        }
        i += 1;
    }
    fresh(a.dtype, ne)
}

/// `Acc` (F32 only) and `Set`: `b` laid over a copy of `a` with the window's strides must stay inside.
pub(super) const fn window(src: &Sources, w: &Window, f32_only: bool) -> Result<Desc, Reason> {
    let a = tri!(src.need(0));
    let b = tri!(src.need(1));
    if a.dtype as u8 != b.dtype as u8 {
        return Err(Reason::TypeMismatch);
    }
    if f32_only && !super::is(a, crate::tensor::DType::F32) || a.dtype.is_quantized() {
        return Err(Reason::TypeNotAllowed);
    }
    if !a.is_contiguous() || !b.rows_contiguous() {
        return Err(Reason::NotContiguous);
    }
    let size = a.dtype.block_bytes();
    let laid = Desc { ne: b.ne, nb: [size, w.nb[0], w.nb[1], w.nb[2]], dtype: a.dtype };
    let span = match laid.checked_span() {
        Ok(n) => n,
        Err(e) => return Err(Reason::from_size(e)),
    };
    let whole = a.bytes();
    if span > 0 && (w.offset > whole || span > whole - w.offset) {
        return Err(Reason::OutOfRange);
    }
    // Elements must lie where elements of `a` lie.
    if !w.offset.is_multiple_of(size)
        || !w.nb[0].is_multiple_of(size)
        || !w.nb[1].is_multiple_of(size)
        || !w.nb[2].is_multiple_of(size)
    {
        return Err(Reason::BadParameter);
    }
    fresh(a.dtype, a.ne)
}
