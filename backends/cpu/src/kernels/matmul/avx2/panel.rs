//! Many columns: sixteen rows are re-ordered into two panels of eight, in which each 32-bit lane belongs to one row.
//!
//! A step multiplies a vector of weights (eight rows, four bytes or two 16-bit numbers of each) with the same four
//! bytes of a column in every lane. Sums stay in their rows' lanes, so that nothing is ever added across a vector, and
//! levels up to 31 even stay 16-bit sums for several steps.

use super::unpack::Unpack;
use crate::kernels::matmul::activations::{Column, Columns};
use crate::kernels::matmul::driver::Tile;
use crate::kernels::matmul::format::{Format, GROUP};
use core::arch::x86_64::*;
use core::hint::black_box;

/// Rows of a panel.
const ROWS: usize = 8;
/// Columns of the inner block.
const COLS: usize = 4;

/// A group of eight rows, in `N` steps.
#[derive(Clone, Copy)]
#[repr(C, align(32))]
struct Group<const N: usize> {
    q: [__m256i; N],
    d: __m256,
    m: [__m256; 2],
}

/// Steps of a group of bytes, and of one of 16-bit numbers.
const NARROW: usize = GROUP / 4;
const WIDE: usize = GROUP / 2;

/// Types with small unsigned levels stay bytes; the others become 16-bit numbers, integer scales multiplied in.
pub const fn is_wide<F: Format>() -> bool {
    F::TOP == 0 || F::SCALED
}

/// Bytes of two panels.
pub const fn bytes(wide: bool, groups: usize) -> usize {
    let each = if wide { size_of::<Group<WIDE>>() } else { size_of::<Group<NARROW>>() };
    groups.saturating_mul(2 * each)
}

/// Computes a tile.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
pub fn tile<F: Unpack>(t: &Tile<'_, F::Block, Columns<'_>>) {
    if is_wide::<F>() { panels::<F, WIDE>(t) } else { panels::<F, NARROW>(t) }
}

#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
fn panels<F: Unpack, const N: usize>(t: &Tile<'_, F::Block, Columns<'_>>) {
    let groups = t.x.groups();
    let half = t.workspace.wrapping_add(groups * size_of::<Group<N>>());
    let memory = [t.workspace, half].map(|p| p.cast::<Group<N>>());
    let mut r = 0;
    while r < t.n() {
        for (i, p) in memory.iter().enumerate() {
            pack::<F, N>(t, r + i * ROWS, *p);
        }
        // SAFETY: `pack` wrote every group, and nobody else has this worker's memory.
        let panels = memory.map(|p| unsafe { core::slice::from_raw_parts(p.cast_const(), groups) });
        let mut c = 0;
        while c < t.m() {
            let left = t.m() - c;
            match left {
                1 => block::<F, N, 1>(t, r, c, &panels),
                2 => block::<F, N, 2>(t, r, c, &panels),
                3 => block::<F, N, 3>(t, r, c, &panels),
                _ => block::<F, N, COLS>(t, r, c, &panels),
            }
            c += left.min(COLS);
        }
        r += 2 * ROWS;
    }
}

