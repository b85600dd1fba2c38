//! The scheduler: one graph on several devices.
//!
//! [`Scheduler::split`] takes a graph and gives every node a device, by these rules in this order:
//!
//! 1. what the caller asked for with [`wish`](Scheduler::wish);
//! 2. where a node writes: an operation whose result lies in a bound slot runs where that slot's memory can be used;
//! 3. where its weights are (or, with [`Options::offload`], on a device that says it wants this operation even though
//!    its weights lie elsewhere);
//! 4. where its neighbours run: a device that is not the last one spreads over the nodes next to it that it
//!    supports, first forwards, then backwards;
//! 5. on the first device that supports it and can use its sources, else on the first that supports it.
//!
//! Consecutive nodes of one device form a split. A tensor that a split reads and its device can't reach is copied, once,
//! by a *transfer*. The caller's graph is never changed: the scheduler lays down an expanded graph of its own, with
//! transfers as nodes, and plans one arena per device for it. What all this costs in memory is known before anything
//! is allocated. [`Ready::run`] then does it as often as wanted.
//!
//! Storage is the caller's; nothing here allocates.

mod assign;
mod expand;
mod run;
#[cfg(test)]
mod tests;

pub use run::Ready;

use crate::error::{Error, Result, What};
use crate::graph::{Graph, Node, NodeId};
use crate::hal::{BufferType, Stream};
use crate::plan::{Loc, Plan, Summary, Work};
use crate::program::Binding;

/// Most devices that one scheduler can use.
pub const MAX_TARGETS: usize = 16;

/// The arena of target `t` is bound to slot `ARENAS + t`; the caller's own slots are below.
pub const ARENAS: u8 = 200;

/// How to schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Whether a device may take operations whose weights lie in host memory when it asks for them.
    pub offload: bool,
    /// Alignment of tensors in every arena, in bytes.
    pub align: usize,
    /// Whether results may take over a source's memory.
    pub in_place: bool,
}

impl Options {
    /// Offload, 64-byte alignment, in place.
    pub const DEFAULT: Self = Self { offload: true, align: 64, in_place: true };
}

impl Default for Options {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// What the scheduler keeps for each node.
#[derive(Clone, Copy, Debug)]
pub struct Info {
    /// Target of a node of the caller's graph; `NOBODY` while undecided.
    target: u8,
    /// What the caller asked for.
    wish: u8,
    /// Whether the target may still be changed by a later rule.
    fixed: bool,
    /// Node of the caller's graph whose memory this one's data is part of.
    root: u16,
    /// The node in the expanded graph.
    mapped: u16,
    /// Its copy for each target in the expanded graph.
    copies: [u16; MAX_TARGETS],
}

impl Info {
    /// Unused.
    pub const EMPTY: Self = Self {
        target: NOBODY,
        wish: NOBODY,
        fixed: false,
        root: 0,
        mapped: u16::MAX,
        copies: [u16::MAX; MAX_TARGETS],
    };
}

pub(crate) const NOBODY: u8 = u8::MAX;

/// Consecutive nodes of the expanded graph that one device computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Split {
    /// Index of the target.
    pub target: u8,
    /// First transfer of the split in the expanded graph; transfers end where the computation starts.
    pub transfers: u16,
    /// First node that is computed.
    pub first: u16,
    /// One past the last node that is computed.
    pub end: u16,
}

/// Memory that the scheduler works in. Nodes, arenas, work and locs need room for the graph and its transfers; info
/// for the graph.
#[derive(Debug)]
pub struct Storage<'s> {
    /// The expanded graph.
    pub nodes: &'s mut [Node],
    /// Target of each node of the expanded graph.
    pub targets: &'s mut [u8],
    /// For the planner.
    pub work: &'s mut [Work],
    /// Where everything lies.
    pub locs: &'s mut [Loc],
    /// One entry per node of the caller's graph.
    pub info: &'s mut [Info],
    /// The splits.
    pub splits: &'s mut [Split],
}

/// Splits graphs over several devices.
#[derive(Debug)]
pub struct Scheduler<'a, 's> {
    streams: &'a [&'a Stream],
    storage: Storage<'s>,
    options: Options,
    /// Sizes after a successful `split`.
    nodes: usize,
    splits: usize,
    summaries: [Summary; MAX_TARGETS],
}

