//! Kernels and the tables that find them.

use crate::{Kernel, Level};
use dinrail_core::hal::Query;

/// The kernel of a level for a node, if there is one. `supports` and the executor both ask here, so they can't
/// disagree. A `const fn`, so that a firmware can resolve its graph at compile time and link only what it uses.
pub const fn resolve(level: Level, query: &Query<'_>) -> Option<Kernel> {
    let _ = (level, query);
    None
}

/// Bytes of scratch memory that the node's kernel needs with `workers` workers.
pub const fn scratch(level: Level, query: &Query<'_>, workers: usize) -> usize {
    let _ = (level, query, workers);
    0
}
