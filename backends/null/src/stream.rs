//! The functions of streams. A stream is a queue; this one is always empty.

use crate::Config;
use dinrail_core::error::{Error, Result};
use dinrail_core::graph::Graph;
use dinrail_core::hal::{Key, StreamOps};
use dinrail_core::program::Program;

/// The functions.
#[derive(Debug)]
pub struct Ops {
    config: Config,
}

impl Ops {
    pub(crate) const fn new(config: Config) -> Self {
        Self { config }
    }
}

impl StreamOps for Ops {
    fn name(&self) -> &str {
        self.config.name
    }

    // Any sixteen bytes that nobody else uses, always the same for this implementation.
    fn guid(&self) -> [u8; 16] {
        *b"dinrail-null-dev"
    }

    // Wait for what is queued, then give back what `Device::open` took.
    fn free(&self, _key: Key<'_>) {}

    // The *_async functions and `copy_async` have defaults that wait and then copy: right for every device, and worth
    // replacing for one that can copy while it computes.

    // Return when everything queued is done, with the first error since the last call.
    fn synchronize(&self, _key: Key<'_>) -> Result<()> {
        self.config.count(|c| &c.synchronize);
        Ok(())
    }

    // plan_create and its sisters: for devices that can record a program and play it again for less than computing it
    // costs. The defaults say that there is no such thing.

    // Go through `program.nodes()` in order. Skip nodes for which `op.is_view()` holds, and those without elements. Find
    // each node's memory with `program.place` (or `address`, or `view`). What core has checked already is said in
    // `dinrail_core::hal`; left to you are values inside tensors that are used as indices. Where there is no kernel,
    // answer `Unsupported` with the node, and stay usable.
    fn compute(&self, _key: Key<'_>, program: &Program<'_>) -> Result<()> {
        self.config.count(|c| &c.compute);
        for (id, node) in program.nodes().filter(|(_, node)| !node.op.is_view()) {
            if !self.config.supports {
                return Err(Error::Unsupported { node: id, op: node.op.kind() });
            }
            self.config.count(|c| &c.nodes);
        }
        Ok(())
    }

    // For computing a piece at a time on one core. The default computes all at once.
    fn step(&self, key: Key<'_>, program: &Program<'_>, next: usize) -> Result<usize> {
        let range = program.range();
        if next == range.start {
            self.compute(key, program)?;
        }
        Ok(range.end)
    }

    // Working memory that kernels need beside the arena, so that the planner can leave room for it.
    fn scratch(&self, _key: Key<'_>, _graph: Graph<'_>) -> usize {
        0
    }

    // A mark in the queue. `event` is one of this device's.
    fn event_record(&self, _key: Key<'_>, _event: Key<'_>) -> Result<()> {
        self.config.count(|c| &c.record);
        Ok(())
    }

    // Later work of this stream starts after the mark.
    fn event_wait(&self, _key: Key<'_>, _event: Key<'_>) -> Result<()> {
        self.config.count(|c| &c.wait);
        Ok(())
    }
}
