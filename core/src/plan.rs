//! The planner: lifetimes become offsets in one arena.
//!
//! A tensor is alive from the node that makes it to the last node that reads it (inputs: from the start; outputs: to the
//! end). Views share their source's memory, and a result takes over the memory of a source that dies with it where
//! the operation allows. What is left are intervals with a size; two that overlap in time may not overlap in space. The
//! planner places them twice, largest first and oldest first, each at the lowest offset that is free, and keeps the
//! arrangement with the lower peak. [`Summary`] reports that peak next to what no arrangement can beat.
//!
//! Everything is a `const fn`, so a firmware can hold the finished plan and none of this code.

use crate::error::{Error, Result, What, tri};
use crate::graph::{ARENA, Flags, Graph, MAX_SRC, Node, NodeId, Place, first};
use crate::op::Op;
use crate::tensor::size;

/// Where a node's data lies: a slot and an offset in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Loc {
    /// First byte.
    pub offset: usize,
    /// Number of the slot.
    pub slot: u8,
}

impl Loc {
    /// The arena's first byte.
    pub const ZERO: Self = Self { offset: 0, slot: ARENA };
}

/// What the planner is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Alignment of every tensor in the arena, in bytes, a power of two. A device's buffer type says what it needs.
    pub align: usize,
    /// Bytes kept free behind the tensors for kernels to work in; ask
    /// [`Stream::scratch`](crate::hal::Stream::scratch).
    pub scratch: usize,
    /// Whether a result may take over a source's memory. Off only to look at every intermediate result.
    pub in_place: bool,
}

impl Options {
    /// 64-byte alignment, no scratch, in place.
    pub const DEFAULT: Self = Self { align: 64, scratch: 0, in_place: true };
}

impl Default for Options {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// What a plan costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Summary {
    /// Bytes that the arena must have: tensors and scratch.
    pub arena: usize,
    /// Bytes that tensors take at the fullest moment, as arranged.
    pub peak: usize,
    /// The largest sum of tensors that are alive at one moment: no arrangement can be smaller.
    pub lower_bound: usize,
    /// First byte of the scratch memory.
    pub scratch_at: usize,
    /// Bytes of scratch memory.
    pub scratch: usize,
    /// Alignment of the arena.
    pub align: usize,
}

/// Working memory of the planner for one node.
#[derive(Clone, Copy, Debug)]
pub struct Work {
    /// Node whose memory this node's data is part of (itself, if it has memory of its own).
    root: u16,
    /// Life of a root: first and last node.
    first: u16,
    last: u16,
    /// Neighbour in the list of placed roots, by rising offset.
    next: u16,
    /// First byte within the root.
    within: usize,
    /// Bytes of a root, padded; 0 for none.
    size: usize,
    /// Offset of a root in the arena: best so far, and in the arrangement being tried.
    offset: usize,
    trial: usize,
    /// Which arena a root lies in, where there are several.
    arena: u8,
    /// Last use of the node's own tensor, before it was put together with others.
    own_last: u16,
}

impl Work {
    /// Unused working memory.
    pub const EMPTY: Self = Self {
        root: 0,
        first: 0,
        last: 0,
        next: 0,
        within: 0,
        size: 0,
        offset: 0,
        trial: 0,
        arena: 0,
        own_last: 0,
    };

    /// From when to when a node's own tensor is needed, after [`plan`]: the node that makes it (0 for what is there from
    /// the start) and the last one that reads it, itself or through a view; the number of nodes for an output. `i` is
    /// the node's index.
    pub const fn life(&self, node: &Node, i: usize) -> (usize, usize) {
        (if matches!(node.op, Op::None) { 0 } else { i }, self.own_last as usize)
    }

    /// The node whose memory this one's data is part of: itself, or the source that it shows or took the memory of.
    pub const fn root(&self) -> NodeId {
        NodeId(self.root)
    }

    /// Bytes in the arena, padded, from [`held`](Self::held)'s first node to its last; 0 for what has no memory of its
    /// own there.
    pub const fn bytes(&self) -> usize {
        self.size
    }

    /// From when to when a root's memory is taken: by its own tensor, and by those that took it over.
    pub const fn held(&self) -> (usize, usize) {
        (self.first as usize, self.last as usize)
    }
}

