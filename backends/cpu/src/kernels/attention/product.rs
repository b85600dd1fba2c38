//! The two products of a chunk: queries with keys, weights with values.
//!
//! Both keep a small block of the result in registers, so that each load of a key or value serves several rows.

use super::CHUNK;
use crate::kernels::vec::{Elem, F32, LANES, Lanes, Simd};

/// Rows of keys or values: the first one, and the distance in bytes.
#[derive(Clone, Copy)]
pub(super) struct Rows {
    pub(super) at: *const u8,
    pub(super) stride: usize,
}

impl Rows {
    #[inline(always)]
    fn row(&self, i: usize) -> *const u8 {
        self.at.wrapping_add(i.wrapping_mul(self.stride))
    }
}

/// Logits of `R` rows against `count` keys: `out[r][c] = q[r] . k[c]`, for `c` up to the next multiple of four (what is
/// written past `count` means nothing).
///
/// # Safety
/// * Each `q` is readable for `d` floats, each of `count` keys (1 to [`CHUNK`]) for `d` elements.
/// * Each `out` is writable for [`CHUNK`] floats.
#[inline(always)]
pub(super) unsafe fn logits<S: Simd, E: Elem, const R: usize>(
    s: S,
    q: [*const f32; R],
    k: Rows,
    d: usize,
    count: usize,
    out: [*mut f32; R],
) {
    let mut c = 0;
    while c < count {
        // Past the end, the last key again.
        let keys: [*const u8; 4] = core::array::from_fn(|i| k.row((c + i).min(count - 1)));
        let mut acc = [[s.splat(0.0); 4]; R];
        let mut i = 0;
        while i + LANES <= d {
            // SAFETY: `i + LANES <= d`.
            let rows: [S::F; R] = q.map(|q| unsafe { s.load(q.wrapping_add(i)) });
            for j in 0..4 {
                // SAFETY: `i + LANES <= d`.
                let key = unsafe { E::load(s, keys[j].wrapping_add(i * E::SIZE)) };
                for r in 0..R {
                    acc[r][j] = rows[r].mul_add(key, acc[r][j]);
                }
            }
            i += LANES;
        }
        if i < d {
            // SAFETY: `d - i` elements are left.
            let rows: [S::F; R] =
                q.map(|q| unsafe { F32::load_part(s, q.wrapping_add(i).cast(), d - i) });
            for j in 0..4 {
                // SAFETY: `d - i` elements are left.
                let key = unsafe { E::load_part(s, keys[j].wrapping_add(i * E::SIZE), d - i) };
                for r in 0..R {
                    acc[r][j] = rows[r].mul_add(key, acc[r][j]);
                }
            }
        }
        for r in 0..R {
            let sums = S::F::sum4(acc[r]);
            // SAFETY: `c + 4 <= CHUNK`, because both are multiples of four.
            unsafe { out[r].wrapping_add(c).cast::<[f32; 4]>().write_unaligned(sums) };
        }
        c += 4;
    }
}

/// `values[r] += sum over c of weights[r][c] * v[c]` for `R` rows, `J` vectors at a time, from element `from` on as far
/// as `J` vectors fit. Returns where it stopped.
///
/// # Safety
/// * Each of `weights` is readable for `count` floats, each of `values` readable and writable for `dv`.
/// * Each of `count` values of `v` is readable for `dv` elements.
#[inline(always)]
unsafe fn columns<S: Simd, E: Elem, const R: usize, const J: usize>(
    s: S,
    weights: [*const f32; R],
    v: Rows,
    values: [*mut f32; R],
    count: usize,
    from: usize,
    dv: usize,
) -> usize {
    let mut at = from;
    while at + J * LANES <= dv {
        let mut acc: [[S::F; J]; R] = values.map(|row| {
            core::array::from_fn(|j| {
                // SAFETY: `at + J * LANES <= dv`.
                unsafe { s.load(row.wrapping_add(at + j * LANES)) }
            })
        });
        for c in 0..count {
            // SAFETY: `c < count`.
            let w = weights.map(|w| s.splat(unsafe { w.wrapping_add(c).read_unaligned() }));
            let row = v.row(c).wrapping_add(at * E::SIZE);
            for j in 0..J {
                // SAFETY: `at + J * LANES <= dv`.
                let x = unsafe { E::load(s, row.wrapping_add(j * LANES * E::SIZE)) };
                for r in 0..R {
                    acc[r][j] = x.mul_add(w[r], acc[r][j]);
                }
            }
        }
        for r in 0..R {
            for j in 0..J {
                // SAFETY: `at + J * LANES <= dv`.
                unsafe { s.store(values[r].wrapping_add(at + j * LANES), acc[r][j]) };
            }
        }
        at += J * LANES;
    }
    at
}

/// `values[r] += sum over c of weights[r][c] * v[c]` for `R` rows, with blocks `J` vectors wide where they fit.
///
/// # Safety
/// As [`columns`].
#[inline(always)]
pub(super) unsafe fn weighted<S: Simd, E: Elem, const R: usize, const J: usize>(
    s: S,
    weights: [*const f32; R],
    v: Rows,
    values: [*mut f32; R],
    count: usize,
    dv: usize,
) {
    // SAFETY: the caller's promise.
    let at = unsafe { columns::<S, E, R, J>(s, weights, v, values, count, 0, dv) };
    // SAFETY: the caller's promise.
    let at = unsafe { columns::<S, E, R, 1>(s, weights, v, values, count, at, dv) };
    if at == dv {
        return;
    }
    let left = dv - at;
    for r in 0..R {
        let to = values[r].wrapping_add(at).cast::<u8>();
        // SAFETY: `left` elements are left.
        let mut acc = unsafe { F32::load_part(s, to, left) };
        for c in 0..count {
            // SAFETY: `c < count`.
            let w = s.splat(unsafe { weights[r].wrapping_add(c).read_unaligned() });
            // SAFETY: `left` elements are left.
            let x = unsafe { E::load_part(s, v.row(c).wrapping_add(at * E::SIZE), left) };
            acc = x.mul_add(w, acc);
        }
        // SAFETY: `left` elements are left.
        unsafe { F32::store_part(s, to, acc, left) };
    }
}

const _: () = assert!(CHUNK.is_multiple_of(4 * LANES));
