//! x86-64 with AVX2, FMA and F16C.
//!
//! * [`rows`] multiplies weights as they lie in memory, four rows at a time: for few columns, where memory is the limit.
//! * [`panel`] first re-orders sixteen rows so that each 32-bit lane belongs to one row, and then reuses them for all
//!   columns: for many columns, where the multipliers are the limit.
//! * [`unpack`] turns a stored group into a vector of bytes, for both.

mod panel;
mod rows;
mod unpack;

use super::activations::{Columns, Layout, Source, quantise};
use super::driver::{self, Engine, Tile};
use super::format::{self, Format};
use super::{float, for_format};
use crate::kernels::vec;
use crate::{Kernel, Level};
use core::marker::PhantomData;
use core::ops::Range;
use dinrail_core::tensor::DType;
use unpack::Unpack;

/// From how many columns on re-ordering the weights pays.
const PANEL_FROM: usize = 4;

/// The kernel for a type of weights.
pub const fn kernel(dtype: DType) -> Option<Kernel> {
    macro_rules! quantised {
        ($f:ident) => {
            Some(driver::quantised::<Quantised<format::$f>>)
        };
    }
    match dtype {
        DType::F32 => Some(driver::float::<float::Avx2<vec::F32>>),
        DType::F16 => Some(driver::float::<float::Avx2<vec::F16>>),
        DType::BF16 => Some(driver::float::<float::Avx2<vec::Bf16>>),
        other => for_format!(other, quantised, None),
    }
}

/// Whether the type's panels hold 16-bit numbers.
const fn wide_panel(dtype: DType) -> bool {
    macro_rules! wide {
        ($f:ident) => {
            panel::is_wide::<format::$f>()
        };
    }
    for_format!(dtype, wide, false)
}

/// Whether a product with `m` columns needs 16-bit activations.
pub const fn wide(dtype: DType, m: usize) -> bool {
    m >= PANEL_FROM && wide_panel(dtype)
}

/// Bytes of working memory for each worker.
pub const fn workspace(dtype: DType, groups: usize, m: usize) -> usize {
    if m < PANEL_FROM { 0 } else { panel::bytes(wide_panel(dtype), groups) }
}

/// Quantised weights.
pub struct Quantised<F>(PhantomData<F>);

impl<F: Unpack> Engine for Quantised<F> {
    type F = F;
    const LEVEL: Level = Level::Avx2;

    #[target_feature(enable = "avx2,fma,f16c")]
    unsafe fn quantise(source: &Source<'_>, range: Range<usize>, base: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { quantise(source, range, base, layout) }
    }

    #[target_feature(enable = "avx2,fma,f16c")]
    unsafe fn tile(tile: &Tile<'_, <F as Format>::Block, Columns<'_>>) {
        if tile.whole_m < PANEL_FROM {
            rows::tile::<F>(tile);
        } else {
            panel::tile::<F>(tile);
        }
    }
}