/// A finished plan, borrowed.
#[derive(Clone, Copy, Debug)]
pub struct Plan<'a> {
    locs: &'a [Loc],
    summary: Summary,
}

impl<'a> Plan<'a> {
    /// Where node `i` lies.
    #[inline]
    pub const fn loc(&self, id: NodeId) -> Option<Loc> {
        if id.index() < self.locs.len() { Some(self.locs[id.index()]) } else { None }
    }

    /// Where all nodes lie.
    #[inline]
    pub const fn locs(&self) -> &'a [Loc] {
        self.locs
    }

    /// Number of nodes.
    pub const fn len(&self) -> usize {
        self.locs.len()
    }

    /// Whether it is a plan for no nodes.
    pub const fn is_empty(&self) -> bool {
        self.locs.is_empty()
    }

    /// What it costs.
    #[inline]
    pub const fn summary(&self) -> &Summary {
        &self.summary
    }

    /// A plan from its parts, as [`plan`] filled them.
    pub const fn from_parts(locs: &'a [Loc], summary: Summary) -> Self {
        Self { locs, summary }
    }
}

/// Storage for the plan of a graph of up to `N` nodes.
#[derive(Clone, Copy, Debug)]
pub struct PlanBuf<const N: usize> {
    locs: [Loc; N],
    len: usize,
    summary: Summary,
}

impl<const N: usize> PlanBuf<N> {
    /// Plans a graph. Takes `N` times 48 bytes of stack; meant for `const`s and small graphs. Use [`plan`] with working
    /// memory of your own for large ones.
    ///
    /// # Errors
    /// As [`plan`].
    pub const fn new(graph: Graph<'_>, options: &Options) -> Result<Self> {
        let mut work = [Work::EMPTY; N];
        let mut locs = [Loc::ZERO; N];
        let summary = tri!(plan(graph, options, &mut work, &mut locs));
        Ok(Self { locs, len: graph.len(), summary })
    }

    /// The plan.
    pub const fn plan(&self) -> Plan<'_> {
        Plan { locs: first(&self.locs, self.len), summary: self.summary }
    }
}

/// Plans `graph`: fills `locs` with the place of each node.
///
/// # Errors
/// [`Error::Full`] when `work` or `locs` have fewer entries than the graph has nodes; [`Error::Size`] when the
/// arena would not fit the address space or the alignment is no power of two.
pub const fn plan(
    graph: Graph<'_>,
    options: &Options,
    work: &mut [Work],
    locs: &mut [Loc],
) -> Result<Summary> {
    let n = graph.len();
    let have = if work.len() < locs.len() { work.len() } else { locs.len() };
    if have < n {
        return Err(Error::Full { what: What::Plan, need: n, have });
    }
    let nodes = graph.nodes();
    tri!(lifetimes(nodes, options, &[], work));
    let summary = tri!(fill_arena(n, work, options, 0));
    tri!(locate(nodes, work, ARENA, locs));
    Ok(summary)
}

/// Arranges one arena: the peak, its bound, and the offsets in `work`.
pub(crate) const fn fill_arena(
    n: usize,
    work: &mut [Work],
    options: &Options,
    arena: u8,
) -> Result<Summary> {
    let lower_bound = tri!(largest_sum(n, work, arena));
    let mut peak = tri!(arrange(n, work, arena, true));
    keep(n, work, arena);
    if peak > lower_bound {
        let other = tri!(arrange(n, work, arena, false));
        if other < peak {
            peak = other;
            keep(n, work, arena);
        }
    }
    match peak.checked_add(options.scratch) {
        Some(total) => Ok(Summary {
            arena: total,
            peak,
            lower_bound,
            scratch_at: peak,
            scratch: options.scratch,
            align: options.align,
        }),
        None => Err(Error::Size(size::SizeError::Overflow)),
    }
}

/// Turns offsets of roots into places of nodes; arena `a` is bound to slot `first_slot + a`.
pub(crate) const fn locate(
    nodes: &[Node],
    work: &[Work],
    first_slot: u8,
    locs: &mut [Loc],
) -> Result<()> {
    let mut i = 0;
    while i < nodes.len() {
        let root = work[i].root as usize;
        let (slot, base) = match nodes[root].place {
            Place::Slot { slot, offset } => (slot, offset),
            _ => (first_slot + work[root].arena, work[root].offset),
        };
        let offset = match base.checked_add(work[i].within) {
            Some(o) => o,
            None => return Err(Error::Size(size::SizeError::Overflow)),
        };
        locs[i] = Loc { slot, offset };
        i += 1;
    }
    Ok(())
}

