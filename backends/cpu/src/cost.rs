//! Which nodes are too small to be worth a team.

use dinrail_core::hal::Query;
use dinrail_core::op::Op;

/// Work below which waking other workers up and waiting for them costs more than they save, in steps of about a
/// quarter of a nanosecond.
const SMALL: usize = 8192;

/// Whether one worker should compute the node alone. Depends on the node only, never on the machine or the number of
/// workers, so that all workers agree.
pub(crate) const fn is_small(query: &Query<'_>) -> bool {
    let out = query.dst.elements();
    let (first, rows) = match query.src.source(0) {
        Some(a) => (a.elements(), a.rows()),
        None => (out, 1),
    };
    let most = if out > first { out } else { first };
    let steps = match query.op {
        Op::MulMat { .. } => match query.src.source(0) {
            Some(a) => out.saturating_mul(a.ne[0]),
            None => out,
        },
        Op::FlashAttn { .. } => match query.src.source(1) {
            Some(k) => first.saturating_mul(k.ne[1]).saturating_mul(2),
            None => most,
        },
        // One sum is never divided.
        Op::Sum => return true,
        // One row is never divided.
        Op::SumRows
        | Op::Mean
        | Op::Argmax
        | Op::Argsort { .. }
        | Op::Norm { .. }
        | Op::RmsNorm { .. }
        | Op::L2Norm { .. }
        | Op::SoftMax { .. }
            if rows < 2 =>
        {
            return true;
        }
        Op::Argsort { .. } => most.saturating_mul(64),
        Op::SoftMax { .. } | Op::Rope(_) | Op::Unary(_) | Op::Glu(_) => most.saturating_mul(8),
        Op::Sin | Op::Cos | Op::Log => most.saturating_mul(32),
        Op::GetRows | Op::SetRows => {
            let block = match query.src.source(0) {
                Some(a) => a.dtype.block_len() > 1 || query.dst.dtype.block_len() > 1,
                None => false,
            };
            // The table's own size doesn't count.
            let moved = match (query.op, query.src.source(0)) {
                (Op::SetRows, Some(a)) => a.elements(),
                _ => out,
            };
            moved.saturating_mul(if block { 8 } else { 1 })
        }
        _ => most,
    };
    steps < SMALL
}