/// Re-orders rows `r..r + 8`, zeros in place of rows past the last.
#[inline(never)]
#[target_feature(enable = "avx2,fma,f16c")]
fn pack<F: Unpack, const N: usize>(
    t: &Tile<'_, F::Block, Columns<'_>>,
    r: usize,
    to: *mut Group<N>,
) {
    let zero = _mm256_setzero_si256();
    let mut rows: [&[F::Block]; ROWS] = [&[]; ROWS];
    for (i, row) in rows.iter_mut().enumerate() {
        *row = t.row(r + i);
    }
    for b in 0..t.row_len() {
        // Scales and offsets of a block: by row, then by group.
        let (mut d, mut m) = ([[0f32; 8]; ROWS], [[[0f32; 8]; 2]; ROWS]);
        for (k, row) in rows.iter().enumerate() {
            let Some(block) = row.get(b) else { continue };
            if F::GROUPS == 1 {
                // SAFETY: the level's instructions are enabled here.
                (d[k][0], m[k][0][0]) = unsafe { F::one(block) };
            } else {
                // SAFETY: as above.
                let scales = unsafe { F::eight(block) };
                d[k] = unload(scales.d);
                m[k] = [unload(scales.m[0]), unload(scales.m[1])];
            }
        }
        for i in 0..F::GROUPS {
            let (mut low, mut high) = ([zero; 8], [zero; 8]);
            for (k, row) in rows.iter().enumerate() {
                let Some(block) = row.get(b) else { continue };
                // SAFETY: as above.
                let q = unsafe { F::levels(block, i) };
                if N == NARROW {
                    low[k] = q;
                } else {
                    low[k] = _mm256_cvtepi8_epi16(_mm256_castsi256_si128(q));
                    high[k] = _mm256_cvtepi8_epi16(_mm256_extracti128_si256::<1>(q));
                    if F::SCALED {
                        // SAFETY: as above.
                        let s = unsafe { F::shorts(block, i) };
                        let first = _mm256_permute4x64_epi64::<0x44>(s);
                        let second = _mm256_permute4x64_epi64::<0xee>(s);
                        low[k] = _mm256_mullo_epi16(low[k], first);
                        high[k] = _mm256_mullo_epi16(high[k], second);
                    }
                }
            }
            let mut q = [zero; N];
            let (low, high) = (transpose(low), transpose(high));
            for k in 0..8 {
                q[k] = low[k];
                if N == WIDE {
                    q[8 + k] = high[k];
                }
            }
            let (mut ds, mut ms) = ([0f32; ROWS], [[0f32; ROWS]; 2]);
            for k in 0..ROWS {
                ds[k] = d[k][i];
                if F::HALVES {
                    let at = |h: usize| m[k][(2 * i + h) / 8][(2 * i + h) % 8];
                    (ms[0][k], ms[1][k]) = (at(0), at(1));
                } else {
                    ms[0][k] = m[k][0][i];
                }
            }
            let group = Group { q, d: load(ds), m: [load(ms[0]), load(ms[1])] };
            // SAFETY: the workspace has room for all groups of the panel, aligned to more than a vector.
            unsafe { to.wrapping_add(b * F::GROUPS + i).write(group) };
        }
    }
}

#[inline]
#[target_feature(enable = "avx2")]
fn unload(v: __m256) -> [f32; 8] {
    let mut x = [0f32; 8];
    // SAFETY: room for eight floats.
    unsafe { _mm256_storeu_ps(x.as_mut_ptr(), v) };
    x
}

#[inline]
#[target_feature(enable = "avx2")]
fn load(x: [f32; 8]) -> __m256 {
    // SAFETY: eight readable floats.
    unsafe { _mm256_loadu_ps(x.as_ptr()) }
}

/// Lane `i` of vector `j` becomes lane `j` of vector `i`.
#[inline]
#[target_feature(enable = "avx2")]
fn transpose(v: [__m256i; 8]) -> [__m256i; 8] {
    let two = |a, b| (_mm256_unpacklo_epi32(a, b), _mm256_unpackhi_epi32(a, b));
    let four = |a, b| (_mm256_unpacklo_epi64(a, b), _mm256_unpackhi_epi64(a, b));
    let [(a0, a1), (b0, b1), (c0, c1), (d0, d1)] =
        [two(v[0], v[1]), two(v[2], v[3]), two(v[4], v[5]), two(v[6], v[7])];
    let ((e0, e1), (e2, e3)) = (four(a0, b0), four(a1, b1));
    let ((f0, f1), (f2, f3)) = (four(c0, d0), four(c1, d1));
    let low = |a, b| _mm256_permute2x128_si256::<0x20>(a, b);
    let high = |a, b| _mm256_permute2x128_si256::<0x31>(a, b);
    [
        low(e0, f0),
        low(e1, f1),
        low(e2, f2),
        low(e3, f3),
        high(e0, f0),
        high(e1, f1),
        high(e2, f2),
        high(e3, f3),
    ]
}

/// Four bytes at `p` in every lane.
///
/// # Safety
/// They can be read.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn spread(p: *const u8) -> __m256i {
    // SAFETY: the caller's promise.
    _mm256_set1_epi32(unsafe { p.cast::<i32>().read_unaligned() })
}

