//! Float weights.

use super::rows::sum;
use crate::kernels::matmul::activations::FloatColumns;
use crate::kernels::matmul::driver::{FloatEngine, Tile};
use crate::kernels::matmul::scalar::{self, Element};
use core::arch::x86_64::*;
use core::marker::PhantomData;

/// Eight elements of a type as `f32`.
pub trait Wide {
    /// How one is converted.
    type One: Element;
    /// Converts eight.
    ///
    /// # Safety
    /// Eight elements can be read at `p`, and the processor has AVX2, FMA and F16C.
    unsafe fn eight(p: *const <Self::One as Element>::Bits) -> __m256;
}

/// binary32.
pub struct F32;
/// binary16.
pub struct F16;
/// Upper half of a binary32.
pub struct BF16;

impl Wide for F32 {
    type One = scalar::F32;
    #[inline]
    #[target_feature(enable = "avx2,fma,f16c")]
    unsafe fn eight(p: *const f32) -> __m256 {
        // SAFETY: the caller's promise.
        unsafe { _mm256_loadu_ps(p) }
    }
}

impl Wide for F16 {
    type One = scalar::F16;
    #[inline]
    #[target_feature(enable = "avx2,fma,f16c")]
    unsafe fn eight(p: *const u16) -> __m256 {
        // SAFETY: the caller's promise.
        _mm256_cvtph_ps(unsafe { _mm_loadu_si128(p.cast()) })
    }
}

impl Wide for BF16 {
    type One = scalar::BF16;
    #[inline]
    #[target_feature(enable = "avx2,fma,f16c")]
    unsafe fn eight(p: *const u16) -> __m256 {
        // SAFETY: the caller's promise.
        let x = _mm256_cvtepu16_epi32(unsafe { _mm_loadu_si128(p.cast()) });
        _mm256_castsi256_ps(_mm256_slli_epi32::<16>(x))
    }
}

/// Float weights.
pub struct Float<W>(PhantomData<W>);

type Bits<W> = <<W as Wide>::One as Element>::Bits;

impl<W: Wide> FloatEngine for Float<W> {
    type Element = Bits<W>;

    #[target_feature(enable = "avx2,fma,f16c")]
    unsafe fn tile(t: &Tile<'_, Self::Element, FloatColumns<'_>>) {
        let mut r = 0;
        while r < t.n() {
            let rows = (t.n() - r).min(4);
            let mut c = 0;
            while c < t.m() {
                let columns = (t.m() - c).min(3);
                match (rows, columns) {
                    (4, 3) => block::<W, 4, 3>(t, r, c),
                    (4, 2) => block::<W, 4, 2>(t, r, c),
                    (4, 1) => block::<W, 4, 1>(t, r, c),
                    (_, 3) => (0..rows).for_each(|k| block::<W, 1, 3>(t, r + k, c)),
                    (_, 2) => (0..rows).for_each(|k| block::<W, 1, 2>(t, r + k, c)),
                    _ => (0..rows).for_each(|k| block::<W, 1, 1>(t, r + k, c)),
                }
                c += columns;
            }
            r += rows;
        }
    }
}

/// `R` rows with `C` columns.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
fn block<W: Wide, const R: usize, const C: usize>(
    t: &Tile<'_, Bits<W>, FloatColumns<'_>>,
    r: usize,
    c: usize,
) {
    let rows: [&[Bits<W>]; R] = core::array::from_fn(|i| t.row(r + i));
    let x: [&[f32]; C] = core::array::from_fn(|j| t.x.column(c + j));
    let mut sums = [[_mm256_setzero_ps(); C]; R];
    let whole = t.row_len() & !7;
    let mut k = 0;
    while k < whole {
        let mut v = [_mm256_setzero_ps(); C];
        for (v, x) in v.iter_mut().zip(&x) {
            // SAFETY: columns have `row_len` elements, of which eight are left.
            *v = unsafe { _mm256_loadu_ps(x.as_ptr().wrapping_add(k)) };
        }
        for (sums, row) in sums.iter_mut().zip(&rows) {
            // SAFETY: so have rows.
            let w = unsafe { W::eight(row.as_ptr().wrapping_add(k)) };
            for (sum, v) in sums.iter_mut().zip(&v) {
                *sum = _mm256_fmadd_ps(w, *v, *sum);
            }
        }
        k += 8;
    }
    for (i, (sums, row)) in sums.iter().zip(&rows).enumerate() {
        for (j, (s, x)) in sums.iter().zip(&x).enumerate() {
            let tail = row.iter().zip(*x).skip(whole);
            let tail: f32 = tail.map(|(w, x)| W::One::widen(*w) * x).sum();
            t.set(r + i, c + j, sum(*s) + tail);
        }
    }
}
