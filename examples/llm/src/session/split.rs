//! A model on several devices, each with layers of its own, through core's scheduler.
//!
//! A [`Placement`] says which device has which layer. [`Memory`] plans the graphs for that before anything is allocated,
//! then copies to each device the weights of its layers (those that it can't use where the file lies) and gives it the
//! cache of its layers. A [`Session`] evaluates tokens like the one on a single device; batches of a prompt overlap where
//! the devices can.

mod graph;
mod memory;
mod placement;

pub use memory::{Memory, Shown, Sizes};
pub use placement::Placement;

use super::{Error, Evaluate, Next, check, inputs};
use crate::model::{Nodes, Shape};
use dinrail_core::graph::NodeId;
use dinrail_core::hal::Stream;
use dinrail_core::program::Binding;
use dinrail_core::sched::{Ready, Schedule};
use graph::{Family, Made, Rooms};
use std::vec;
use std::vec::Vec;

/// A conversation with a model on several devices.
#[derive(Debug)]
pub struct Session<'s> {
    streams: &'s [&'s Stream],
    family: &'s Family,
    user: Vec<Binding<'s>>,
    arenas: Vec<Binding<'s>>,
    one: Ready<'s>,
    one_nodes: Nodes,
    many: Option<&'s mut Rooms>,
    shape: Shape,
    used: usize,
    vocab: usize,
}

/// The same nodes in the expanded graph.
fn mapped(nodes: &Nodes, schedule: &Schedule<'_>) -> Nodes {
    let of = |id: NodeId| if id.is_none() { id } else { schedule.node(id) };
    Nodes {
        tokens: of(nodes.tokens),
        positions: of(nodes.positions),
        kv_index: of(nodes.kv_index),
        mask: of(nodes.mask),
        out_rows: of(nodes.out_rows),
        logits: of(nodes.logits),
    }
}

/// Writes the inputs of the next run and queues it.
fn queue(ready: &mut Ready<'_>, nodes: &Nodes, tokens: &[u32], past: usize) -> Result<(), Error> {
    inputs::fill(ready.begin()?, nodes, tokens, past)?;
    Ok(ready.run()?)
}

impl<'s> Session<'s> {
    /// What one token's graph was split into.
    pub const fn schedule(&self) -> &Schedule<'s> {
        self.one.schedule()
    }

    /// Queues as many whole batches as there are, and at the end the rest of the tokens as one. Returns how many are done.
    fn batches(
        &mut self,
        tokens: &[u32],
        logits: &mut [f32],
        progress: &mut dyn FnMut(usize) -> Next,
    ) -> Result<usize, Error> {
        let Some(rooms) = self.many.as_deref_mut() else { return Ok(0) };
        let (n, used) = (self.shape.tokens.min(tokens.len()), self.used);
        if n < 2 {
            return Ok(0);
        }
        let Made { mut scheduler, graph, nodes, .. } =
            self.family.scheduler(self.streams, rooms, &self.shape.batch(n))?;
        scheduler.split(graph, &self.user)?;
        let schedule = scheduler.schedule()?;
        let mut room = vec![Binding::NONE; schedule.bindings()];
        let mut ready = schedule.bind(&self.user, &self.arenas, &mut room)?;
        let nodes = mapped(&nodes, &schedule);
        let mut done = 0;
        for batch in tokens.chunks_exact(n) {
            let queued = queue(&mut ready, &nodes, batch, used + done);
            if queued.is_err() {
                // Nothing of it may be under way when its memory is used again.
                let _ = ready.synchronize();
                let _ = ready.begin();
            }
            queued?;
            done += n;
            if progress(done) == Next::Stop {
                break;
            }
        }
        ready.synchronize()?;
        if done == tokens.len() {
            ready.program().get_f32(nodes.logits, logits)?;
        }
        Ok(done)
    }
}

impl Evaluate for Session<'_> {
    fn eval_with(
        &mut self,
        tokens: &[u32],
        logits: &mut [f32],
        progress: &mut dyn FnMut(usize) -> Next,
    ) -> Result<(), Error> {
        check(tokens, logits.len(), self.vocab, self.used, self.context())?;
        let mut rest = tokens;
        while !rest.is_empty() {
            let before = tokens.len() - rest.len();
            let mut stop = false;
            let mut tell = |done: usize| {
                let next = progress(before + done);
                stop |= next == Next::Stop;
                next
            };
            let done = match self.batches(rest, logits, &mut tell)? {
                0 => {
                    let one = rest.get(..1).unwrap_or(rest);
                    queue(&mut self.one, &self.one_nodes, one, self.used)?;
                    self.one.synchronize()?;
                    if rest.len() == 1 {
                        self.one.program().get_f32(self.one_nodes.logits, logits)?;
                    }
                    tell(1);
                    1
                }
                n => n,
            };
            self.used += done;
            rest = rest.get(done..).unwrap_or(&[]);
            if stop && !rest.is_empty() {
                return Err(Error::Core(dinrail_core::Error::Cancelled));
            }
        }
        Ok(())
    }

    fn used(&self) -> usize {
        self.used
    }

    fn context(&self) -> usize {
        self.shape.cells
    }

    fn vocab(&self) -> usize {
        self.vocab
    }

    fn keep(&mut self, n: usize) {
        self.used = self.used.min(n);
    }
}