/// The sums of products of two, over some steps, of 2 x 8 rows with `C` columns: 16-bit sums of bytes, or 32-bit
/// sums of 16-bit numbers.
///
/// # Safety
/// `steps` vectors can be read from each `w` on, and `steps` times four bytes from each `x` on.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
unsafe fn steps<const N: usize, const C: usize>(
    w: [*const __m256i; 2],
    x: [*const u8; C],
    steps: usize,
) -> [[__m256i; C]; 2] {
    let mut sums = [[_mm256_setzero_si256(); C]; 2];
    for k in 0..steps {
        // SAFETY: the caller's promise.
        let first = unsafe { w[0].wrapping_add(k).read() };
        // SAFETY: the caller's promise.
        let second = unsafe { w[1].wrapping_add(k).read() };
        for j in 0..C {
            // SAFETY: the caller's promise.
            let v = unsafe { spread(x[j].wrapping_add(4 * k)) };
            for (i, w) in [first, second].into_iter().enumerate() {
                sums[i][j] = if N == NARROW {
                    _mm256_add_epi16(sums[i][j], _mm256_maddubs_epi16(w, v))
                } else {
                    _mm256_add_epi32(sums[i][j], _mm256_madd_epi16(w, v))
                };
            }
        }
    }
    sums
}

/// Sixteen rows with `C` columns.
// Not inlined: each number of columns has registers of its own.
#[inline(never)]
#[target_feature(enable = "avx2,fma,f16c")]
fn block<F: Unpack, const N: usize, const C: usize>(
    t: &Tile<'_, F::Block, Columns<'_>>,
    r: usize,
    c: usize,
    panels: &[&[Group<N>]; 2],
) {
    let x: [Column<'_>; C] = core::array::from_fn(|j| t.x.column(c + j));
    let mut sums = [[_mm256_setzero_ps(); C]; 2];
    let ones = _mm256_set1_epi16(1);
    // Eight products of two fit in 16 bits for levels up to 15, four for levels up to 31.
    let parts = if N == NARROW && F::TOP > 15 { 2 } else { 1 };
    // Hidden from the compiler, which would unroll the loop and then re-order it so that no sum keeps its register.
    let count = black_box(N / parts);
    for (g, (first, second)) in panels[0].iter().zip(panels[1]).enumerate() {
        let both = [first, second];
        let q = both.map(|w| w.q.as_ptr());
        // SAFETY: columns have as many groups as the panels.
        let bytes = x.map(|x| unsafe { x.q.get_unchecked(g) }.as_ptr().cast::<u8>());
        let whole = if N == WIDE {
            // SAFETY: as above; the layout for wide panels has 16-bit numbers.
            let x = x.map(|x| unsafe { x.wide.get_unchecked(g) }.as_ptr().cast::<u8>());
            // SAFETY: a group has that many steps on both sides.
            unsafe { steps::<N, C>(q, x, count) }
        } else {
            // SAFETY: as above.
            let first = unsafe { steps::<N, C>(q, bytes, count) };
            let mut whole = first;
            for i in 0..2 {
                for j in 0..C {
                    whole[i][j] = _mm256_madd_epi16(first[i][j], ones);
                }
            }
            if parts == 2 {
                let q = q.map(|q| q.wrapping_add(count));
                let x = bytes.map(|x| x.wrapping_add(4 * count));
                // SAFETY: as above, for the second half.
                let second = unsafe { steps::<N, C>(q, x, count) };
                for i in 0..2 {
                    for j in 0..C {
                        let sum = _mm256_madd_epi16(second[i][j], ones);
                        whole[i][j] = _mm256_add_epi32(whole[i][j], sum);
                    }
                }
            }
            whole
        };
        for (j, x) in x.iter().enumerate() {
            // SAFETY: columns have as many groups as the panels.
            let d = _mm256_set1_ps(*unsafe { x.d.get_unchecked(g) });
            // SAFETY: as above.
            let s = _mm256_set1_ps(*unsafe { x.s.get_unchecked(g) });
            for (i, w) in both.iter().enumerate() {
                let product = _mm256_cvtepi32_ps(whole[i][j]);
                let mut sum = _mm256_fmadd_ps(product, _mm256_mul_ps(w.d, d), sums[i][j]);
                if F::HALVES {
                    // SAFETY: as above; the layout of this type has them.
                    let h = unsafe { x.halves.get_unchecked(g) };
                    sum = _mm256_fmadd_ps(w.m[0], _mm256_set1_ps(h[0]), sum);
                    sum = _mm256_fmadd_ps(w.m[1], _mm256_set1_ps(h[1]), sum);
                } else if F::OFFSET {
                    sum = _mm256_fmadd_ps(w.m[0], s, sum);
                }
                sums[i][j] = sum;
            }
        }
    }
    for (i, sums) in sums.iter().enumerate() {
        for (j, v) in sums.iter().enumerate() {
            t.set_rows(r + i * ROWS, c + j, unload(*v));
        }
    }
}
