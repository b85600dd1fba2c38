//! Kernels and the tables that find them.
//!
//! One file per family of operations. Each has a `const fn resolve(level, query)` that gives the kernel of a level for
//! a node, or `None`; a family that needs working memory has a `const fn scratch(level, query, workers)` beside it.

mod attention;
mod binary;
mod concat;
mod copy;
#[cfg(cortex_m_fpu)]
mod cortex_m;
mod fill;
mod glu;
mod map;
mod mask;
mod matmul;
mod mem;
mod norm;
mod reduce;
mod repeat;
mod rope;
mod rows;
mod small;
mod softmax;
mod sort;
mod unary;
mod vec;
mod walk;
mod window;

use crate::{Kernel, Level};
use dinrail_core::hal::Query;
use dinrail_core::op::Op;

/// The kernel of a level for a node, if there is one. `supports` and the executor both ask here, so they can't
/// disagree. A `const fn`, so that a firmware can resolve its graph at compile time and link only what it uses.
pub const fn resolve(level: Level, query: &Query<'_>) -> Option<Kernel> {
    match plain(level, query) {
        Some(kernel) => Some(kernel),
        None => general(level, query),
    }
}

/// The kernel for a plain case: of levels of small cores, and in firmware of any core where a level gains nothing and the
/// general kernel would bring the code for all types along.
const fn plain(level: Level, query: &Query<'_>) -> Option<Kernel> {
    let same =
        matches!(query.op, Op::Add | Op::Sub | Op::Mul | Op::Div | Op::GetRows | Op::SetRows);
    if matches!(level, Level::Scalar | Level::Helium) || (same && cfg!(target_os = "none")) {
        small::resolve(query)
    } else {
        None
    }
}

/// The kernel for any case.
const fn general(level: Level, query: &Query<'_>) -> Option<Kernel> {
    match query.op {
        Op::MulMat { .. } => matmul::resolve(level, query),
        Op::Unary(_) => unary::resolve(level, query),
        Op::Glu(_) => glu::resolve(level, query),
        Op::Norm { .. } | Op::RmsNorm { .. } | Op::GroupNorm { .. } | Op::L2Norm { .. } => {
            norm::resolve(level, query)
        }
        Op::SoftMax { .. } => softmax::resolve(level, query),
        Op::Rope(_) => rope::resolve(level, query),
        Op::FlashAttn { .. } => attention::resolve(level, query),
        // These have no work that more than the compiler's own vectors would speed up: one kernel for all levels.
        Op::Cont | Op::Dup | Op::Cpy => copy::resolve(query),
        Op::Add | Op::Sub | Op::Mul | Op::Div | Op::Add1 => binary::resolve(query),
        Op::Scale { .. } | Op::Sqr | Op::Sqrt | Op::Log | Op::Sin | Op::Cos | Op::Clamp { .. } => {
            map::resolve(query)
        }
        Op::Acc(_) | Op::Set(_) => window::resolve(query),
        Op::Sum | Op::SumRows | Op::Mean | Op::Argmax => reduce::resolve(query),
        Op::Argsort { .. } => sort::resolve(query),
        Op::Repeat => repeat::resolve(query),
        Op::Concat { .. } => concat::resolve(query),
        Op::GetRows | Op::SetRows => rows::resolve(query),
        Op::DiagMaskInf { .. } => mask::resolve(query),
        Op::Arange { .. } => fill::resolve(query),
        _ => None,
    }
}

/// Bytes of scratch memory that the node's kernel needs with `workers` workers.
pub const fn scratch(level: Level, query: &Query<'_>, workers: usize) -> usize {
    match plain(level, query) {
        Some(_) => small::scratch(query, workers),
        None => general_scratch(level, query, workers),
    }
}

const fn general_scratch(level: Level, query: &Query<'_>, workers: usize) -> usize {
    match query.op {
        Op::MulMat { .. } => matmul::scratch(level, query, workers),
        Op::FlashAttn { .. } => attention::scratch(level, query, workers),
        _ => 0,
    }
}
