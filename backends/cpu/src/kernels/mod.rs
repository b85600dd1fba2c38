//! Kernels and the tables that find them.
//!
//! One file per family of operations. Each has a `const fn resolve(level, query)` that gives the kernel of a level for
//! a node, or `None`; a family that needs working memory has a `const fn scratch(level, query, workers)` beside it.

mod attention;
mod glu;
mod matmul;
mod norm;
mod rope;
mod softmax;
mod unary;
mod vec;

use crate::{Kernel, Level};
use dinrail_core::hal::Query;
use dinrail_core::op::Op;

/// The kernel of a level for a node, if there is one. `supports` and the executor both ask here, so they can't
/// disagree. A `const fn`, so that a firmware can resolve its graph at compile time and link only what it uses.
pub const fn resolve(level: Level, query: &Query<'_>) -> Option<Kernel> {
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
        _ => None,
    }
}

/// Bytes of scratch memory that the node's kernel needs with `workers` workers.
pub const fn scratch(level: Level, query: &Query<'_>, workers: usize) -> usize {
    match query.op {
        Op::MulMat { .. } => matmul::scratch(level, query, workers),
        Op::FlashAttn { .. } => attention::scratch(level, query, workers),
        _ => 0,
    }
}
