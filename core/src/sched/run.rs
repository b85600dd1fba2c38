//! Running what was split.

use super::{MAX_COPIES, MAX_TARGETS, Schedule, Split};
use crate::error::{Error, Result};
use crate::graph::NodeId;
use crate::hal::{Event, Prepared, Span, Stream};
use crate::program::Program;

/// A split graph with its memory, to be run any number of times.
#[derive(Debug)]
pub struct Ready<'r> {
    schedule: Schedule<'r>,
    /// The same program with each place of inputs and transfers.
    programs: [Program<'r>; MAX_COPIES],
    current: usize,
    /// Whether a run with each place was queued since it was last waited for.
    queued: [bool; MAX_COPIES],
    /// A run that failed half-way: what it queued is waited for before anything else.
    broken: bool,
    /// The end of the run with each place, on each target that has events.
    events: [[Option<Event>; MAX_COPIES]; MAX_TARGETS],
    /// Targets that compute something, as bits.
    used: u16,
}

impl<'r> Ready<'r> {
    pub(super) fn new(
        schedule: Schedule<'r>,
        program: impl Fn(usize) -> Result<Program<'r>>,
    ) -> Result<Self> {
        let first = program(0)?;
        let mut programs = [first; MAX_COPIES];
        for (copy, p) in programs.iter_mut().enumerate().take(schedule.copies).skip(1) {
            *p = program(copy)?;
        }
        let used = schedule.splits.iter().fold(0u16, |m, s| m | 1 << (s.target % 16));
        let mut events = [const { [const { None }; MAX_COPIES] }; MAX_TARGETS];
        if schedule.copies > 1 {
            for (t, (stream, events)) in schedule.streams.iter().zip(&mut events).enumerate() {
                for event in events.iter_mut().take(schedule.copies) {
                    if used & (1 << t) != 0 {
                        *event = match Event::new(stream.device()) {
                            Ok(e) => Some(e),
                            Err(Error::NotOffered { .. }) => None,
                            Err(e) => return Err(e),
                        };
                    }
                }
            }
        }
        let queued = [false; MAX_COPIES];
        Ok(Self { schedule, programs, current: 0, queued, broken: false, events, used })
    }

