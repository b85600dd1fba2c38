//! The scheduler: one graph on several devices.
//!
//! [`Scheduler::split`] takes a graph and gives every node a device, by these rules in this order:
//!
//! 1. what the caller asked for with [`wish`](Scheduler::wish);
//! 2. where a node writes: an operation whose result lies in a bound slot runs where that slot's memory can be used, and
//!    nowhere else, for what it wrote into a copy would be lost;
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
//! # Runs that overlap
//!
//! With [`Options::copies`] above 1, inputs and transfers have so many places each, and runs take them in turn: the inputs
//! of the next run are written and on their way while the one before is still being computed. [`Ready::begin`] waits,
//! with events where devices have them, until the run that had the next place is done with it.
//!
//! Storage is the caller's; nothing here allocates.

mod assign;
mod expand;
#[cfg(test)]
mod random;
mod run;
mod schedule;
#[cfg(test)]
mod tests;

pub use run::Ready;
pub use schedule::{Part, Schedule, Why};

use crate::error::{Error, Result, What};
use crate::graph::{Graph, Node, NodeId};
use crate::hal::{BufferType, Stream};
use crate::plan::{Loc, Summary, Work};
use crate::program::Binding;

/// Most devices that one scheduler can use.
pub const MAX_TARGETS: usize = 16;

/// Most places that inputs and transfers can have.
pub const MAX_COPIES: usize = 4;

/// How to schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Whether a device may take operations whose weights lie in host memory when it asks for them.
    pub offload: bool,
    /// Alignment of tensors in every arena, in bytes.
    pub align: usize,
    /// Whether results may take over a source's memory.
    pub in_place: bool,
    /// How many places inputs and transfers have, 1 to [`MAX_COPIES`]: so many runs can be under way at a time.
    pub copies: usize,
}

impl Options {
    /// Offload, 64-byte alignment, in place, one run at a time.
    pub const DEFAULT: Self = Self { offload: true, align: 64, in_place: true, copies: 1 };
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
    /// Targets whose operations read and write the memory that begins with this node, without a copy.
    readers: u16,
    writers: u16,
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
        readers: 0,
        writers: 0,
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
    /// Targets with which the split's target shares memory that one of them writes, as bits: it waits for them.
    pub waits: u16,
}

/// Memory that the scheduler works in. Nodes, arenas, origins, work and locs need room for the graph and its transfers; info
/// for the graph.
#[derive(Debug, Default)]
pub struct Storage<'s> {
    /// The expanded graph.
    pub nodes: &'s mut [Node],
    /// Arena of each node of the expanded graph.
    pub arenas: &'s mut [u8],
    /// For each node of the expanded graph, the one of the caller's graph that it stands for or is a copy of.
    pub origins: &'s mut [u16],
    /// For the planner.
    pub work: &'s mut [Work],
    /// Where everything lies.
    pub locs: &'s mut [Loc],
    /// One entry per node of the caller's graph.
    pub info: &'s mut [Info],
    /// The splits.
    pub splits: &'s mut [Split],
}

/// Storage of fixed size: `N` nodes with transfers, `S` splits. For tests and small machines; a program with a heap
/// makes its own [`Storage`].
#[derive(Debug)]
pub struct Room<const N: usize, const S: usize> {
    nodes: [Node; N],
    arenas: [u8; N],
    origins: [u16; N],
    work: [Work; N],
    locs: [Loc; N],
    info: [Info; N],
    splits: [Split; S],
}

impl<const N: usize, const S: usize> Room<N, S> {
    /// Unused.
    pub const fn new() -> Self {
        Self {
            nodes: [Node::EMPTY; N],
            arenas: [0; N],
            origins: [0; N],
            work: [Work::EMPTY; N],
            locs: [Loc::ZERO; N],
            info: [Info::EMPTY; N],
            splits: [Split { target: 0, transfers: 0, first: 0, end: 0, waits: 0 }; S],
        }
    }

