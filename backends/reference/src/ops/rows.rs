//! Rows by number.

use super::Ctx;
use crate::element::{At, Tensor};
use dinrail_core::error::{Error, Result};
use dinrail_core::tensor::DType;

/// A row number out of an index tensor, checked against the number of rows.
fn row(index: &Tensor<'_>, at: At, rows: usize) -> Result<usize> {
    let value = index.integer(at);
    match usize::try_from(value) {
        Ok(r) if r < rows => Ok(r),
        _ => Err(Error::Invalid { what: "row number", value }),
    }
}

/// Rows of the first source at the numbers in the second.
pub fn get(ctx: &Ctx<'_>) -> Result<()> {
    let (a, b) = (ctx.src(0)?, ctx.src(1)?);
    let mut result = Ok(());
    ctx.dst.rows(|[i1, i2, i3]| match row(&b, [i1, i2, i3, 0], a.desc.ne[1]) {
        Ok(r) if a.desc.dtype == DType::I32 => {
            for i0 in 0..a.desc.ne[0] {
                ctx.dst.put_integer([i0, i1, i2, i3], a.integer([i0, r, i2, i3]));
            }
        }
        Ok(r) => ctx.dst.fill_row([i1, i2, i3], |at| a.get([at[0], r, i2, i3])),
        Err(e) => result = Err(e),
    });
    result
}

/// The first source's rows, stored at the numbers in the second in the memory of the third, which is the result's.
/// Where a number occurs twice, the later row stays.
pub fn set(ctx: &Ctx<'_>) -> Result<()> {
    let (a, b) = (ctx.src(0)?, ctx.src(1)?);
    let [_, n2, n3, _] = b.desc.ne;
    let mut result = Ok(());
    a.rows(|[i1, i2, i3]| {
        match row(&b, [i1, i2 % n2.max(1), i3 % n3.max(1), 0], ctx.dst.desc.ne[1]) {
            Ok(r) => ctx.dst.fill_row([r, i2, i3], |at| a.get([at[0], i1, i2, i3])),
            Err(e) => result = Err(e),
        }
    });
    result
}