    /// What is run.
    pub const fn schedule(&self) -> &Schedule<'r> {
        &self.schedule
    }

    /// The expanded graph with its memory: set inputs and read outputs here, by the numbers that
    /// [`Schedule::node`] gives. With several copies, the place that the next [`run`](Self::run) uses.
    pub fn program(&self) -> &Program<'r> {
        let [first, ..] = &self.programs;
        self.programs.get(self.current).unwrap_or(first)
    }

    /// Turns to the next place of inputs and transfers, and waits until the run that had it is done: only then may inputs
    /// be written. With one copy, that is the last run.
    ///
    /// # Errors
    /// What went wrong in that run. It can be called again.
    pub fn begin(&mut self) -> Result<&Program<'r>> {
        if self.broken {
            // The error was told when it came.
            let _ = self.synchronize();
            self.broken = false;
            self.queued = [false; MAX_COPIES];
        }
        let next = (self.current + 1) % self.schedule.copies.max(1);
        if self.queued.get(next).copied().unwrap_or(false) {
            self.wait(next)?;
        }
        if let Some(q) = self.queued.get_mut(next) {
            *q = false;
        }
        self.current = next;
        Ok(self.program())
    }

    fn wait(&self, copy: usize) -> Result<()> {
        let mut result = Ok(());
        for (t, (stream, events)) in self.schedule.streams.iter().zip(&self.events).enumerate() {
            if self.used & (1 << t) != 0 {
                result = result.and(match events.get(copy) {
                    Some(Some(event)) => event.synchronize(),
                    _ => stream.synchronize(),
                });
            }
        }
        result
    }

    /// The program of one split: for preparing it with [`Stream::plan`], one for each split and copy.
    pub fn section(&self, split: usize, copy: usize) -> Option<(&'r Stream, Program<'r>)> {
        let split = self.schedule.splits.get(split)?;
        let stream = *self.schedule.streams.get(usize::from(split.target))?;
        let program = self.programs.get(copy)?;
        Some((stream, self.part(program, split, split.first, split.end)))
    }

    fn part(&self, program: &Program<'r>, split: &Split, first: u16, end: u16) -> Program<'r> {
        let slot = self.schedule.slots as u8 + split.target;
        program.section(first, end, slot, self.schedule.summary(usize::from(split.target)))
    }

    /// Queues everything: for each split its transfers, then its nodes.
    ///
    /// # Errors
    /// What the devices report. Everything can be run again afterwards.
    pub fn run(&mut self) -> Result<()> {
        self.run_prepared(&[])
    }

    /// As [`run`](Self::run), with sections that were prepared: that of split `s` and copy `c` at `c * splits + s`. What
    /// isn't there is computed as it is.
    ///
    /// # Errors
    /// As `run`.
    pub fn run_prepared(&mut self, prepared: &[Option<Prepared<'_>>]) -> Result<()> {
        let splits = self.schedule.splits;
        let first = self.current * splits.len();
        self.queue(|this, program| {
            for (i, split) in splits.iter().enumerate() {
                let stream = this.transfers(program, split)?;
                match prepared.get(first + i) {
                    Some(Some(p)) => p.compute()?,
                    _ => stream.compute(&this.part(program, split, split.first, split.end))?,
                }
            }
            Ok(())
        })
    }

    /// Runs node by node: `look` is called with each node of the caller's graph that `wanted` asks for, when its data is
    /// there (read it with [`Schedule::node`]'s number), and stops the run by returning `false`. Waits for the end.
    ///
    /// # Errors
    /// [`Error::Cancelled`] when stopped; what the devices report. Everything can be run again afterwards.
    pub fn run_watched(
        &mut self,
        mut wanted: impl FnMut(NodeId) -> bool,
        mut look: impl FnMut(&Program<'r>, NodeId) -> bool,
    ) -> Result<()> {
        let splits = self.schedule.splits;
        self.queue(|this, program| {
            for split in splits {
                let stream = this.transfers(program, split)?;
                let mut from = split.first;
                for i in split.first..split.end {
                    let id = this.schedule.origin(NodeId(i));
                    if !wanted(id) {
                        continue;
                    }
                    stream.compute(&this.part(program, split, from, i + 1))?;
                    stream.synchronize()?;
                    from = i + 1;
                    if !look(program, id) {
                        return Err(Error::Cancelled);
                    }
                }
                if from < split.end {
                    stream.compute(&this.part(program, split, from, split.end))?;
                }
            }
            Ok(())
        })?;
        self.synchronize()
    }

    /// One run: marks its end, or that it has none.
    fn queue(&mut self, f: impl FnOnce(&Self, &Program<'r>) -> Result<()>) -> Result<()> {
        if let Some(q) = self.queued.get_mut(self.current) {
            *q = true;
        }
        let program = *self.program();
        let result = f(self, &program).and_then(|()| self.mark());
        self.broken |= result.is_err();
        result
    }

    fn mark(&self) -> Result<()> {
        for (stream, events) in self.schedule.streams.iter().zip(&self.events) {
            if let Some(Some(event)) = events.get(self.current) {
                stream.record(event)?;
            }
        }
        Ok(())
    }

    /// Waits until everything queued is done, on every device.
    ///
    /// # Errors
    /// The first thing that went wrong; every stream is waited for in any case.
    pub fn synchronize(&self) -> Result<()> {
        let mut result = Ok(());
        for s in self.schedule.streams {
            result = result.and(s.synchronize());
        }
        result
    }

    fn transfers(&self, program: &Program<'r>, split: &Split) -> Result<&'r Stream> {
        let streams = self.schedule.streams;
        let stream = *streams.get(usize::from(split.target)).ok_or(Error::NotFound)?;
        if split.waits != 0 {
            for (t, other) in streams.iter().enumerate() {
                if split.waits & (1 << t) != 0 {
                    other.synchronize()?;
                }
            }
        }
        for i in split.transfers..split.first {
            let id = NodeId(i);
            let Some(node) = program.graph().node(id) else { continue };
            // Views that were laid down early stand between transfers.
            let (Some(source), false) = (node.source(0), node.op.is_view()) else { continue };
            if node.desc.is_empty() {
                continue;
            }
            let owner = self.schedule.target_of(source).and_then(|t| streams.get(t));
            let from = owner.copied().unwrap_or(stream);
            let (Some((a, at)), Some((b, to))) = (program.place(source), program.place(id)) else {
                return Err(Error::NotFound);
            };
            let desc = &node.desc;
            stream.copy(from, (a, Span { desc, offset: at }), (b, Span { desc, offset: to }))?;
        }
        Ok(stream)
    }
}