/// First and last use of everything that needs memory in an arena. `arenas[i]` says which one node `i` belongs to;
/// arena 0 where it says nothing.
pub(crate) const fn lifetimes(
    nodes: &[Node],
    options: &Options,
    arenas: &[u8],
    work: &mut [Work],
) -> Result<()> {
    let n = nodes.len();
    // Roots through views, and the size of each root.
    let mut i = 0;
    while i < n {
        let node = &nodes[i];
        let mut w = Work::EMPTY;
        w.root = i as u16;
        w.first = if matches!(node.op, Op::None) { 0 } else { i as u16 };
        w.last = i as u16;
        w.arena = if i < arenas.len() { arenas[i] } else { 0 };
        match node.place {
            Place::Within { source, offset } => {
                let of = node.src[source as usize].index();
                w.root = work[of].root;
                w.within = match work[of].within.checked_add(offset) {
                    Some(o) => o,
                    None => return Err(Error::Size(size::SizeError::Overflow)),
                };
            }
            Place::Arena => {
                let bytes = match size::padded(node.desc.bytes() as u64, options.align as u64) {
                    Ok(b) => b,
                    Err(e) => return Err(Error::Size(e)),
                };
                w.size = match size::to_usize(bytes) {
                    Ok(b) => b,
                    Err(e) => return Err(Error::Size(e)),
                };
            }
            Place::Slot { .. } => {}
        }
        work[i] = w;
        i += 1;
    }
    // Last uses.
    let mut i = 0;
    while i < n {
        let root = work[i].root as usize;
        if work[root].last < i as u16 {
            work[root].last = i as u16;
        }
        if nodes[i].flags.has(Flags::OUTPUT) {
            work[root].last = n as u16;
        }
        let mut k = 0;
        while k < MAX_SRC {
            if !nodes[i].src[k].is_none() {
                let root = work[nodes[i].src[k].index()].root as usize;
                if work[root].last < i as u16 {
                    work[root].last = i as u16;
                }
            }
            k += 1;
        }
        i += 1;
    }
    let mut i = 0;
    while i < n {
        work[i].own_last = work[i].last;
        i += 1;
    }
    if options.in_place {
        let mut i = 0;
        while i < n {
            reuse(nodes, work, i);
            i += 1;
        }
    }
    Ok(())
}

/// Gives node `i` the memory of a source that nobody needs afterwards, if there is one.
const fn reuse(nodes: &[Node], work: &mut [Work], i: usize) {
    let node = &nodes[i];
    if !matches!(node.place, Place::Arena) || work[i].size == 0 {
        return;
    }
    let mut k = 0;
    while k < MAX_SRC {
        if node.op.may_reuse(k) && !node.src[k].is_none() {
            let s = node.src[k].index();
            let root = work[s].root as usize;
            if matches!(nodes[root].place, Place::Arena)
                && work[root].last as usize == i
                && work[s].within == 0
                && work[root].size == work[i].size
                && work[root].arena == work[i].arena
                && nodes[s].desc.same_layout(&node.desc)
                && alone(nodes, work, i, k)
            {
                // Everything that was part of node i's memory becomes part of the source's.
                let last = work[i].last;
                work[root].last = last;
                let mut j = i;
                while j < nodes.len() {
                    if work[j].root as usize == i {
                        work[j].root = root as u16;
                    }
                    j += 1;
                }
                work[i].size = 0;
                return;
            }
        }
        k += 1;
    }
}

/// Whether no other source of node `i` looks at the memory of source `k` in another layout.
const fn alone(nodes: &[Node], work: &[Work], i: usize, k: usize) -> bool {
    let node = &nodes[i];
    let s = node.src[k].index();
    let mut j = 0;
    while j < MAX_SRC {
        if j != k && !node.src[j].is_none() {
            let o = node.src[j].index();
            if work[o].root == work[s].root
                && !(work[o].within == 0 && nodes[o].desc.same_layout(&nodes[s].desc))
            {
                return false;
            }
        }
        j += 1;
    }
    true
}

const NIL: u16 = u16::MAX;

