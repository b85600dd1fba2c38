//! Running what was split.

use super::{ARENAS, Split};
use crate::error::{Error, Result};
use crate::graph::NodeId;
use crate::hal::{Span, Stream};
use crate::op::Op;
use crate::plan::Summary;
use crate::program::Program;

/// A split graph with its memory, to be run any number of times.
#[derive(Clone, Copy, Debug)]
pub struct Ready<'r> {
    program: Program<'r>,
    streams: &'r [&'r Stream],
    splits: &'r [Split],
    summaries: &'r [Summary],
    targets: &'r [u8],
}

impl<'r> Ready<'r> {
    pub(super) fn new(
        program: Program<'r>,
        streams: &'r [&'r Stream],
        splits: &'r [Split],
        summaries: &'r [Summary],
        targets: &'r [u8],
    ) -> Result<Self> {
        let this = Self { program, streams, splits, summaries, targets };
        for split in splits {
            let s = summaries.get(usize::from(split.target)).copied().unwrap_or_default();
            let binding = program.bindings().get(usize::from(ARENAS + split.target));
            let size = binding
                .and_then(|b| b.buffer().map(|x| x.size().saturating_sub(b.offset())))
                .unwrap_or(0);
            if s.arena > size {
                return Err(Error::Full {
                    what: crate::error::What::Arena,
                    need: s.arena,
                    have: size,
                });
            }
        }
        Ok(this)
    }

    /// The expanded graph with its memory: set inputs and read outputs here, by the numbers that
    /// [`Scheduler::node`](super::Scheduler::node) gives.
    pub const fn program(&self) -> &Program<'r> {
        &self.program
    }

    fn section(&self, split: &Split, first: u16, end: u16) -> Program<'r> {
        let summary = self.summaries.get(usize::from(split.target)).copied().unwrap_or_default();
        self.program.section(first, end, ARENAS + split.target, summary)
    }

    /// Queues everything: for each split its transfers, then its nodes.
    ///
    /// # Errors
    /// What the devices report. Everything can be run again afterwards.
    pub fn run(&self) -> Result<()> {
        for split in self.splits {
            let stream = self.transfers(split)?;
            stream.compute(&self.section(split, split.first, split.end))?;
        }
        Ok(())
    }

    /// Runs node by node: `look` is called with each node of the expanded graph that `wanted` asks for, when its data is
    /// there, and stops the run by returning `false`.
    ///
    /// # Errors
    /// [`Error::Cancelled`] when stopped; what the devices report.
    pub fn run_watched(
        &self,
        mut wanted: impl FnMut(NodeId) -> bool,
        mut look: impl FnMut(&Program<'r>, NodeId) -> bool,
    ) -> Result<()> {
        for split in self.splits {
            let stream = self.transfers(split)?;
            let mut from = split.first;
            for i in split.first..split.end {
                let id = NodeId(i);
                if !wanted(id) {
                    continue;
                }
                stream.compute(&self.section(split, from, i + 1))?;
                stream.synchronize()?;
                from = i + 1;
                if !look(&self.program, id) {
                    return Err(Error::Cancelled);
                }
            }
            if from < split.end {
                stream.compute(&self.section(split, from, split.end))?;
            }
        }
        self.synchronize()
    }

    /// Waits until everything queued is done, on every device.
    ///
    /// # Errors
    /// The first thing that went wrong; every stream is waited for in any case.
    pub fn synchronize(&self) -> Result<()> {
        let mut result = Ok(());
        for s in self.streams {
            result = result.and(s.synchronize());
        }
        result
    }

    fn transfers(&self, split: &Split) -> Result<&'r Stream> {
        let stream = *self.streams.get(usize::from(split.target)).ok_or(Error::NotFound)?;
        for i in split.transfers..split.first {
            let id = NodeId(i);
            let Some(node) = self.program.graph().node(id) else { continue };
            // Views that were laid down early stand between transfers.
            let (Some(source), false) = (node.source(0), node.op.is_view()) else { continue };
            if node.desc.is_empty() {
                continue;
            }
            let from = self.owner(source).unwrap_or(stream);
            let (Some((a, at)), Some((b, to))) =
                (self.program.place(source), self.program.place(id))
            else {
                return Err(Error::NotFound);
            };
            let desc = &node.desc;
            stream.copy(from, (a, Span { desc, offset: at }), (b, Span { desc, offset: to }))?;
        }
        self.wait_for_others(split)?;
        Ok(stream)
    }

    /// What a split reads from another device's memory without a copy must be finished first.
    fn wait_for_others(&self, split: &Split) -> Result<()> {
        let mut waited = 0u16;
        for i in split.first..split.end {
            let Some(node) = self.program.graph().node(NodeId(i)) else { continue };
            for s in node.src.iter().take_while(|s| !s.is_none()) {
                let t = self.targets.get(s.index()).copied().unwrap_or(split.target);
                let made = self.program.graph().node(*s).is_some_and(|n| n.op != Op::None);
                if made && t != split.target && waited & (1 << (t % 16)) == 0 {
                    waited |= 1 << (t % 16);
                    if let Some(other) = self.streams.get(usize::from(t)) {
                        other.synchronize()?;
                    }
                }
            }
        }
        Ok(())
    }

    /// The stream of the device that made a node's data.
    fn owner(&self, id: NodeId) -> Option<&'r Stream> {
        let t = self.targets.get(id.index())?;
        self.streams.get(usize::from(*t)).copied()
    }
}
