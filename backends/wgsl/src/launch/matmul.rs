//! Matrix products.

use super::{Work, layout};
use crate::Args;
use crate::table::Family;
use dinrail_core::hal::Query;
use dinrail_core::tensor::DType::F32;

/// Up to this many columns, reading a's rows once for each is cheaper than a tile that is mostly empty.
const FEW_COLUMNS: usize = 8;

/// Rows of a that a workgroup of the matrix-vector kernel computes, and edge of a tile of the other.
const ROWS: usize = 4;
const TILE: usize = 64;

pub(super) fn work<'w>(args: &'w mut Args, q: &Query<'_>) -> Option<Work<'w>> {
    let (a, b) = (q.src.source(0)?, q.src.source(1)?);
    // Decoders walk along rows.
    if !a.rows_contiguous() {
        return None;
    }
    let [rows, columns, n2, n3] = q.dst.ne;
    let types = [F32, a.dtype, b.dtype];
    let (family, r, c) = if columns <= FEW_COLUMNS {
        (Family::MulMatVec, rows.div_ceil(ROWS), columns)
    } else {
        (Family::MulMat, rows.div_ceil(TILE), columns.div_ceil(TILE))
    };
    let mut w = Work::new(args, family, types, q.dst, &[a, b]);
    w.n([layout::chunks(a), r, c, 0]);
    w.groups = r * c * n2 * n3;
    Some(w)
}