/// Whether node `i` has memory of its own in this arena.
const fn is_root(work: &[Work], i: usize, arena: u8) -> bool {
    work[i].size > 0 && work[i].root as usize == i && work[i].arena == arena
}

/// Sum of sizes alive at the fullest moment.
const fn largest_sum(n: usize, work: &mut [Work], arena: u8) -> Result<usize> {
    // `trial` is free until placement. It counts what comes and goes at each moment: the running sum never exceeds the
    // sum of all sizes, which is checked first, so that wrapping steps of the difference are exact.
    let mut total = 0usize;
    let mut i = 0;
    while i < n {
        work[i].trial = 0;
        if is_root(work, i, arena) {
            total = match total.checked_add(work[i].size) {
                Some(t) => t,
                None => return Err(Error::Size(size::SizeError::Overflow)),
            };
        }
        i += 1;
    }
    let mut i = 0;
    while i < n {
        if is_root(work, i, arena) {
            let (first, end) = (work[i].first as usize, work[i].last as usize + 1);
            work[first].trial = work[first].trial.wrapping_add(work[i].size);
            if end < n {
                work[end].trial = work[end].trial.wrapping_sub(work[i].size);
            }
        }
        i += 1;
    }
    let mut now = 0usize;
    let mut most = 0usize;
    let mut t = 0;
    while t < n {
        now = now.wrapping_add(work[t].trial);
        if now > most {
            most = now;
        }
        work[t].trial = 0;
        t += 1;
    }
    Ok(most)
}

/// Places every root at the lowest free offset, largest first or oldest first; returns the peak. Sizes are padded, so
/// every sum of them is aligned.
const fn arrange(n: usize, work: &mut [Work], arena: u8, by_size: bool) -> Result<usize> {
    let mut head = NIL;
    let mut peak = 0usize;
    let mut last_size = usize::MAX;
    let mut from = 0usize;
    loop {
        // The next root in order: without sorting, for there is nothing to sort in. Equal sizes go by age.
        let pick = if by_size {
            match next_by_size(n, work, arena, last_size, from) {
                Some(i) => i,
                None => break,
            }
        } else {
            let mut i = from;
            while i < n && !is_root(work, i, arena) {
                i += 1;
            }
            if i >= n {
                break;
            }
            i
        };
        last_size = work[pick].size;
        from = pick + 1;

        // Walk what is placed by rising offset; stop at the first gap among those alive at the same time.
        let mut at = 0usize;
        let mut j = head;
        while j != NIL {
            let o = work[j as usize];
            if o.first <= work[pick].last && work[pick].first <= o.last {
                if o.trial >= at && o.trial - at >= work[pick].size {
                    break;
                }
                if o.trial + o.size > at {
                    at = o.trial + o.size;
                }
            }
            j = o.next;
        }
        let end = match at.checked_add(work[pick].size) {
            Some(e) => e,
            None => return Err(Error::Size(size::SizeError::Overflow)),
        };
        if end > peak {
            peak = end;
        }
        work[pick].trial = at;
        // Insert by offset.
        let mut prev = NIL;
        let mut j = head;
        while j != NIL && work[j as usize].trial <= at {
            prev = j;
            j = work[j as usize].next;
        }
        work[pick].next = j;
        if prev == NIL {
            head = pick as u16;
        } else {
            work[prev as usize].next = pick as u16;
        }
    }
    Ok(peak)
}

/// The first root in the order (size falling, index rising) behind `(size, from)`.
const fn next_by_size(
    n: usize,
    work: &[Work],
    arena: u8,
    size: usize,
    from: usize,
) -> Option<usize> {
    let mut best: Option<usize> = None;
    let mut i = 0;
    while i < n {
        let w = &work[i];
        if is_root(work, i, arena) && (w.size < size || (w.size == size && i >= from)) {
            match best {
                Some(b) if work[b].size >= w.size => {}
                _ => best = Some(i),
            }
            if w.size == size {
                return Some(i);
            }
        }
        i += 1;
    }
    best
}

const fn keep(n: usize, work: &mut [Work], arena: u8) {
    let mut i = 0;
    while i < n {
        if is_root(work, i, arena) {
            work[i].offset = work[i].trial;
        }
        i += 1;
    }
}

#[cfg(test)]
mod tests;
