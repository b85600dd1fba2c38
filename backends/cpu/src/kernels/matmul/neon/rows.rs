//! Weights as they lie, four rows at a time with up to four columns.

use super::dot::Dot;
use super::unpack::{Unpack, two};
use crate::kernels::matmul::activations::{Column, Columns};
use crate::kernels::matmul::driver::Tile;
use core::arch::aarch64::*;

/// Computes a tile.
///
/// # Safety
/// The processor has the instructions of `D`'s level.
#[inline]
#[target_feature(enable = "neon")]
pub unsafe fn tile<F: Unpack, D: Dot>(t: &Tile<'_, F::Block, Columns<'_>>) {
    let mut c = 0;
    while c < t.m() {
        let left = t.m() - c;
        // SAFETY: the caller's promise, here and below.
        let width = match left {
            // SAFETY: the caller's promise.
            1 => unsafe { columns::<F, D, 1>(t, c) },
            // SAFETY: the caller's promise.
            2 | 3 => unsafe { columns::<F, D, 2>(t, c) },
            // SAFETY: the caller's promise.
            _ => unsafe { columns::<F, D, 4>(t, c) },
        };
        c += width;
    }
}

/// All rows with `C` columns; gives `C`.
///
/// # Safety
/// As [`tile`].
#[inline]
#[target_feature(enable = "neon")]
unsafe fn columns<F: Unpack, D: Dot, const C: usize>(
    t: &Tile<'_, F::Block, Columns<'_>>,
    c: usize,
) -> usize {
    let mut x = [Column::default(); C];
    for (j, x) in x.iter_mut().enumerate() {
        *x = t.x.column(c + j);
    }
    let mut r = 0;
    while r + 4 <= t.n() {
        // SAFETY: the caller's promise.
        unsafe { block::<F, D, 4, C>(t, r, c, &x) };
        r += 4;
    }
    while r < t.n() {
        // SAFETY: the caller's promise.
        unsafe { block::<F, D, 1, C>(t, r, c, &x) };
        r += 1;
    }
    C
}

/// `R` rows with `C` columns.
///
/// # Safety
/// As [`tile`].
// Not inlined: each size has registers of its own.
#[inline(never)]
#[target_feature(enable = "neon")]
unsafe fn block<F: Unpack, D: Dot, const R: usize, const C: usize>(
    t: &Tile<'_, F::Block, Columns<'_>>,
    r: usize,
    c: usize,
    x: &[Column<'_>; C],
) {
    let mut rows: [&[F::Block]; R] = [&[]; R];
    for (i, row) in rows.iter_mut().enumerate() {
        *row = t.row(r + i);
    }
    let zero = vdupq_n_s32(0);
    let mut sums = [[vdupq_n_f32(0.0); C]; R];
    let mut offsets = [[0f32; C]; R];
    for b in 0..t.row_len() {
        for i in 0..F::GROUPS {
            let g = b * F::GROUPS + i;
            for (k, row) in rows.iter().enumerate() {
                // SAFETY: every row of a tile has `row_len` blocks.
                let block = unsafe { row.get_unchecked(b) };
                // SAFETY: the level's instructions are there.
                let [low, high] = unsafe { F::levels(block, i) };
                let w = F::group(block, i);
                for (j, x) in x.iter().enumerate() {
                    // SAFETY: columns have as many groups as rows.
                    let [x_low, x_high] = two(unsafe { x.q.get_unchecked(g) });
                    // SAFETY: as above.
                    let d = w.d * unsafe { x.d.get_unchecked(g) };
                    // SAFETY: the level's instructions are there.
                    let first = unsafe { D::dot(zero, low, x_low) };
                    let product = if F::SCALED {
                        // SAFETY: as above.
                        let second = unsafe { D::dot(zero, high, x_high) };
                        let first = vmulq_n_s32(first, w.s[0] as i32);
                        vmlaq_n_s32(first, second, w.s[1] as i32)
                    } else {
                        // SAFETY: as above.
                        unsafe { D::dot(first, high, x_high) }
                    };
                    sums[k][j] = vfmaq_n_f32(sums[k][j], vcvtq_f32_s32(product), d);
                    if F::HALVES {
                        // SAFETY: columns have as many groups as rows, and the layout of this type has halves.
                        let h = unsafe { x.halves.get_unchecked(g) };
                        offsets[k][j] += w.m[0] * h[0] + w.m[1] * h[1];
                    } else if F::OFFSET {
                        // SAFETY: columns have as many groups as rows.
                        offsets[k][j] += w.m[0] * unsafe { x.s.get_unchecked(g) };
                    }
                }
            }
        }
    }
    for k in 0..R {
        for j in 0..C {
            t.set(r + k, c + j, vaddvq_f32(sums[k][j]) + offsets[k][j]);
        }
    }
}
