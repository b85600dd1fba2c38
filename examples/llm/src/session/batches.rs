//! Graphs for several tokens at a time, built when they are needed in storage that is there from the start.

use super::{Error, inputs};
use crate::model::{Config, Nodes, Shape, Weights, build};
use dinrail_core::graph::{Builder, Graph, Node};
use dinrail_core::hal::Stream;
use dinrail_core::plan::{self, Loc, Plan, Summary, Work};
use dinrail_core::program::{Binding, Program};

/// Borrowed storage for one graph and its plan. [`Config::max_nodes`] entries of each are enough.
#[derive(Debug)]
pub struct Storage<'a> {
    /// The graph.
    pub nodes: &'a mut [Node],
    /// The planner's working memory.
    pub work: &'a mut [Work],
    /// The plan.
    pub locs: &'a mut [Loc],
}

/// Everything that is needed to build and run graphs of 2 to `batch` tokens.
#[derive(Debug)]
pub struct Batches<'a> {
    config: Config,
    weights: Weights<'a>,
    shape: Shape,
    align: usize,
    storage: Storage<'a>,
    bindings: &'a [Binding<'a>],
    arena: usize,
    planned: Option<(usize, Summary)>,
}

/// Builds the graph for `shape` in `nodes`.
pub(super) fn graph<'n>(
    config: &Config,
    weights: &Weights<'_>,
    shape: &Shape,
    nodes: &'n mut [Node],
) -> Result<(Graph<'n>, Nodes), Error> {
    config.check_nodes()?;
    let mut b = Builder::new(nodes);
    let ids = build(config, weights, shape, &mut b);
    Ok((b.finish()?, ids))
}

/// Plans with the scratch memory that the stream asks for.
pub(super) fn summary(
    stream: &Stream,
    graph: Graph<'_>,
    align: usize,
    work: &mut [Work],
    locs: &mut [Loc],
) -> Result<Summary, Error> {
    let options = plan::Options { align, scratch: stream.scratch(graph), in_place: true };
    Ok(plan::plan(graph, &options, work, locs)?)
}

impl<'a> Batches<'a> {
    /// `shape.tokens` is the largest batch. `bindings` are those of the one-token program; its arena has `arena`
    /// bytes. `align` is the alignment that the device's memory asks for.
    pub const fn new(
        config: Config,
        weights: Weights<'a>,
        shape: Shape,
        storage: Storage<'a>,
        bindings: &'a [Binding<'a>],
        arena: usize,
        align: usize,
    ) -> Self {
        let shape = Shape { outputs: 1, ..shape };
        Batches { config, weights, shape, align, storage, bindings, arena, planned: None }
    }

    /// The tokens of the next batch, and whether they are the last.
    pub(super) fn part<'t>(&self, tokens: &'t [u32]) -> (&'t [u32], bool) {
        match tokens.get(..self.shape.tokens) {
            Some(part) => (part, part.len() == tokens.len()),
            None => (tokens, true),
        }
    }

    /// Evaluates `tokens` at positions from `past` on. Returns how many were done: all, or none where the arena is
    /// too small for a graph of so many.
    pub(super) fn run(
        &mut self,
        stream: &Stream,
        tokens: &[u32],
        past: usize,
        logits: Option<&mut [f32]>,
    ) -> Result<usize, Error> {
        let n = tokens.len();
        if n < 2 {
            return Ok(0);
        }
        let shape = Shape { tokens: n, ..self.shape };
        let Storage { nodes, work, locs } = &mut self.storage;
        let (graph, ids) = graph(&self.config, &self.weights, &shape, nodes)?;
        let summary = match self.planned {
            Some((tokens, summary)) if tokens == n => summary,
            _ => {
                let summary = summary(stream, graph, self.align, work, locs)?;
                self.planned = Some((n, summary));
                summary
            }
        };
        if summary.arena > self.arena {
            return Ok(0);
        }
        let locs = locs.get(..graph.len()).unwrap_or(&[]);
        let program = Program::new(graph, Plan::from_parts(locs, summary), self.bindings)?;
        inputs::run(stream, &program, &ids, tokens, past, logits)?;
        Ok(n)
    }
}
