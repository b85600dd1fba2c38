//! Float weights, for every level.

use super::activations::FloatColumns;
use super::driver::{FloatEngine, Tile};
use crate::kernels::vec::{Bf16, Elem, F16, F32, Lanes, Simd};
use core::marker::PhantomData;

/// How an element type is stored, which gives rows their alignment.
pub trait Stored {
    /// The stored form.
    type Bits;
}

impl Stored for F32 {
    type Bits = f32;
}
impl Stored for F16 {
    type Bits = u16;
}
impl Stored for Bf16 {
    type Bits = u16;
}

/// An engine for each level. See [`vec`](crate::kernels::vec) for its tokens.
macro_rules! engines {
    ($($(#[$attribute:meta])* $name:ident: $token:path $(, $features:literal)?;)*) => {$(
        /// Weights of type `E`.
        $(#[$attribute])*
        pub struct $name<E>(PhantomData<E>);

        $(#[$attribute])*
        impl<E: Elem + Stored> FloatEngine for $name<E> {
            type Element = E::Bits;

            $(#[target_feature(enable = $features)])?
            unsafe fn tile(t: &Tile<'_, E::Bits, FloatColumns<'_>>) {
                engines!(@call $token $(, $features)?; tile::<_, E>, t)
            }
        }
    )*};
    (@call $token:path; $f:expr, $t:expr) => {
        $f($token, $t)
    };
    (@call $token:path, $features:literal; $f:expr, $t:expr) => {{
        // SAFETY: the caller promises the level's instructions.
        let token = unsafe { <$token>::new() };
        $f(token, $t)
    }};
}

engines! {
    Scalar: crate::kernels::vec::Scalar;
    #[cfg(all(feature = "avx2", target_arch = "x86_64"))]
    Avx2: crate::kernels::vec::Avx2, "avx2,fma,f16c";
    #[cfg(all(feature = "neon", target_arch = "aarch64"))]
    Neon: crate::kernels::vec::Neon, "neon";
}

/// Computes a tile: many columns in blocks of 2 x 6, so that a row's conversion serves six products; few columns in
/// blocks of 4 rows, so that memory is read in four streams.
#[inline(always)]
fn tile<S: Simd, E: Elem + Stored>(s: S, t: &Tile<'_, E::Bits, FloatColumns<'_>>) {
    let mut c = 0;
    while c < t.m() {
        let columns = t.m() - c;
        let width = if !S::WIDE {
            rows::<S, E, 1, 1>(s, t, c)
        } else if columns >= 6 {
            rows::<S, E, 2, 6>(s, t, c)
        } else if columns >= 3 {
            rows::<S, E, 4, 3>(s, t, c)
        } else {
            rows::<S, E, 4, 1>(s, t, c)
        };
        c += width;
    }
}

/// All rows with `C` columns; gives `C`.
#[inline(always)]
fn rows<S: Simd, E: Elem + Stored, const R: usize, const C: usize>(
    s: S,
    t: &Tile<'_, E::Bits, FloatColumns<'_>>,
    c: usize,
) -> usize {
    let mut r = 0;
    while r + R <= t.n() {
        block::<S, E, R, C>(s, t, r, c);
        r += R;
    }
    if R > 1 {
        while r < t.n() {
            block::<S, E, 1, C>(s, t, r, c);
            r += 1;
        }
    }
    C
}

/// `R` rows with `C` columns, all of them inside the tile.
#[inline(always)]
fn block<S: Simd, E: Elem + Stored, const R: usize, const C: usize>(
    s: S,
    t: &Tile<'_, E::Bits, FloatColumns<'_>>,
    r: usize,
    c: usize,
) {
    let mut rows = [core::ptr::null::<u8>(); R];
    for (i, row) in rows.iter_mut().enumerate() {
        *row = t.row(r + i).as_ptr().cast();
    }
    let mut columns = [core::ptr::null::<f32>(); C];
    for (j, x) in columns.iter_mut().enumerate() {
        *x = t.x.column(c + j).as_ptr();
    }
    let mut sums = [[s.splat(0.0); C]; R];
    let (k, step) = (t.row_len(), S::F::N);
    let mut at = 0;
    while at + step <= k {
        let mut w = [s.splat(0.0); R];
        for (w, row) in w.iter_mut().zip(&rows) {
            // SAFETY: rows have `row_len` elements, of which a vector is left.
            *w = unsafe { E::load(s, row.wrapping_add(at * E::SIZE)) };
        }
        for j in 0..C {
            // SAFETY: so have columns.
            let x = unsafe { s.load(columns[j].wrapping_add(at)) };
            for i in 0..R {
                sums[i][j] = w[i].mul_add(x, sums[i][j]);
            }
        }
        at += step;
    }
    if at < k {
        for i in 0..R {
            // SAFETY: that many elements are left.
            let w = unsafe { E::load_part(s, rows[i].wrapping_add(at * E::SIZE), k - at) };
            for j in 0..C {
                let x = columns[j].wrapping_add(at).cast();
                // SAFETY: as above.
                let x = unsafe { F32::load_part(s, x, k - at) };
                sums[i][j] = w.mul_add(x, sums[i][j]);
            }
        }
    }
    for (i, sums) in sums.iter().enumerate() {
        for (j, sum) in sums.iter().enumerate() {
            t.set(r + i, c + j, sum.sum());
        }
    }
}
