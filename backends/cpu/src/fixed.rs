//! Kernels resolved at compile time, for one graph.
//!
//! A stream finds a node's kernel when it computes it, so it brings every kernel along. A [`Fixed`] table is filled in a
//! `const`: it names just the kernels that its graph needs, and the linker drops the others.

use crate::kernel::{Args, Operand};
use crate::{Kernel, Level, kernels};
use dinrail_core::error::{Error, Result};
use dinrail_core::graph::{Graph, MAX_SRC, NodeId};
use dinrail_core::hal::Query;
use dinrail_core::hal::host::Worker;
use dinrail_core::op::Sources;
use dinrail_core::program::Program;

/// The kernels of a graph of `N` nodes.
#[derive(Debug)]
pub struct Fixed<const N: usize> {
    graph: Graph<'static>,
    kernels: [Option<Kernel>; N],
    scratch: usize,
}

impl<const N: usize> Fixed<N> {
    /// Looks up the kernel of every node. Meant for a `static`; on bare metal the level must be one that the crate was
    /// compiled for.
    ///
    /// # Errors
    /// [`Error::Unsupported`] with the first node that the level has no kernel for; [`Error::Mismatch`] for a graph
    /// that hasn't `N` nodes.
    pub const fn new(graph: Graph<'static>, level: Level) -> Result<Self> {
        if graph.len() != N {
            return Err(Error::Mismatch { graph: graph.len(), plan: N });
        }
        let nodes = graph.nodes();
        let mut table = [None; N];
        let mut scratch = 0;
        let mut i = 0;
        while i < N {
            let node = &nodes[i];
            if !node.op.is_view() && !node.desc.is_empty() {
                let mut sources = Sources::NONE;
                let mut k = 0;
                while k < MAX_SRC {
                    if !node.src[k].is_none() {
                        sources = sources.with(k, nodes[node.src[k].index()].desc);
                    }
                    k += 1;
                }
                let query = Query { op: &node.op, dst: &node.desc, src: &sources };
                table[i] = kernels::resolve(level, &query);
                if table[i].is_none() {
                    return Err(Error::Unsupported { node: NodeId(i as u16), op: node.op.kind() });
                }
                let need = kernels::scratch(level, &query, 1);
                if need > scratch {
                    scratch = need;
                }
            }
            i += 1;
        }
        Ok(Self { graph, kernels: table, scratch })
    }

    /// Bytes of scratch memory that the plan must hold.
    pub const fn scratch(&self) -> usize {
        self.scratch
    }

    /// Whether a program computes the graph that this table is for.
    #[inline]
    fn is_for(&self, program: &Program<'_>) -> bool {
        let (own, other) = (self.graph.nodes(), program.graph().nodes());
        core::ptr::eq(own.as_ptr(), other.as_ptr()) && own.len() == other.len()
    }

    /// Computes a program of this very graph.
    ///
    /// # Errors
    /// [`Error::Mismatch`] for a program of another graph; what kernels report (a row number out of range).
    pub fn run(&self, program: &Program<'_>) -> Result<()> {
        let mut next = 0;
        while next < N {
            next = self.step(program, next)?;
        }
        Ok(())
    }

    /// Computes the first node from `next` on that needs computing; returns the node behind it. Done at `N`.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn step(&self, program: &Program<'_>, next: usize) -> Result<usize> {
        if !self.is_for(program) {
            return Err(Error::Mismatch { graph: program.graph().len(), plan: N });
        }
        for (i, kernel) in self.kernels.iter().enumerate().skip(next) {
            let Some(kernel) = kernel else { continue };
            let graph = self.graph;
            let id = NodeId(i as u16);
            let Some(node) = graph.node(id) else { break };
            let mut src = [None; MAX_SRC];
            for (to, from) in src.iter_mut().zip(node.src) {
                if let Some(source) = graph.node(from) {
                    *to = Some(Operand { desc: &source.desc, ptr: program.address(from)? });
                }
            }
            let (scratch, scratch_len) = program.scratch(self.scratch)?;
            let args = Args {
                op: &node.op,
                dst: Operand { desc: &node.desc, ptr: program.address(id)? },
                src,
                worker: &Worker::ALONE,
                scratch,
                scratch_len,
            };
            // SAFETY: the kernel was resolved for this node of this graph (`is_for`), at a level that the crate is
            // compiled for; `Program::new` has checked the memory, and buffers aren't shared between threads.
            unsafe { kernel(&args) }?;
            return Ok(i + 1);
        }
        Ok(N)
    }
}
