//! Few columns: weights are read once, as they lie.

use super::unpack::{Unpack, load32};
use crate::kernels::matmul::activations::{Column, Columns};
use crate::kernels::matmul::driver::Tile;
use core::arch::x86_64::*;

/// How far ahead of what is read weights are asked for, in bytes: what memory gives while a core waits for one line, and
/// more than a page, at whose end the processor's own look-ahead stops.
const AHEAD: usize = 4096;

/// Asks for the `bytes` that lie [`AHEAD`] of `p`.
#[inline(always)]
fn ask(p: *const u8, bytes: usize) {
    for line in 0..bytes.div_ceil(64) {
        let at = p.wrapping_add(AHEAD + 64 * line).cast();
        // SAFETY: a hint for any address; every x86-64 processor has it.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(at) };
    }
}

/// Eight partial sums of the integer product of group `g` of `block` with `x`.
///
/// # Safety
/// The processor has AVX2, FMA and F16C.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
unsafe fn dot<F: Unpack>(block: &F::Block, g: usize, q: __m256i, x: __m256i) -> __m256i {
    // Pairs stay below 2^15: unsigned levels are at most 31, signed ones meet ±127 at most.
    let pairs = if F::TOP != 0 {
        _mm256_maddubs_epi16(q, x)
    } else {
        _mm256_maddubs_epi16(_mm256_abs_epi8(q), _mm256_sign_epi8(x, q))
    };
    if F::SCALED {
        // SAFETY: the caller's promise.
        _mm256_madd_epi16(pairs, unsafe { F::shorts(block, g) })
    } else {
        _mm256_madd_epi16(pairs, _mm256_set1_epi16(1))
    }
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
        match t.m() - c {
            1 => columns::<F, 1>(t, c),
            2 => columns::<F, 2>(t, c),
            _ => columns::<F, 3>(t, c),
        }
        c += 3;
    }
}

#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
fn columns<F: Unpack, const C: usize>(t: &Tile<'_, F::Block, Columns<'_>>, c: usize) {
    let mut x = [Column::default(); C];
    for (j, x) in x.iter_mut().enumerate() {
        *x = t.x.column(c + j);
    }
    let mut r = 0;
    while r + 4 <= t.n() {
        if F::GROUPS == 1 {
            four_rows::<F, C>(t, r, c, &x);
        } else {
            large::<F, 2, C>(t, r, c, &x);
            large::<F, 2, C>(t, r + 2, c, &x);
        }
        r += 4;
    }
    while r < t.n() {
        if F::GROUPS == 1 {
            one_row::<F, C>(t, r, c, &x);
        } else {
            large::<F, 1, C>(t, r, c, &x);
        }
        r += 1;
    }
}

/// The sums of the lower and of the upper four lanes.
#[inline]
#[target_feature(enable = "avx2")]
fn two_sums(v: __m256) -> [f32; 2] {
    let two = _mm256_add_ps(v, _mm256_permute_ps::<0x4e>(v));
    let one = _mm256_add_ps(two, _mm256_permute_ps::<0xb1>(two));
    [_mm256_cvtss_f32(one), _mm_cvtss_f32(_mm256_extractf128_ps::<1>(one))]
}

