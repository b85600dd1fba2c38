//! Streams: nothing is queued, `compute` returns when all is done.

use crate::ops;
use dinrail_core::error::Result;
use dinrail_core::hal::{Key, StreamOps};
use dinrail_core::program::Program;

/// The functions of the device's streams. A stream has no state.
#[derive(Debug)]
pub struct Ops {
    /// Gives the value an address of its own: handles are told apart by it.
    _place: u8,
}

impl Ops {
    pub(crate) const fn new() -> Self {
        Self { _place: 0 }
    }
}

impl StreamOps for Ops {
    fn name(&self) -> &str {
        "Reference"
    }

    fn guid(&self) -> [u8; 16] {
        *b"dinrail-referenc"
    }

    fn free(&self, _key: Key<'_>) {}

    fn compute(&self, _key: Key<'_>, program: &Program<'_>) -> Result<()> {
        // Refuse before anything is written.
        for (id, node) in program.nodes() {
            ops::check(program, id, node)?;
        }
        for (id, node) in program.nodes() {
            ops::compute(program, id, node)?;
        }
        Ok(())
    }

    fn step(&self, _key: Key<'_>, program: &Program<'_>, next: usize) -> Result<usize> {
        let Some((id, node)) = program.nodes().find(|(id, _)| id.index() == next) else {
            return Ok(program.range().end);
        };
        ops::check(program, id, node)?;
        ops::compute(program, id, node)?;
        Ok(next + 1)
    }
}
