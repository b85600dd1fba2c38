//! Fused attention.

use crate::{Kernel, Level};
use dinrail_core::hal::Query;

/// The kernel of a level for a node.
pub(super) const fn resolve(level: Level, q: &Query<'_>) -> Option<Kernel> {
    let _ = (level, q);
    None
}

/// Bytes of scratch memory for all workers.
pub(super) const fn scratch(level: Level, q: &Query<'_>, workers: usize) -> usize {
    let _ = (level, q, workers);
    0
}