/// Four rows of a type whose block is one group: two rows share a vector, half of it each.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
fn four_rows<F: Unpack, const C: usize>(
    t: &Tile<'_, F::Block, Columns<'_>>,
    r: usize,
    c: usize,
    x: &[Column<'_>; C],
) {
    let rows = [t.row(r), t.row(r + 1), t.row(r + 2), t.row(r + 3)];
    let ones = _mm256_set1_epi16(1);
    let order =
        [_mm256_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1), _mm256_setr_epi32(2, 2, 2, 2, 3, 3, 3, 3)];
    let mut sums = [[_mm256_setzero_ps(); 2]; C];
    let mut offsets = [_mm_setzero_ps(); C];
    let stretch = rows[0].as_ptr().cast::<u8>();
    for g in 0..t.row_len() {
        // The four rows are one stretch of memory, which is asked for in order.
        let step = 4 * size_of::<F::Block>();
        ask(stretch.wrapping_add(g * step), step);
        // SAFETY: every row of a tile has `row_len` blocks.
        let blocks = rows.map(|row| unsafe { row.get_unchecked(g) });
        // SAFETY: the level's instructions are enabled here.
        let (d, m) = unsafe { F::four(blocks) };
        // SAFETY: as above.
        let first = unsafe { F::two(blocks[0], blocks[1]) };
        // SAFETY: as above.
        let second = unsafe { F::two(blocks[2], blocks[3]) };
        for (j, x) in x.iter().enumerate() {
            // SAFETY: columns have as many groups as rows.
            let d = _mm_mul_ps(d, _mm_set1_ps(*unsafe { x.d.get_unchecked(g) }));
            if F::OFFSET {
                // SAFETY: as above.
                let s = _mm_set1_ps(*unsafe { x.s.get_unchecked(g) });
                offsets[j] = _mm_fmadd_ps(m, s, offsets[j]);
            }
            // SAFETY: as above.
            let v = unsafe { x.q.get_unchecked(g) };
            let [low, high] = halves(v);
            for (k, [a, b]) in [first, second].into_iter().enumerate() {
                let product = if F::TOP != 0 {
                    // Sums of four stay below 2^15 for levels up to 31.
                    let four = _mm256_add_epi16(
                        _mm256_maddubs_epi16(a, low),
                        _mm256_maddubs_epi16(b, high),
                    );
                    _mm256_madd_epi16(four, ones)
                } else {
                    // Sums of two do for levels of any size, as activations are within ±127.
                    let a = _mm256_maddubs_epi16(_mm256_abs_epi8(a), _mm256_sign_epi8(low, a));
                    let b = _mm256_maddubs_epi16(_mm256_abs_epi8(b), _mm256_sign_epi8(high, b));
                    _mm256_add_epi32(_mm256_madd_epi16(a, ones), _mm256_madd_epi16(b, ones))
                };
                let d = _mm256_permutevar8x32_ps(_mm256_castps128_ps256(d), order[k]);
                sums[j][k] = _mm256_fmadd_ps(_mm256_cvtepi32_ps(product), d, sums[j][k]);
            }
        }
    }
    for j in 0..C {
        let mut out = [0f32; 4];
        // SAFETY: room for four floats.
        unsafe { _mm_storeu_ps(out.as_mut_ptr(), offsets[j]) };
        let ([a, b], [c2, d]) = (two_sums(sums[j][0]), two_sums(sums[j][1]));
        for (out, x) in out.iter_mut().zip([a, b, c2, d]) {
            *out += x;
        }
        t.set_rows(r, c + j, out);
    }
}

/// The first sixteen bytes twice, and the second ones.
#[inline]
#[target_feature(enable = "avx2")]
fn halves(x: &[i8; 32]) -> [__m256i; 2] {
    let p = x.as_ptr();
    // SAFETY: 16 readable bytes; the instruction has no alignment.
    let low = unsafe { _mm_loadu_si128(p.cast()) };
    // SAFETY: as above.
    let high = unsafe { _mm_loadu_si128(p.wrapping_add(16).cast()) };
    [_mm256_broadcastsi128_si256(low), _mm256_broadcastsi128_si256(high)]
}

