//! Matrix products.

use super::{Reason, Sources, fresh};
use crate::error::tri;
use crate::tensor::{DType, Desc};

/// `MulMat`: `a [k, n, x, y]`, `b [k, m, x * p, y * q]` give `[n, m, x * p, y * q]` in F32.
pub(super) const fn mul_mat(src: &Sources) -> Result<Desc, Reason> {
    let a = tri!(src.need(0));
    let b = tri!(src.need(1));
    if a.ne[0] != b.ne[0] {
        return Err(Reason::InnerLength);
    }
    if a.is_empty() && !b.is_empty() && (a.ne[2] == 0 || a.ne[3] == 0) {
        return Err(Reason::NotBroadcastable);
    }
    if a.ne[2] != 0 && !b.ne[2].is_multiple_of(a.ne[2])
        || a.ne[3] != 0 && !b.ne[3].is_multiple_of(a.ne[3])
    {
        return Err(Reason::NotBroadcastable);
    }
    if a.nb[0] > a.nb[1] && a.ne[0] > 1 && a.ne[1] > 1 {
        return Err(Reason::Transposed);
    }
    if a.dtype.is_integer() || b.dtype.is_integer() || b.dtype.is_quantized() {
        return Err(Reason::TypeNotAllowed);
    }
    if !b.rows_contiguous() && b.nb[0] > b.nb[1] && b.ne[0] > 1 && b.ne[1] > 1 {
        return Err(Reason::NotContiguous);
    }
    fresh(DType::F32, [a.ne[1], b.ne[1], b.ne[2], b.ne[3]])
}
