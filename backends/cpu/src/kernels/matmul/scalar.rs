//! Quantised weights in plain Rust, the same bits on every target: sums in a fixed order, and no fused operations.

use super::activations::{Columns, Layout, Source, quantise};
use super::driver::{Engine, Tile};
use super::format::{Format, GROUP, Group};
use crate::Level;
use core::marker::PhantomData;
use core::ops::Range;

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
