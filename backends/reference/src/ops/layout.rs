//! Copies, repetition, concatenation, windows.

use super::Ctx;
use crate::element::{At, Tensor, wrapped};
use dinrail_core::error::Result;
use dinrail_core::op::Window;

/// Calls `f` for the first element of every block of `t`, in order, with the element's number.
fn blocks(t: &Tensor<'_>, mut f: impl FnMut(At, usize)) {
    let (len, n0) = (t.desc.dtype.block_len(), t.desc.ne[0]);
    let mut number = 0;
    t.rows(|[i1, i2, i3]| {
        for i0 in (0..n0).step_by(len) {
            f([i0, i1, i2, i3], number);
            number += len;
        }
    });
}

/// The elements of the source in their order, under the lengths and in the type of the result.
pub fn copy(ctx: &Ctx<'_>) -> Result<()> {
    let a = ctx.src(0)?;
    let (from, to) = (a.desc.dtype, ctx.dst.desc.dtype);
    // Between two shapes of a block type, neither row length may cut a block of the other; both are whole blocks.
    if from == to {
        blocks(&ctx.dst, |at, n| ctx.dst.copy_block(at, &a, a.nth(n)));
    } else if from.is_integer() && to.is_integer() {
        blocks(&ctx.dst, |at, n| ctx.dst.put_integer(at, a.integer(a.nth(n))));
    } else {
        let mut n = 0;
        ctx.dst.fill(|_| {
            n += 1;
            a.get(a.nth(n - 1))
        });
    }
    Ok(())
}

/// The source, again and again along each dimension.
pub fn repeat(ctx: &Ctx<'_>) -> Result<()> {
    let a = ctx.src(0)?;
    blocks(&ctx.dst, |at, _| ctx.dst.copy_block(at, &a, wrapped(at, &a.desc.ne)));
    Ok(())
}

/// Both sources one after the other along `dim`.
pub fn concat(ctx: &Ctx<'_>, dim: u8) -> Result<()> {
    let (a, b, dim) = (ctx.src(0)?, ctx.src(1)?, usize::from(dim));
    let first = a.desc.ne[dim];
    blocks(&ctx.dst, |at, _| {
        if at[dim] < first {
            ctx.dst.copy_block(at, &a, at);
        } else {
            let mut from = at;
            from[dim] -= first;
            ctx.dst.copy_block(at, &b, from);
        }
    });
    Ok(())
}

/// A copy of the first source, with the second stored or added in the window. The window's strides and offset count bytes
/// of the first source, which is packed; so they name element numbers, and those hold for the result whatever its
/// strides are.
pub fn window(ctx: &Ctx<'_>, w: &Window, add: bool) -> Result<()> {
    let (a, b) = (ctx.src(0)?, ctx.src(1)?);
    blocks(&ctx.dst, |at, _| ctx.dst.copy_block(at, &a, at));
    let size = a.desc.dtype.block_bytes();
    blocks(&b, |at, _| {
        let [i0, i1, i2, i3] = at;
        let byte = w.offset + i0 * size + i1 * w.nb[0] + i2 * w.nb[1] + i3 * w.nb[2];
        let to = ctx.dst.nth(byte / size);
        if add {
            ctx.dst.put(to, ctx.dst.get(to) + b.get(at));
        } else {
            ctx.dst.copy_block(to, &b, at);
        }
    });
    Ok(())
}
