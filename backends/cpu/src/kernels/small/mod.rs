//! Kernels of the scalar level for plain cases: `F32`, rows without gaps, one token at a time.
//!
//! The general kernels know every type, layout and number of tokens, and firmware that needs one case would carry the
//! code for all. These know one case each. They are chosen by type and shape, on every target alike, so that the scalar
//! level still gives the same bits everywhere.

mod attention;
mod binary;
mod glu;
mod math;
mod norm;
mod rope;
mod rows;
#[cfg(test)]
pub(super) mod tests;

#[cfg(cortex_m_fpu)]
pub(super) use math::EXP;

use crate::Kernel;
use dinrail_core::hal::Query;
use dinrail_core::op::Op;
use dinrail_core::tensor::{DType, Desc};

/// The kernel for a node, where it is a plain case.
pub(super) const fn resolve(q: &Query<'_>) -> Option<Kernel> {
    match q.op {
        Op::Add | Op::Sub | Op::Mul | Op::Div => binary::resolve(q),
        Op::Glu(_) => glu::resolve(q),
        Op::RmsNorm { .. } => norm::resolve(q),
        Op::GetRows | Op::SetRows => rows::resolve(q),
        Op::Rope(_) => rope::resolve(q),
        Op::FlashAttn { .. } => attention::resolve(q),
        _ => None,
    }
}

/// Bytes of scratch memory of a node that [`resolve`] has a kernel for.
pub(super) const fn scratch(q: &Query<'_>, workers: usize) -> usize {
    match q.op {
        Op::FlashAttn { .. } => attention::scratch(q, workers),
        _ => 0,
    }
}

/// `F32` in rows without gaps.
const fn f32s(d: &Desc) -> bool {
    matches!(d.dtype, DType::F32) && d.nb[0] == 4
}
