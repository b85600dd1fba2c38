//! Programs that are computed again and again: a stream keeps their command buffers.
//!
//! The first time, a program is recorded to be submitted once; the second time, to be submitted again and again; from
//! then on it is only submitted. A program is known by its number, or, if it was made anew, by having the nodes, places
//! and memory of one before.

use crate::buffer_type::piece;
use crate::context::Context;
use crate::recorder::Recorder;
use ash::vk;
use core::ops::Range;
use dinrail_core::error::Result;
use dinrail_core::graph::Node;
use dinrail_core::plan::Loc;
use dinrail_core::program::Program;

/// Launches of all kept programs of a stream, at most: each takes about 400 bytes.
const MOST_NODES: usize = 1 << 14;

/// Command buffers of a program, to be submitted any number of times.
#[derive(Default)]
pub struct Plan {
    recorders: Vec<Recorder>,
    /// What to submit.
    pub commands: Vec<vk::CommandBuffer>,
    /// What the program before the last change was recorded in, to be recorded anew.
    spare: Vec<Recorder>,
    /// The last submission of either.
    pub last: u64,
}

impl Plan {
    /// Records a program in the place of the one before, which stays if that fails.
    pub fn record(&mut self, context: &'static Context, program: &Program<'_>) -> Result<()> {
        context.settle(self.last);
        self.spare.iter_mut().for_each(Recorder::clear);
        let mut used = 0usize;
        for (id, node) in program.nodes() {
            let full = |r: &Recorder| !r.has_room();
            if used.checked_sub(1).and_then(|i| self.spare.get(i)).is_none_or(full) {
                if used == self.spare.len() {
                    self.spare.push(Recorder::new(context, true)?);
                }
                used += 1;
            }
            if let Some(r) = used.checked_sub(1).and_then(|i| self.spare.get_mut(i)) {
                r.node(program, id, node)?;
            }
        }
        let mut commands = Vec::with_capacity(used);
        for r in &mut self.spare {
            if r.end()? {
                commands.push(r.commands());
            }
        }
        self.commands = commands;
        std::mem::swap(&mut self.recorders, &mut self.spare);
        Ok(())
    }
}

/// What a program is known by.
struct Source {
    /// The number of the last program like this; 0 for none.
    id: u64,
    nodes: Vec<Node>,
    locs: Vec<Loc>,
    /// Number of the memory that each slot is bound to, and first byte in it.
    bound: Vec<Option<(u64, usize)>>,
    /// When it was last asked for.
    used: u64,
    /// Its parts: all of it, or what a scheduler made of it.
    parts: Vec<(Range<usize>, Option<Plan>)>,
}

impl Source {
    /// Launches that are kept.
    fn len(&self) -> usize {
        self.parts.iter().filter(|p| p.1.is_some()).map(|p| p.0.len()).sum()
    }

    /// Ready to be dropped: the queue is done with it.
    fn settle(&self, context: &Context) {
        let last = self.parts.iter().filter_map(|p| p.1.as_ref()).map(|p| p.last).max();
        context.settle(last.unwrap_or(0));
    }
}

/// The programs that a stream has met.
pub struct Kept {
    sources: Vec<Source>,
    most: usize,
    clock: u64,
}

impl Kept {
    /// Room for `most` programs; with 0, nothing is kept.
    pub const fn new(most: usize) -> Self {
        Self { sources: Vec::new(), most, clock: 0 }
    }

    /// The command buffers of a program that was met before; `None` the first time, and where it can't be kept.
    ///
    /// # Errors
    /// Those of recording.
    pub fn meet(
        &mut self,
        context: &'static Context,
        program: &Program<'_>,
    ) -> Result<Option<&mut Plan>> {
        if self.most == 0 {
            return Ok(None);
        }
        self.clock += 1;
        let Some(i) = self.source(context, program) else { return Ok(None) };
        let kept: usize = self.sources.iter().map(Source::len).sum();
        let Some(source) = self.sources.get_mut(i) else { return Ok(None) };
        source.used = self.clock;
        let range = program.range();
        let Some(part) = source.parts.iter().position(|p| p.0 == range) else {
            source.parts.push((range, None));
            return Ok(None);
        };
        let Some((_, plan)) = source.parts.get_mut(part) else { return Ok(None) };
        if plan.is_none() {
            if kept + range.len() > MOST_NODES {
                return Ok(None);
            }
            let mut fresh = Plan::default();
            fresh.record(context, program)?;
            *plan = Some(fresh);
        }
        Ok(plan.as_mut())
    }

    /// The source of a program, an old one or a new one.
    fn source(&mut self, context: &Context, program: &Program<'_>) -> Option<usize> {
        let id = program.id();
        if let Some(i) = self.sources.iter().position(|s| s.id == id && id != 0) {
            return Some(i);
        }
        let bound = program.bindings().iter().map(|b| {
            let Some(buffer) = b.buffer() else { return Some(None) };
            piece(buffer, context).ok().map(|p| Some((p.serial, b.offset())))
        });
        let bound = bound.collect::<Option<Vec<_>>>()?;
        let (nodes, locs) = (program.graph().nodes(), program.plan().locs());
        let same = |s: &Source| s.bound == bound && s.locs == locs && s.nodes == nodes;
        if let Some(i) = self.sources.iter().position(same) {
            if let Some(s) = self.sources.get_mut(i) {
                s.id = id;
            }
            return Some(i);
        }
        if self.sources.len() >= self.most
            && let Some(oldest) = (0..self.sources.len()).min_by_key(|i| self.sources[*i].used)
        {
            self.sources.swap_remove(oldest).settle(context);
        }
        let (nodes, locs) = (nodes.to_vec(), locs.to_vec());
        self.sources.push(Source { id, nodes, locs, bound, used: 0, parts: Vec::new() });
        Some(self.sources.len() - 1)
    }

    /// Memory is given back: drops the programs that use it.
    pub fn forget(&mut self, context: &Context, serial: u64) {
        let uses = |s: &Source| s.bound.iter().flatten().any(|b| b.0 == serial);
        self.sources.iter().filter(|s| uses(s)).for_each(|s| s.settle(context));
        self.sources.retain(|s| !uses(s));
    }

    /// Drops everything.
    pub fn clear(&mut self, context: &Context) {
        self.sources.iter().for_each(|s| s.settle(context));
        self.sources.clear();
    }
}
