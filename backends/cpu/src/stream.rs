//! A stream: graphs on one worker or a team of them.

use crate::execute::{self, Range};
use crate::{Level, cost, kernels};
use dinrail_core::error::Result;
use dinrail_core::graph::{Graph, NodeId};
use dinrail_core::hal::host::Threads;
use dinrail_core::hal::{Key, Query, StreamOps};
use dinrail_core::program::Program;

/// The functions of streams of one level. With `threads`, a stream's word is that of its team; without, it has none.
#[derive(Clone, Copy)]
pub(crate) struct Ops {
    level: Level,
    threads: Option<&'static dyn Threads>,
}

impl Ops {
    /// Whether several workers can tell each other of errors here: that takes compare-and-swap.
    pub(crate) const CAN_SHARE: bool = cfg!(target_has_atomic = "8");

    pub(crate) const fn new(level: Level, threads: Option<&'static dyn Threads>) -> Self {
        Self { level, threads }
    }

    fn workers(&self, key: Key<'_>) -> usize {
        self.threads.map_or(1, |t| t.count(key))
    }

    fn run(&self, key: Key<'_>, program: &Program<'_>, range: Range) -> Result<()> {
        match self.threads {
            Some(threads) => execute::team(self.level, threads, key, program, range),
            None => execute::alone(self.level, program, range),
        }
    }
}

impl StreamOps for Ops {
    fn name(&self) -> &str {
        "CPU"
    }

    fn guid(&self) -> [u8; 16] {
        *b"dinrail cpu 0001"
    }

    fn free(&self, key: Key<'_>) {
        if let Some(threads) = self.threads {
            threads.close(key);
        }
    }

    /// Computes everything before it returns.
    fn compute(&self, key: Key<'_>, program: &Program<'_>) -> Result<()> {
        self.run(key, program, program.range())
    }

    /// Computes one node, and passes over those that need no computing.
    fn step(&self, key: Key<'_>, program: &Program<'_>, next: usize) -> Result<usize> {
        let end = program.range().end;
        let nodes = program.graph().nodes();
        let idle = |from: usize| {
            let rest = nodes.get(from..end).unwrap_or(&[]);
            from + rest.iter().take_while(|n| n.op.is_view()).count()
        };
        let node = idle(next);
        if node >= end {
            return Ok(end);
        }
        self.run(key, program, node..node + 1)?;
        Ok(idle(node + 1))
    }

    fn scratch(&self, key: Key<'_>, graph: Graph<'_>) -> usize {
        let workers = self.workers(key);
        let mut most = 0;
        for (i, node) in graph.nodes().iter().enumerate() {
            let sources = Query::sources(graph, NodeId(i as u16));
            let query = Query::of(node, &sources);
            let workers = if cost::is_small(&query) { 1 } else { workers };
            most = most.max(kernels::scratch(self.level, &query, workers));
        }
        most
    }
}
