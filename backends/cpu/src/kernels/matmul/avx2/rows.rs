//! Few columns: weights are read once, as they lie.

use super::unpack::{Unpack, Unpacked, load32};
use crate::kernels::matmul::activations::{Column, Columns};
use crate::kernels::matmul::driver::Tile;
use core::arch::x86_64::*;

/// Eight partial sums of a group's integer product.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
pub fn dot<F: Unpack>(w: &Unpacked, x: __m256i) -> __m256i {
    // Pairs stay below 2^15: unsigned levels are at most 31, signed ones meet ±127 at most.
    let pairs = if F::TOP != 0 {
        _mm256_maddubs_epi16(w.q, x)
    } else {
        _mm256_maddubs_epi16(_mm256_abs_epi8(w.q), _mm256_sign_epi8(x, w.q))
    };
    let s = if F::SCALED { w.s } else { _mm256_set1_epi16(1) };
    _mm256_madd_epi16(pairs, s)
}

/// The sum of all lanes.
#[inline]
#[target_feature(enable = "avx2")]
pub fn sum(v: __m256) -> f32 {
    let four = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps::<1>(v));
    let two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)))
}

/// Computes a tile.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
pub fn tile<F: Unpack>(t: &Tile<'_, F::Block, Columns<'_>>) {
    let mut c = 0;
    while c < t.m() {
        let left = t.m() - c;
        match left {
            1 => columns::<F, 1>(t, c),
            2 => columns::<F, 2>(t, c),
            _ => columns::<F, 3>(t, c),
        }
        c += left.min(3);
    }
}

#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
fn columns<F: Unpack, const C: usize>(t: &Tile<'_, F::Block, Columns<'_>>, c: usize) {
    let x: [Column<'_>; C] = core::array::from_fn(|i| t.x.column(c + i));
    let mut r = 0;
    while r + 4 <= t.n() {
        block::<F, 4, C>(t, r, c, &x);
        r += 4;
    }
    while r < t.n() {
        block::<F, 1, C>(t, r, c, &x);
        r += 1;
    }
}

/// `R` rows with `C` columns.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
fn block<F: Unpack, const R: usize, const C: usize>(
    t: &Tile<'_, F::Block, Columns<'_>>,
    r: usize,
    c: usize,
    x: &[Column<'_>; C],
) {
    let rows: [&[F::Block]; R] = core::array::from_fn(|i| t.row(r + i));
    let mut sums = [[_mm256_setzero_ps(); C]; R];
    let mut offsets = [[0f32; C]; R];
    for b in 0..t.row_len() {
        for i in 0..F::GROUPS {
            let g = b * F::GROUPS + i;
            for (k, row) in rows.iter().enumerate() {
                // SAFETY: every row of a tile has `row_len` blocks.
                let block = unsafe { row.get_unchecked(b) };
                // SAFETY: the level's instructions are enabled here.
                let w = unsafe { F::unpack(block, i) };
                for (j, x) in x.iter().enumerate() {
                    // SAFETY: columns have as many groups as rows.
                    let q = unsafe { x.q.get_unchecked(g) };
                    // SAFETY: as above.
                    let [d, s] = *unsafe { x.ds.get_unchecked(g) };
                    let product = _mm256_cvtepi32_ps(dot::<F>(&w, load32(q)));
                    sums[k][j] = _mm256_fmadd_ps(product, _mm256_set1_ps(w.d * d), sums[k][j]);
                    if F::HALVES {
                        // SAFETY: as above; the layout of this type has them.
                        let h = unsafe { x.halves.get_unchecked(g) };
                        offsets[k][j] += w.m[0] * h[0] + w.m[1] * h[1];
                    } else if F::OFFSET {
                        offsets[k][j] += w.m[0] * s;
                    }
                }
            }
        }
    }
    for k in 0..R {
        for j in 0..C {
            t.set(r + k, c + j, sum(sums[k][j]) + offsets[k][j]);
        }
    }
}
