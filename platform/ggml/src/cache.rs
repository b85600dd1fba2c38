//! Translated graphs, kept in the stream that computes them.
//!
//! A program's number finds its translation with one comparison. A program that was made anew, with nodes, places and
//! memory as before (a caller that builds its program for each token), is found by comparing these, which takes some
//! nanoseconds a node; only what is different is translated.

use crate::abi;
use crate::graph::Translation;
use crate::stream::State;
use dinrail_core::Result;
use dinrail_core::graph::Node;
use dinrail_core::plan::Loc;
use dinrail_core::program::Program;

/// Most translations that a stream keeps: a prompt's and a token's graph in a few lengths, cut into sections.
const MOST: usize = 16;

/// What a slot is bound to, as far as a translation depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bound {
    /// Nothing.
    Nothing,
    /// A buffer of the library's, by its number.
    Ours { serial: u64, offset: usize },
    /// Host memory of somebody else.
    Host { start: usize, size: usize, offset: usize },
}

#[derive(Debug)]
struct Entry {
    id: u64,
    range: core::ops::Range<usize>,
    nodes: Vec<Node>,
    locs: Vec<Loc>,
    bound: Vec<Bound>,
    used: u64,
    translation: Translation,
}

#[derive(Debug)]
pub(crate) struct Cache {
    entries: Vec<Entry>,
    clock: u64,
}

impl Cache {
    pub(crate) const fn new() -> Self {
        Self { entries: Vec::new(), clock: 0 }
    }

    pub(crate) fn clear(&mut self) {
        self.entries.clear();
    }

    /// The program's graph; `None` when there is nothing to compute. `idle` waits until no graph is in use any more.
    pub(crate) fn graph(
        &mut self,
        state: &State,
        program: &Program<'_>,
        idle: impl FnOnce(),
    ) -> Result<Option<*mut abi::Graph>> {
        self.clock += 1;
        let (id, range) = (program.id(), program.range());
        if id != 0
            && let Some(e) = self.entries.iter_mut().find(|e| e.id == id && e.range == range)
        {
            e.used = self.clock;
            return e.translation.graph(program);
        }
        let bound = Translation::bound(state, program);
        let same = |e: &&mut Entry| {
            e.range == range
                && e.bound == bound
                && e.locs == program.plan().locs()
                && e.nodes == program.graph().nodes()
        };
        if let Some(e) = self.entries.iter_mut().find(same) {
            (e.id, e.used) = (id, self.clock);
            return e.translation.graph(program);
        }
        if self.entries.len() >= MOST {
            let oldest = self.entries.iter().enumerate().min_by_key(|(_, e)| e.used);
            if let Some((i, _)) = oldest {
                idle();
                self.entries.swap_remove(i);
            }
        }
        let translation = Translation::new(state, program)?;
        self.entries.push(Entry {
            id,
            range,
            nodes: program.graph().nodes().to_vec(),
            locs: program.plan().locs().to_vec(),
            bound,
            used: self.clock,
            translation,
        });
        self.entries.last().map_or(Ok(None), |e| e.translation.graph(program))
    }
}
