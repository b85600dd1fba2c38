//! Sums, means, norms, sorting.

use super::{Reason, Sources, fresh, is};
use crate::error::tri;
use crate::tensor::{DType, Desc};

const fn f32_rows(src: &Sources) -> Result<&Desc, Reason> {
    let a = tri!(src.need(0));
    if !is(a, DType::F32) {
        return Err(Reason::TypeNotAllowed);
    }
    if !a.rows_contiguous() {
        return Err(Reason::NotContiguous);
    }
    Ok(a)
}

/// `Sum`: one element of the source's type.
pub(super) const fn sum(src: &Sources) -> Result<Desc, Reason> {
    let a = tri!(src.need(0));
    if !a.dtype.is_float() {
        return Err(Reason::TypeNotAllowed);
    }
    fresh(a.dtype, [1, 1, 1, 1])
}

/// `SumRows`: rows shrink to one element.
pub(super) const fn rows(src: &Sources) -> Result<Desc, Reason> {
    let a = tri!(f32_rows(src));
    fresh(DType::F32, [1, a.ne[1], a.ne[2], a.ne[3]])
}

/// `Mean`: rows shrink to one element.
pub(super) const fn mean(src: &Sources) -> Result<Desc, Reason> {
    rows(src)
}

/// `Argmax`: one I32 per row of a matrix.
pub(super) const fn argmax(src: &Sources) -> Result<Desc, Reason> {
    let a = tri!(f32_rows(src));
    if !a.is_matrix() || a.ne[0] == 0 || a.ne[0] > i32::MAX as usize {
        return Err(Reason::ShapeMismatch);
    }
    fresh(DType::I32, [a.ne[1], 1, 1, 1])
}

/// `Argsort`: an I32 per element.
pub(super) const fn argsort(src: &Sources) -> Result<Desc, Reason> {
    let a = tri!(f32_rows(src));
    if a.ne[0] > i32::MAX as usize {
        return Err(Reason::ShapeMismatch);
    }
    fresh(DType::I32, a.ne)
}

/// `Norm`, `RmsNorm`, `L2Norm`: a non-negative `eps`.
pub(super) const fn norm(src: &Sources, eps: f32) -> Result<Desc, Reason> {
    let a = tri!(f32_rows(src));
    if eps.is_nan() || eps < 0.0 {
        return Err(Reason::BadParameter);
    }
    fresh(DType::F32, a.ne)
}

/// `GroupNorm`: 1 to ne2 groups.
pub(super) const fn group_norm(src: &Sources, groups: u32, eps: f32) -> Result<Desc, Reason> {
    let a = tri!(f32_rows(src));
    if groups == 0 || groups as usize > a.ne[2] {
        return Err(Reason::BadParameter);
    }
    if !a.is_contiguous() {
        return Err(Reason::NotContiguous);
    }
    norm(src, eps)
}