/// One row of a type whose block is one group.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
fn one_row<F: Unpack, const C: usize>(
    t: &Tile<'_, F::Block, Columns<'_>>,
    r: usize,
    c: usize,
    x: &[Column<'_>; C],
) {
    for (j, x) in x.iter().enumerate() {
        let mut total = _mm256_setzero_ps();
        let mut offset = 0.0;
        for (g, block) in t.row(r).iter().enumerate() {
            // SAFETY: the level's instructions are enabled here.
            let (d, m) = unsafe { F::one(block) };
            // SAFETY: columns have as many groups as rows.
            let d = d * unsafe { x.d.get_unchecked(g) };
            // SAFETY: as above.
            offset += m * unsafe { x.s.get_unchecked(g) };
            // SAFETY: as above.
            let v = load32(unsafe { x.q.get_unchecked(g) });
            // SAFETY: the level's instructions are enabled here.
            let q = unsafe { F::levels(block, 0) };
            // SAFETY: as above.
            let product = _mm256_cvtepi32_ps(unsafe { dot::<F>(block, 0, q, v) });
            total = _mm256_fmadd_ps(product, _mm256_set1_ps(d), total);
        }
        t.set(r, c + j, sum(total) + if F::OFFSET { offset } else { 0.0 });
    }
}

/// `R` rows of a type whose block is eight groups.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
fn large<F: Unpack, const R: usize, const C: usize>(
    t: &Tile<'_, F::Block, Columns<'_>>,
    r: usize,
    c: usize,
    x: &[Column<'_>; C],
) {
    let mut rows: [&[F::Block]; R] = [&[]; R];
    for (i, row) in rows.iter_mut().enumerate() {
        *row = t.row(r + i);
    }
    let mut sums = [[_mm256_setzero_ps(); C]; R];
    let mut offsets = [[_mm256_setzero_ps(); C]; R];
    for b in 0..t.row_len() {
        for (k, row) in rows.iter().enumerate() {
            // SAFETY: every row of a tile has `row_len` blocks.
            let block = unsafe { row.get_unchecked(b) };
            ask((block as *const F::Block).cast(), size_of::<F::Block>());
            // SAFETY: the level's instructions are enabled here.
            let scales = unsafe { F::eight(block) };
            let mut d = [[0f32; 8]; C];
            for (j, x) in x.iter().enumerate() {
                // SAFETY: columns have as many groups as rows, eight for a block.
                let xd = unsafe { _mm256_loadu_ps(x.d.as_ptr().wrapping_add(8 * b)) };
                let product = _mm256_mul_ps(scales.d, xd);
                // SAFETY: room for eight floats.
                unsafe { _mm256_storeu_ps(d[j].as_mut_ptr(), product) };
                if F::HALVES {
                    for (h, m) in scales.m.iter().enumerate() {
                        let halves = x.halves.as_ptr().wrapping_add(8 * b + 4 * h);
                        // SAFETY: as above; the layout of this type has them.
                        let halves = unsafe { _mm256_loadu_ps(halves.cast()) };
                        offsets[k][j] = _mm256_fmadd_ps(*m, halves, offsets[k][j]);
                    }
                } else if F::OFFSET {
                    // SAFETY: as above.
                    let s = unsafe { _mm256_loadu_ps(x.s.as_ptr().wrapping_add(8 * b)) };
                    offsets[k][j] = _mm256_fmadd_ps(scales.m[0], s, offsets[k][j]);
                }
            }
            for i in 0..8 {
                // SAFETY: the level's instructions are enabled here.
                let q = unsafe { F::levels(block, i) };
                for (j, x) in x.iter().enumerate() {
                    // SAFETY: as above.
                    let v = load32(unsafe { x.q.get_unchecked(8 * b + i) });
                    // SAFETY: the level's instructions are enabled here.
                    let product = _mm256_cvtepi32_ps(unsafe { dot::<F>(block, i, q, v) });
                    sums[k][j] = _mm256_fmadd_ps(product, _mm256_set1_ps(d[j][i]), sums[k][j]);
                }
            }
        }
    }
    for k in 0..R {
        for j in 0..C {
            let offset = if F::OFFSET { sum(offsets[k][j]) } else { 0.0 };
            t.set(r + k, c + j, sum(sums[k][j]) + offset);
        }
    }
}