    /// All of it.
    pub const fn storage(&mut self) -> Storage<'_> {
        Storage {
            nodes: &mut self.nodes,
            arenas: &mut self.arenas,
            origins: &mut self.origins,
            work: &mut self.work,
            locs: &mut self.locs,
            info: &mut self.info,
            splits: &mut self.splits,
        }
    }
}

impl<const N: usize, const S: usize> Default for Room<N, S> {
    fn default() -> Self {
        Self::new()
    }
}

/// What one target's memory is for.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Arena {
    /// Tensors and scratch, in the order of the plan.
    main: Summary,
    /// Where the first place of inputs and transfers begins, and how far apart they are; 0 for none.
    turning: usize,
    stride: usize,
    /// In all.
    bytes: usize,
}

/// Splits graphs over several devices.
#[derive(Debug)]
pub struct Scheduler<'a, 's> {
    streams: &'a [&'a Stream],
    storage: Storage<'s>,
    options: Options,
    /// What a successful `split` leaves.
    nodes: usize,
    origin_len: usize,
    splits: usize,
    slots: usize,
    arenas: [Arena; MAX_TARGETS],
    reserved: [usize; MAX_TARGETS],
}

impl<'a, 's> Scheduler<'a, 's> {
    /// A scheduler over these streams, first choice first. Inputs start on the last one, which should be a CPU; one that
    /// isn't works for graphs that need none.
    ///
    /// # Errors
    /// [`Error::Invalid`] for no stream at all, or for a number of copies that can't be; [`Error::Full`] for more than
    /// [`MAX_TARGETS`].
    pub fn new(streams: &'a [&'a Stream], storage: Storage<'s>, options: Options) -> Result<Self> {
        if streams.is_empty() {
            return Err(Error::Invalid { what: "number of devices", value: 0 });
        }
        if streams.len() > MAX_TARGETS {
            return Err(Error::Full { what: What::Splits, need: streams.len(), have: MAX_TARGETS });
        }
        if !(1..=MAX_COPIES).contains(&options.copies) {
            let value = i64::try_from(options.copies).unwrap_or(i64::MAX);
            return Err(Error::Invalid { what: "number of copies of a scheduler's inputs", value });
        }
        let mut this = Self {
            streams,
            storage,
            options,
            nodes: 0,
            origin_len: 0,
            splits: 0,
            slots: 0,
            arenas: [Arena::default(); MAX_TARGETS],
            reserved: [0; MAX_TARGETS],
        };
        this.clear_wishes();
        this.reset();
        Ok(this)
    }

    /// Forgets the last split and what was [reserved](Self::reserve). Wishes stay.
    pub fn reset(&mut self) {
        self.reserved = [0; MAX_TARGETS];
        self.forget();
    }

    fn forget(&mut self) {
        for info in self.storage.info.iter_mut() {
            *info = Info { wish: info.wish, ..Info::EMPTY };
        }
        (self.nodes, self.origin_len, self.splits, self.slots) = (0, 0, 0, 0);
        self.arenas = [Arena::default(); MAX_TARGETS];
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

    /// Whether target `target` has a kernel for a node.
    pub fn supports(&self, graph: Graph<'_>, node: NodeId, target: usize) -> bool {
        self.streams.get(target).is_some_and(|s| assign::supports(graph, node, s))
    }

    /// Gives every node of `graph` a device and plans the devices' arenas. `bindings[i]` is slot `i` of the graph; slot
    /// 0 (the arena) is not looked at. Nothing is allocated or computed.
    ///
    /// # Errors
    /// [`Error::Unsupported`] with the first node that no device can compute (see [`why`](Self::why)), whose wish can't be
    /// met, or which writes into older memory that no device with its operation reaches; [`Error::Unbound`];
    /// [`Error::Full`] with what the storage lacks; [`Error::Invalid`] for more slots than there are numbers. The
    /// scheduler can be used again afterwards.
    pub fn split(&mut self, graph: Graph<'_>, bindings: &[Binding<'_>]) -> Result<()> {
        self.forget();
        let need = graph.len();
        let have = self.storage.info.len();
        if have < need {
            return Err(Error::Full { what: What::Nodes, need, have });
        }
        // The arenas' slots lie behind the caller's.
        let slots = bindings.len().max(1);
        if slots + 2 * self.streams.len() > usize::from(u8::MAX) {
            return Err(Error::Invalid { what: "number of slots", value: slots as i64 });
        }
        assign::assign(graph, bindings, self.streams, &self.options, self.storage.info)?;
        let done = expand::expand(graph, bindings, self.streams, &self.options, &mut self.storage)?;
        (self.nodes, self.splits, self.arenas) = (done.nodes, done.splits, done.arenas);
        (self.origin_len, self.slots) = (need, slots);
        Ok(())
    }

    /// [`split`](Self::split) for the largest graph that will come: from here on [`arena_size`](Self::arena_size) gives no
    /// less than it needs, whatever is split later.
    ///
    /// # Errors
    /// As `split`.
    pub fn reserve(&mut self, graph: Graph<'_>, bindings: &[Binding<'_>]) -> Result<()> {
        self.split(graph, bindings)?;
        for (r, a) in self.reserved.iter_mut().zip(&self.arenas) {
            *r = a.bytes.max(*r);
        }
        Ok(())
    }

    /// Why a node can't be computed: its types, and what each device says. To be printed.
    pub fn why<'x>(&'x self, graph: Graph<'x>, id: NodeId) -> Why<'x> {
        Why { graph, id, streams: self.streams }
    }

    /// Bytes that the memory of a target must have; 0 for one that isn't used.
    pub fn arena_size(&self, target: usize) -> usize {
        let (now, kept) = (self.arenas.get(target), self.reserved.get(target));
        now.map_or(0, |a| a.bytes).max(kept.copied().unwrap_or(0))
    }

    /// The kind of memory that a target's arena must be.
    pub fn arena_type(&self, target: usize) -> Option<&'static dyn BufferType> {
        self.streams.get(target).map(|s| s.device().buffer_type())
    }

    /// What was split.
    ///
    /// # Errors
    /// [`Error::Invalid`] if nothing was.
    pub fn schedule(&self) -> Result<Schedule<'_>> {
        let Storage { nodes, arenas, origins, locs, info, splits, .. } = &self.storage;
        self.found(nodes, arenas, origins, locs, info, splits)
    }

    /// What was split, for good: the storage is the schedule's from here on.
    ///
    /// # Errors
    /// As [`schedule`](Self::schedule).
    pub fn into_schedule(mut self) -> Result<Schedule<'s>>
    where
        'a: 's,
    {
        let Storage { nodes, arenas, origins, locs, info, splits, .. } =
            core::mem::take(&mut self.storage);
        self.found(nodes, arenas, origins, locs, info, splits)
    }

    fn found<'r>(
        &self,
        nodes: &'r [Node],
        arenas: &'r [u8],
        origins: &'r [u16],
        locs: &'r [Loc],
        info: &'r [Info],
        splits: &'r [Split],
    ) -> Result<Schedule<'r>>
    where
        'a: 'r,
    {
        let n = self.nodes;
        if n == 0 {
            return Err(Error::Invalid { what: "number of scheduled nodes", value: 0 });
        }
        Ok(Schedule {
            streams: self.streams,
            nodes: nodes.get(..n).unwrap_or(&[]),
            locs: locs.get(..n).unwrap_or(&[]),
            arenas: arenas.get(..n).unwrap_or(&[]),
            origins: origins.get(..n).unwrap_or(&[]),
            info: info.get(..self.origin_len).unwrap_or(&[]),
            splits: splits.get(..self.splits).unwrap_or(&[]),
            memory: self.arenas,
            slots: self.slots,
            copies: self.options.copies,
        })
    }
}
