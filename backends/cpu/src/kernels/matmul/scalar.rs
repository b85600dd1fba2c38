//! Plain Rust, the same bits on every target: sums in a fixed order, and no fused operations.

use super::activations::{Columns, FloatColumns, Layout, Source, quantise};
use super::driver::{Engine, FloatEngine, Tile};
use super::format::{Format, GROUP, Group};
use crate::Level;
use core::marker::PhantomData;
use core::ops::Range;
use dinrail_core::tensor::float::{bf16_to_f32, f16_to_f32};

/// The integer part of a group's product.
#[inline(always)]
pub fn dot(w: &Group, x: &[i8; GROUP]) -> i32 {
    let mut sum = 0;
    for (s, (q, x)) in w.s.iter().zip(w.q.chunks_exact(16).zip(x.chunks_exact(16))) {
        let half: i32 = q.iter().zip(x).map(|(&q, &x)| q as i32 * x as i32).sum();
        sum += *s as i32 * half;
    }
    sum
}

/// Quantised weights of any type.
pub struct Quantised<F>(PhantomData<F>);

impl<F: Format> Engine for Quantised<F> {
    type F = F;
    const LEVEL: Level = Level::Scalar;

    unsafe fn quantise(source: &Source<'_>, range: Range<usize>, base: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { quantise(source, range, base, layout) }
    }

    unsafe fn tile(tile: &Tile<'_, F::Block, Columns<'_>>) {
        for r in 0..tile.n() {
            for c in 0..tile.m() {
                let x = tile.x.column(c);
                let mut sum = 0.0;
                let mut g = 0;
                for block in tile.row(r) {
                    for i in 0..F::GROUPS {
                        let w = F::group(block, i);
                        if let (Some(q), Some(d), Some(s)) = (x.q.get(g), x.d.get(g), x.s.get(g)) {
                            sum += dot(&w, q) as f32 * (w.d * d);
                            if F::HALVES {
                                let h = x.halves.get(g).unwrap_or(&[0.0; 2]);
                                sum += w.m[0] * h[0] + w.m[1] * h[1];
                            } else if F::OFFSET {
                                sum += w.m[0] * s;
                            }
                        }
                        g += 1;
                    }
                }
                tile.set(r, c, sum);
            }
        }
    }
}

/// How a float type becomes `f32`.
pub trait Element: Copy {
    /// As it is stored.
    type Bits: Copy;
    /// Its value.
    fn widen(bits: Self::Bits) -> f32;
}

/// binary32.
#[derive(Clone, Copy)]
pub struct F32;
/// binary16.
#[derive(Clone, Copy)]
pub struct F16;
/// Upper half of a binary32.
#[derive(Clone, Copy)]
pub struct BF16;

impl Element for F32 {
    type Bits = f32;
    #[inline(always)]
    fn widen(bits: f32) -> f32 {
        bits
    }
}

impl Element for F16 {
    type Bits = u16;
    #[inline(always)]
    fn widen(bits: u16) -> f32 {
        f16_to_f32(bits)
    }
}

impl Element for BF16 {
    type Bits = u16;
    #[inline(always)]
    fn widen(bits: u16) -> f32 {
        bf16_to_f32(bits)
    }
}

/// Float weights.
pub struct Float<E>(PhantomData<E>);

impl<E: Element> FloatEngine for Float<E> {
    type Element = E::Bits;

    unsafe fn tile(tile: &Tile<'_, E::Bits, FloatColumns<'_>>) {
        for c in 0..tile.m() {
            for r in 0..tile.n() {
                tile.set(r, c, float_dot::<E>(tile.row(r), tile.x.column(c)));
            }
        }
    }
}

/// A dot product in eight interleaved sums, which are more exact than one and which a compiler can put in vectors.
fn float_dot<E: Element>(w: &[E::Bits], x: &[f32]) -> f32 {
    let mut sums = [0f32; 8];
    let (w, w_tail) = w.as_chunks::<8>();
    let (x, x_tail) = x.as_chunks::<8>();
    for (w, x) in w.iter().zip(x) {
        for (sum, (w, x)) in sums.iter_mut().zip(w.iter().zip(x)) {
            *sum += E::widen(*w) * x;
        }
    }
    for (sum, (w, x)) in sums.iter_mut().zip(w_tail.iter().zip(x_tail)) {
        *sum += E::widen(*w) * x;
    }
    let [a, b, c, d, e, f, g, h] = sums;
    ((a + e) + (c + g)) + ((b + f) + (d + h))
}
