//! Matrix products.
//!
//! [`driver`] prepares the right-hand side and divides the work; an engine, one for each level, multiplies a tile.
//! [`format`] says how a quantised type is read and [`activations`] how the other side is rounded, for all levels.

// What the levels share is not all used by each of them.
#![cfg_attr(not(all(feature = "avx2", target_arch = "x86_64")), allow(dead_code, unused_imports))]

mod activations;
mod driver;
mod float;
mod format;
#[cfg(all(feature = "helium", cortex_m_mve))]
mod helium;
mod scalar;
#[cfg(test)]
mod tests;
pub(super) mod vector;
#[cfg(all(cortex_m_dsp, cortex_m_fpu))]
mod vector_q8_0;

#[cfg(all(feature = "avx2", target_arch = "x86_64"))]
mod avx2;
#[cfg(all(feature = "neon", target_arch = "aarch64"))]
mod neon;

use crate::kernels::vec;
use crate::{Kernel, Level};
use activations::Layout;
use dinrail_core::hal::Query;
use dinrail_core::tensor::{DType, Desc};
use driver::{Needs, float_needs};
use format::GROUP;

/// Calls `$then!(name)` with the name of the quantised type's [`format`], or gives `$otherwise`.
macro_rules! for_format {
    ($dtype:expr, $then:ident, $otherwise:expr) => {
        match $dtype {
            DType::Q4_0 => $then!(Q4_0),
            DType::Q4_1 => $then!(Q4_1),
            DType::Q5_0 => $then!(Q5_0),
            DType::Q5_1 => $then!(Q5_1),
            DType::Q8_0 => $then!(Q8_0),
            DType::Q2_K => $then!(Q2_K),
            DType::Q3_K => $then!(Q3_K),
            DType::Q4_K => $then!(Q4_K),
            DType::Q5_K => $then!(Q5_K),
            DType::Q6_K => $then!(Q6_K),
            DType::IQ4_NL => $then!(IQ4_NL),
            DType::IQ4_XS => $then!(IQ4_XS),
            DType::MXFP4 => $then!(MXFP4),
            DType::TQ1_0 => $then!(TQ1_0),
            DType::TQ2_0 => $then!(TQ2_0),
            _ => $otherwise,
        }
    };
}
use for_format;

/// The kernel of a level for a node.
pub(super) const fn resolve(level: Level, q: &Query<'_>) -> Option<Kernel> {
    let (Some(a), Some(b)) = (q.src.source(0), q.src.source(1)) else { return None };
    if !matches!(q.dst.dtype, DType::F32) || !q.dst.rows_contiguous() || !a.rows_contiguous() {
        return None;
    }
    if !matches!(b.dtype, DType::F32 | DType::F16 | DType::BF16) {
        return None;
    }
    match level {
        #[cfg(all(feature = "avx2", target_arch = "x86_64"))]
        Level::Avx2 => avx2::kernel(a.dtype),
        #[cfg(all(feature = "neon", target_arch = "aarch64"))]
        Level::Neon => neon::kernel(a.dtype),
        #[cfg(all(feature = "dotprod", target_arch = "aarch64"))]
        Level::Dotprod => neon::dotprod_kernel(a.dtype),
        #[cfg(all(feature = "helium", cortex_m_mve))]
        Level::Helium if helium::kernel(a.dtype, b).is_some() => helium::kernel(a.dtype, b),
        _ if vector::fits(b) => vector_kernel(a.dtype),
        _ => scalar_kernel(a.dtype),
    }
}

/// The scalar level's kernel for a single column.
const fn vector_kernel(dtype: DType) -> Option<Kernel> {
    match dtype {
        DType::F32 => Some(vector::float::<vec::F32>),
        DType::F16 => Some(vector::half),
        DType::BF16 => Some(vector::float::<vec::Bf16>),
        #[cfg(all(cortex_m_dsp, cortex_m_fpu))]
        DType::Q8_0 => Some(vector_q8_0::q8_0),
        other => scalar_kernel(other),
    }
}

const fn scalar_kernel(dtype: DType) -> Option<Kernel> {
    macro_rules! quantised {
        ($f:ident) => {
            Some(driver::quantised::<scalar::Quantised<format::$f>>)
        };
    }
    match dtype {
        DType::F32 => Some(driver::float::<float::Scalar<vec::F32>>),
        DType::F16 => Some(driver::float::<float::Scalar<vec::F16>>),
        DType::BF16 => Some(driver::float::<float::Scalar<vec::Bf16>>),
        other => for_format!(other, quantised, None),
    }
}

/// Bytes of scratch memory for all workers.
pub(super) const fn scratch(level: Level, q: &Query<'_>, workers: usize) -> usize {
    let (Some(a), Some(b)) = (q.src.source(0), q.src.source(1)) else { return 0 };
    #[cfg(all(feature = "helium", cortex_m_mve))]
    if matches!(level, Level::Helium) && helium::kernel(a.dtype, b).is_some() {
        return helium::scratch(a.dtype, b.ne[0]);
    }
    #[cfg(all(cortex_m_dsp, cortex_m_fpu))]
    if matches!((level, a.dtype), (Level::Scalar | Level::Helium, DType::Q8_0)) && vector::fits(b) {
        return vector_q8_0::scratch(b.ne[0]);
    }
    if a.dtype.is_quantized() {
        plan(level, a.dtype, b).1.total(workers)
    } else {
        float_needs(a, b).total(workers)
    }
}

/// How a level prepares the columns of a product with quantised weights, and the working memory for it.
const fn plan(level: Level, dtype: DType, b: &Desc) -> (Layout, Needs) {
    let groups = b.ne[0] / GROUP;
    let (wide, each) = match level {
        #[cfg(all(feature = "avx2", target_arch = "x86_64"))]
        Level::Avx2 => (avx2::wide(dtype, b.ne[1]), avx2::workspace(dtype, groups, b.ne[1])),
        _ => (false, 0),
    };
    let layout = Layout {
        groups,
        halves: matches!(dtype, DType::Q2_K),
        wide,
        half_scales: dtype.block_len() == GROUP,
        half_sums: matches!(dtype, DType::Q4_1 | DType::Q5_1),
    };
    let columns = layout.stride().saturating_mul(b.rows());
    (layout, Needs { columns, each })
}
