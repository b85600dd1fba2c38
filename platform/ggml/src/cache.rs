//! Translated graphs, kept in the stream that computes them.
//!
//! A program's number finds its translation with a comparison or two. A program that was made anew, with nodes, places
//! and memory as before (a caller that builds its program for each token), is found by comparing these, which takes some
//! nanoseconds a node; only what is different is translated. The sections that a scheduler cuts a program into are
//! translations of their own that share one copy of what they are compared by.

use crate::abi;
use crate::graph::Translation;
use crate::stream::State;
use core::ops::Range;
use core::sync::atomic::{AtomicU64, Ordering};
use dinrail_core::Result;
use dinrail_core::graph::Node;
use dinrail_core::plan::Loc;
use dinrail_core::program::Program;
use std::sync::Arc;

/// Most translations that a stream keeps: a few graphs, each cut into many sections.
const MOST: usize = 512;

/// Most nodes in them, at about half a kilobyte each: callers that make another graph for each token get no use of old
/// ones.
const MOST_NODES: usize = 1 << 15;

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

/// What a translation was made of.
#[derive(Debug)]
struct Source {
    /// The number of the last program like this; 0 for none.
    id: AtomicU64,
    nodes: Vec<Node>,
    locs: Vec<Loc>,
    bound: Vec<Bound>,
}

impl Source {
    fn is(&self, program: &Program<'_>, bound: &[Bound]) -> bool {
        self.bound == bound
            && self.locs == program.plan().locs()
            && self.nodes == program.graph().nodes()
    }
}

#[derive(Debug)]
struct Entry {
    source: Arc<Source>,
    range: Range<usize>,
    used: u64,
    translation: Translation,
}

impl Entry {
    fn is(&self, id: u64, range: &Range<usize>) -> bool {
        self.range == *range && self.source.id.load(Ordering::Relaxed) == id
    }
}

#[derive(Debug)]
pub(crate) struct Cache {
    entries: Vec<Entry>,
    clock: u64,
    /// Where the next one was found last time: sections come in the same order each time.
    next: usize,
}

impl Cache {
    pub(crate) const fn new() -> Self {
        Self { entries: Vec::new(), clock: 0, next: 0 }
    }

    pub(crate) fn clear(&mut self) {
        self.entries.clear();
    }

    /// The program's graph; `None` when there is nothing to compute. `idle` waits until no graph is in use any more.
    ///
    /// # Errors
    /// Those of translating and of the program's row numbers.
    pub(crate) fn graph(
        &mut self,
        state: &State,
        program: &Program<'_>,
        idle: impl FnOnce(),
    ) -> Result<Option<*mut abi::Graph>> {
        self.clock += 1;
        let at = match self.find(program) {
            Some(at) => at,
            None => {
                let source = self.source(state, program);
                match self.find(program) {
                    Some(at) => at,
                    None => self.add(state, program, source, idle)?,
                }
            }
        };
        self.next = if at + 1 < self.entries.len() { at + 1 } else { 0 };
        let Some(e) = self.entries.get_mut(at) else { return Ok(None) };
        e.used = self.clock;
        e.translation.graph(program)
    }

    /// The translation of a program of this number.
    fn find(&self, program: &Program<'_>) -> Option<usize> {
        let (id, range) = (program.id(), program.range());
        if id == 0 {
            return None;
        }
        if self.entries.get(self.next).is_some_and(|e| e.is(id, &range)) {
            return Some(self.next);
        }
        self.entries.iter().position(|e| e.is(id, &range))
    }

    /// What the program is compared by, which gets its number.
    fn source(&self, state: &State, program: &Program<'_>) -> Arc<Source> {
        let bound = Translation::bound(state, program);
        let known = self.entries.iter().map(|e| &e.source).find(|s| s.is(program, &bound));
        let source = match known {
            Some(s) => s.clone(),
            None => Arc::new(Source {
                id: AtomicU64::new(0),
                nodes: program.graph().nodes().to_vec(),
                locs: program.plan().locs().to_vec(),
                bound,
            }),
        };
        source.id.store(program.id(), Ordering::Relaxed);
        source
    }

    fn add(
        &mut self,
        state: &State,
        program: &Program<'_>,
        source: Arc<Source>,
        idle: impl FnOnce(),
    ) -> Result<usize> {
        // Where programs have no numbers, what is compared finds the translation.
        let same = |e: &Entry| Arc::ptr_eq(&e.source, &source) && e.range == program.range();
        if let Some(at) = self.entries.iter().position(same) {
            return Ok(at);
        }
        let full = |all: &[Entry]| {
            let nodes: usize = all.iter().map(|e| e.translation.nodes()).sum();
            all.len() >= MOST || nodes + program.range().len() > MOST_NODES
        };
        if full(&self.entries) {
            idle();
        }
        while full(&self.entries)
            && let Some((i, _)) = self.entries.iter().enumerate().min_by_key(|(_, e)| e.used)
        {
            self.entries.swap_remove(i);
        }
        let translation = Translation::new(state, program)?;
        let range = program.range();
        self.entries.push(Entry { source, range, used: self.clock, translation });
        Ok(self.entries.len() - 1)
    }
}