impl<'a, 's> Scheduler<'a, 's> {
    /// A scheduler over these streams, first choice first. The last one should be a CPU: inputs start there.
    ///
    /// # Errors
    /// [`Error::Invalid`] for no stream at all; [`Error::Full`] for more than [`MAX_TARGETS`].
    pub fn new(streams: &'a [&'a Stream], storage: Storage<'s>, options: Options) -> Result<Self> {
        if streams.is_empty() {
            return Err(Error::Invalid { what: "number of devices", value: 0 });
        }
        if streams.len() > MAX_TARGETS {
            return Err(Error::Full { what: What::Splits, need: streams.len(), have: MAX_TARGETS });
        }
        let mut this = Self {
            streams,
            storage,
            options,
            nodes: 0,
            splits: 0,
            summaries: [Summary::default(); MAX_TARGETS],
        };
        this.reset();
        Ok(this)
    }

    /// Forgets the last split. Wishes stay.
    pub fn reset(&mut self) {
        for info in self.storage.info.iter_mut() {
            *info = Info { wish: info.wish, ..Info::EMPTY };
        }
        self.nodes = 0;
        self.splits = 0;
        self.summaries = [Summary::default(); MAX_TARGETS];
    }

    /// Asks for a node to be computed on target `target`, or takes the wish back with `None`. Counts from the next
    /// [`split`](Self::split) on.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a target that isn't there; [`Error::Full`] for a node past the storage.
    pub fn wish(&mut self, node: NodeId, target: Option<usize>) -> Result<()> {
        let have = self.storage.info.len();
        let info = self.storage.info.get_mut(node.index()).ok_or(Error::Full {
            what: What::Nodes,
            need: node.index() + 1,
            have,
        })?;
        info.wish = match target {
            None => NOBODY,
            Some(t) if t < self.streams.len() => t as u8,
            Some(t) => return Err(Error::Invalid { what: "target", value: t as i64 }),
        };
        Ok(())
    }

    /// Takes back all wishes.
    pub fn clear_wishes(&mut self) {
        for info in self.storage.info.iter_mut() {
            info.wish = NOBODY;
        }
    }

    /// Gives every node of `graph` a device and plans the devices' arenas. `bindings[i]` is slot `i` of the graph; slot
    /// 0 (the arena) is not looked at. Nothing is allocated or computed.
    ///
    /// # Errors
    /// [`Error::Unsupported`] with the first node that no device can compute (see
    /// [`explain`](Self::explain)), or whose wish can't be met; [`Error::Unbound`]; [`Error::Full`] with what the
    /// storage lacks. The scheduler can be used again afterwards.
    pub fn split(&mut self, graph: Graph<'_>, bindings: &[Binding<'_>]) -> Result<()> {
        self.reset();
        let need = graph.len();
        let have = self.storage.info.len();
        if have < need {
            return Err(Error::Full { what: What::Nodes, need, have });
        }
        assign::assign(graph, bindings, self.streams, &self.options, self.storage.info)?;
        let done = expand::expand(graph, bindings, self.streams, &self.options, &mut self.storage)?;
        (self.nodes, self.splits, self.summaries) = (done.nodes, done.splits, done.summaries);
        Ok(())
    }

    /// Why nodes go where they go: for each target, whether it supports node `id` of `graph`.
    pub fn explain(&self, graph: Graph<'_>, id: NodeId, mut each: impl FnMut(&Stream, bool)) {
        for s in self.streams {
            each(s, assign::supports(graph, id, s));
        }
    }

    /// The splits, in order.
    pub fn splits(&self) -> &[Split] {
        self.storage.splits.get(..self.splits).unwrap_or(&[])
    }

    /// The expanded graph: the caller's nodes and the transfers. A transfer is a [`Dup`](crate::op::Op::Dup) before
    /// the first node of its split.
    pub fn expanded(&self) -> Graph<'_> {
        Graph::trusted(self.storage.nodes.get(..self.nodes).unwrap_or(&[]))
    }

    /// The target of a node of the caller's graph, once it is split.
    pub fn target(&self, node: NodeId) -> Option<usize> {
        let t = self.storage.info.get(node.index())?.target;
        (t != NOBODY).then_some(usize::from(t))
    }

    /// The node of the expanded graph that stands for a node of the caller's graph: for setting inputs and reading
    /// outputs through [`Ready::program`].
    pub fn node(&self, node: NodeId) -> NodeId {
        self.storage.info.get(node.index()).map_or(NodeId::NONE, |i| NodeId(i.mapped))
    }

    /// Bytes that the arena of a target must have; 0 for one that isn't used.
    pub fn arena_size(&self, target: usize) -> usize {
        self.summaries.get(target).map_or(0, |s| s.arena)
    }

    /// What the plan of a target's arena costs.
    pub fn summary(&self, target: usize) -> Summary {
        self.summaries.get(target).copied().unwrap_or_default()
    }

    /// The kind of memory that a target's arena must be.
    pub fn arena_type(&self, target: usize) -> Option<&'static dyn BufferType> {
        self.streams.get(target).map(|s| s.device().buffer_type())
    }

    /// Joins the split graph with memory. `bindings[i]` is slot `i` as it was for [`split`](Self::split), and slot
    /// `ARENAS + t` the arena of target `t`.
    ///
    /// # Errors
    /// As [`Program::new`](crate::program::Program::new); [`Error::Invalid`] if nothing was split.
    pub fn bind<'r>(&'r self, bindings: &'r [Binding<'r>]) -> Result<Ready<'r>> {
        if self.nodes == 0 {
            return Err(Error::Invalid { what: "number of scheduled nodes", value: 0 });
        }
        let locs = self.storage.locs.get(..self.nodes).unwrap_or(&[]);
        let plan = Plan::from_parts(locs, Summary::default());
        Ready::new(
            crate::program::Program::new(self.expanded(), plan, bindings)?,
            self.streams,
            self.splits(),
            &self.summaries,
            self.storage.targets,
        )
    }
}
