//! AArch64 with NEON, with or without the dot-product instructions.
//!
//! * [`rows`] multiplies weights as they lie in memory, four rows at a time with up to four columns.
//! * [`unpack`] turns a stored group into two vectors of bytes.
//! * [`dot`] is where the two levels differ.

mod dot;
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
use dot::{Dot, Plain};
use unpack::Unpack;

/// The kernel for a type of weights with plain NEON.
pub const fn kernel(dtype: DType) -> Option<Kernel> {
    macro_rules! quantised {
        ($f:ident) => {
            Some(driver::quantised::<Quantised<format::$f, Plain>>)
        };
    }
    match dtype {
        DType::F32 => Some(driver::float::<float::Neon<vec::F32>>),
        DType::F16 => Some(driver::float::<float::Neon<vec::F16>>),
        DType::BF16 => Some(driver::float::<float::Neon<vec::Bf16>>),
        other => for_format!(other, quantised, None),
    }
}

/// The kernel for a type of weights with dot-product instructions.
#[cfg(feature = "dotprod")]
pub const fn dotprod_kernel(dtype: DType) -> Option<Kernel> {
    macro_rules! quantised {
        ($f:ident) => {
            Some(driver::quantised::<Quantised<format::$f, dot::Sdot>>)
        };
    }
    for_format!(dtype, quantised, kernel(dtype))
}

/// Quantised weights, multiplied by `D`.
pub struct Quantised<F, D>(PhantomData<(F, D)>);

impl<F: Unpack, D: Dot> Engine for Quantised<F, D> {
    type F = F;
    const LEVEL: Level = D::LEVEL;

    #[target_feature(enable = "neon")]
    unsafe fn quantise(source: &Source<'_>, range: Range<usize>, base: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { quantise(source, range, base, layout) }
    }

    #[target_feature(enable = "neon")]
    unsafe fn tile(tile: &Tile<'_, <F as Format>::Block, Columns<'_>>) {
        // SAFETY: the caller promises the level's instructions.
        unsafe { rows::tile::<F, D>(tile) }
    }
}
