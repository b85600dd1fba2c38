//! Rows by number.

use super::{Reason, Sources, fresh, is};
use crate::error::tri;
use crate::tensor::{DType, Desc};

/// `GetRows`: `a [k, r, x, y]`, `b I32 [n, x, y]` give `[k, n, x, y]`, F32 (I32 for I32).
pub(super) const fn get(src: &Sources) -> Result<Desc, Reason> {
    let a = tri!(src.need(0));
    let b = tri!(src.need(1));
    if !is(b, DType::I32) {
        return Err(Reason::TypeMismatch);
    }
    if a.ne[2] != b.ne[1] || a.ne[3] != b.ne[2] || b.ne[3] != 1 {
        return Err(Reason::ShapeMismatch);
    }
    if !a.rows_contiguous() {
        return Err(Reason::NotContiguous);
    }
    let dtype = if is(a, DType::I32) {
        DType::I32
    } else if a.dtype.is_integer() || is(a, DType::F64) {
        return Err(Reason::TypeNotAllowed);
    } else {
        DType::F32
    };
    fresh(dtype, [a.ne[0], b.ne[0], b.ne[1], b.ne[2]])
}

/// `SetRows`: rows `a F32 [k, n, x, y]`, numbers `b [n, x', y']` that repeat over x and y, target `c [k, r, x, y]`.
pub(super) const fn set(src: &Sources) -> Result<Desc, Reason> {
    let a = tri!(src.need(0));
    let b = tri!(src.need(1));
    let c = tri!(src.need(2));
    if !is(a, DType::F32) || !(is(b, DType::I32) || is(b, DType::I64)) {
        return Err(Reason::TypeMismatch);
    }
    if c.dtype.is_integer() || is(c, DType::F64) {
        return Err(Reason::TypeNotAllowed);
    }
    if a.ne[0] != c.ne[0] {
        return Err(Reason::InnerLength);
    }
    if a.ne[2] != c.ne[2] || a.ne[3] != c.ne[3] || a.ne[1] != b.ne[0] || b.ne[3] != 1 {
        return Err(Reason::ShapeMismatch);
    }
    if b.ne[1] == 0 || b.ne[2] == 0 {
        if !a.is_empty() {
            return Err(Reason::NotBroadcastable);
        }
    } else if !a.ne[2].is_multiple_of(b.ne[1]) || !a.ne[3].is_multiple_of(b.ne[2]) {
        return Err(Reason::NotBroadcastable);
    }
    if !a.rows_contiguous() || !c.rows_contiguous() {
        return Err(Reason::NotContiguous);
    }
    Ok(*c)
}
