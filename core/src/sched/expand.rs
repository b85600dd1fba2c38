//! The expanded graph: the caller's nodes, transfers, splits, arenas.

use super::assign::{reaches, slot_type};
use super::{Arena, MAX_TARGETS, NOBODY, Options, Split, Storage};
use crate::error::{Error, Result, What};
use crate::graph::{Flags, Graph, MAX_SRC, Node, NodeId, Place};
use crate::hal::Stream;
use crate::op::Op;
use crate::plan;
use crate::program::Binding;
use crate::tensor::size::{SizeError, padded, to_usize};

pub(super) struct Expanded {
    pub nodes: usize,
    pub splits: usize,
    pub arenas: [Arena; MAX_TARGETS],
}

struct Expand<'e, 's> {
    graph: Graph<'e>,
    bindings: &'e [Binding<'e>],
    streams: &'e [&'e Stream],
    storage: &'e mut Storage<'s>,
    len: usize,
    splits: usize,
    /// Whether inputs and transfers have an arena of their own, with a place for each copy.
    turning: bool,
}

pub(super) fn expand(
    graph: Graph<'_>,
    bindings: &[Binding<'_>],
    streams: &[&Stream],
    options: &Options,
    storage: &mut Storage<'_>,
) -> Result<Expanded> {
    let turning = options.copies > 1;
    let mut e = Expand { graph, bindings, streams, storage, len: 0, splits: 0, turning };
    // Leaves come first: they are there before anything is computed.
    for i in 0..graph.len() {
        if graph.nodes().get(i).is_some_and(|n| matches!(n.op, Op::None)) {
            e.lay(i)?;
        }
    }
    let mut from = 0;
    while from < graph.len() {
        from = e.split(from)?;
    }
    e.waits();
    let (nodes, splits) = (e.len, e.splits);
    // The caller's slots come first.
    let slot = bindings.len().max(1) as u8;
    let arenas = arenas((nodes, splits), slot, streams, options, storage)?;
    Ok(Expanded { nodes, splits, arenas })
}

/// Bit of a target.
fn bit(target: u8) -> u16 {
    1u16.checked_shl(u32::from(target)).unwrap_or(0)
}

impl Expand<'_, '_> {
    /// Lays down a node of `target` that stands for node `origin` of the caller's graph.
    fn push(&mut self, node: Node, target: u8, origin: usize, transfer: bool) -> Result<u16> {
        let have = [
            self.storage.nodes.len(),
            self.storage.arenas.len(),
            self.storage.origins.len(),
            self.storage.work.len(),
            self.storage.locs.len(),
            usize::from(u16::MAX) - 1,
        ]
        .into_iter()
        .min()
        .unwrap_or(0);
        let full = Error::Full { what: What::Nodes, need: self.len + 1, have };
        if self.len >= have {
            return Err(full);
        }
        // Inputs and transfers are the only ones that a later run may need while this one is under way.
        let turns = self.turning && node.place == Place::Arena && (transfer || node.op == Op::None);
        let arena = if turns { self.streams.len() as u8 + target } else { target };
        *self.storage.nodes.get_mut(self.len).ok_or(full)? = node;
        *self.storage.arenas.get_mut(self.len).ok_or(full)? = arena;
        *self.storage.origins.get_mut(self.len).ok_or(full)? = origin as u16;
        self.len += 1;
        Ok((self.len - 1) as u16)
    }

    fn target(&self, i: usize) -> u8 {
        self.storage.info.get(i).map_or(NOBODY, |x| x.target)
    }

    /// Lays down node `i`; sources that its target can't reach have their copies already.
    fn lay(&mut self, i: usize) -> Result<()> {
        let Some(node) = self.graph.nodes().get(i) else { return Ok(()) };
        let target = self.target(i);
        let mut copy = *node;
        for (to, from) in copy.src.iter_mut().zip(node.src) {
            if !from.is_none() {
                *to = NodeId(self.seen_by(from.index(), target));
            }
        }
        let mapped = self.push(copy, target, i, false)?;
        if let Some(info) = self.storage.info.get_mut(i) {
            info.mapped = mapped;
        }
        if !node.op.is_view() {
            self.uses(i, node, target);
        }
        self.forget_copies(i, node);
        Ok(())
    }

    /// Lays down a view, and those that it is a view of as far as they aren't there.
    fn lay_view(&mut self, s: usize) -> Result<()> {
        let there =
            |this: &Self, i: usize| this.storage.info.get(i).is_none_or(|x| x.mapped != u16::MAX);
        while !there(self, s) {
            let mut at = s;
            while let Some(of) = self.graph.nodes().get(at).and_then(|n| n.source(0))
                && self.graph.node(of).is_some_and(|n| n.op.is_view())
                && !there(self, of.index())
            {
                at = of.index();
            }
            self.lay(at)?;
        }
        Ok(())
    }

    fn root(&self, i: usize) -> usize {
        self.storage.info.get(i).map_or(i, |x| usize::from(x.root))
    }

    /// Notes whose memory an operation reads without a copy, and whose it writes.
    fn uses(&mut self, i: usize, node: &Node, target: u8) {
        for s in node.src.iter().filter(|s| !s.is_none()) {
            let copied = self.copy_of(s.index(), target).is_some();
            let root = self.root(s.index());
            if let (false, Some(x)) = (copied, self.storage.info.get_mut(root)) {
                x.readers |= bit(target);
            }
        }
        let root = self.root(i);
        if let Some(x) = self.storage.info.get_mut(root) {
            x.writers |= bit(target);
        }
    }

    /// Whom each split waits for: targets that use memory together without a copy, one of them to write. What goes through
    /// a transfer is in order by itself, unless a third one writes there.
    fn waits(&mut self) {
        let mut partners = [0u16; MAX_TARGETS];
        let mut pair = |writers: u16, others: u16| {
            for (t, p) in partners.iter_mut().enumerate() {
                if writers & (1 << t) != 0 {
                    *p |= (writers | others) & !(1 << t);
                } else if others & (1 << t) != 0 {
                    *p |= writers;
                }
            }
        };
        for x in self.storage.info.iter().take(self.graph.len()) {
            pair(x.writers, x.readers);
        }
        let splits = self.storage.splits.get_mut(..self.splits).unwrap_or(&mut []);
        for split in splits.iter() {
            for i in usize::from(split.transfers)..usize::from(split.first) {
                let origin = self.storage.origins.get(i).copied().unwrap_or(u16::MAX);
                let Some(x) = self.storage.info.get(usize::from(origin)) else { continue };
                let owner = bit(x.target);
                let writers = self.storage.info.get(usize::from(x.root)).map_or(0, |r| r.writers);
                let third = writers & !owner & !bit(split.target);
                if third != 0 {
                    pair(third, bit(split.target));
                }
            }
        }
        for split in splits {
            split.waits = partners.get(usize::from(split.target)).copied().unwrap_or(0);
        }
    }

    /// The copy of node `i` that a target has.
    fn copy_of(&self, i: usize, target: u8) -> Option<u16> {
        let copies = &self.storage.info.get(i)?.copies;
        copies.get(usize::from(target)).copied().filter(|c| *c != u16::MAX)
    }

    /// What a target uses for node `i`: its copy, or the node itself.
    fn seen_by(&self, i: usize, target: u8) -> u16 {
        self.copy_of(i, target).unwrap_or_else(|| self.mapped(i))
    }

    /// The node that stands for node `i`, if there is one yet.
    fn mapped(&self, i: usize) -> u16 {
        self.storage.info.get(i).map_or(u16::MAX, |x| x.mapped)
    }

    /// A node that writes into memory of an older node makes that memory's copies old.
    fn forget_copies(&mut self, i: usize, node: &Node) {
        if node.op.is_view() || !matches!(node.place, Place::Within { .. }) {
            return;
        }
        let Some(root) = self.storage.info.get(i).map(|x| x.root) else { return };
        for x in self.storage.info.iter_mut().filter(|x| x.root == root) {
            x.copies = [u16::MAX; MAX_TARGETS];
        }
    }

    /// Whether `target` can use node `i`'s memory as it is.
    fn reachable(&self, i: usize, target: u8) -> Result<bool> {
        let Some(stream) = self.streams.get(usize::from(target)) else { return Ok(false) };
        let root = self.root(i);
        match self.graph.nodes().get(root).map(|n| n.place) {
            Some(Place::Slot { slot, .. }) => {
                Ok(reaches(stream, slot_type(self.bindings, NodeId(root as u16), slot)?))
            }
            _ => {
                // In an arena: that of the root's target, for a view is where its source is.
                let owner = self.target(root);
                if owner == target {
                    return Ok(true);
                }
                let Some(owner) = self.streams.get(usize::from(owner)) else { return Ok(false) };
                Ok(reaches(stream, owner.device().buffer_type()))
            }
        }
    }

    /// Lays down one split from node `from` on; returns the node behind it.
    fn split(&mut self, from: usize) -> Result<usize> {
        let nodes = self.graph.nodes();
        // Skip to the first node that is computed, laying down views on the way.
        let mut first = from;
        while let Some(n) = nodes.get(first) {
            if !n.op.is_view() {
                break;
            }
            if !matches!(n.op, Op::None) {
                self.lay(first)?;
            }
            first += 1;
        }
        if first >= nodes.len() {
            return Ok(first);
        }
        let target = self.target(first);
        // The split ends before the first node of another target, or before one that needs a copy of what is only
        // made inside this split.
        let mut end = first;
        while let Some(n) = nodes.get(end) {
            if !n.op.is_view() && self.target(end) != target {
                break;
            }
            end += 1;
        }
        let transfers = self.len;
        for i in first..end {
            let Some(n) = nodes.get(i) else { break };
            if n.op.is_view() {
                continue;
            }
            for s in n.src.iter().take(MAX_SRC).filter(|s| !s.is_none()) {
                self.transfer(s.index(), first, target)?;
            }
        }
        let start = self.len;
        for i in first..end {
            if nodes.get(i).is_some_and(|n| !matches!(n.op, Op::None)) {
                self.lay(i)?;
            }
        }
        let have = self.storage.splits.len();
        let full = Error::Full { what: What::Splits, need: self.splits + 1, have };
        *self.storage.splits.get_mut(self.splits).ok_or(full)? = Split {
            target,
            transfers: transfers as u16,
            first: start as u16,
            end: self.len as u16,
            waits: 0,
        };
        self.splits += 1;
        Ok(end)
    }

    /// Makes a copy of node `s` for `target`, if it needs one and has none. Nodes from `first` on belong to the split
    /// itself.
    fn transfer(&mut self, s: usize, first: usize, target: u8) -> Result<()> {
        if self.copy_of(s, target).is_some() || self.reachable(s, target)? {
            return Ok(());
        }
        let Some(node) = self.graph.nodes().get(s) else { return Ok(()) };
        if self.mapped(s) == u16::MAX {
            // A view inside the split of something outside: lay it down now, behind the views that it is of.
            if s < first || !node.op.is_view() {
                return Ok(());
            }
            self.lay_view(s)?;
        }
        let mut src = [NodeId::NONE; MAX_SRC];
        src[0] = NodeId(self.mapped(s));
        let copy = self.push(
            Node { desc: node.desc, op: Op::Dup, src, place: Place::Arena, flags: Flags(0) },
            target,
            s,
            true,
        )?;
        if let Some(c) =
            self.storage.info.get_mut(s).and_then(|x| x.copies.get_mut(usize::from(target)))
        {
            *c = copy;
        }
        Ok(())
    }
}

/// Plans the arenas of each target, one behind the other in one piece of memory. Their slots begin with `slot`.
fn arenas(
    (n, splits): (usize, usize),
    slot: u8,
    streams: &[&Stream],
    options: &Options,
    storage: &mut Storage<'_>,
) -> Result<[Arena; MAX_TARGETS]> {
    let nodes = storage.nodes.get(..n).unwrap_or(&[]);
    let mut arenas = [Arena::default(); MAX_TARGETS];
    let mut align = options.align.max(1);
    for s in streams {
        align = align.max(s.device().buffer_type().alignment());
    }
    let whole = |bytes: usize| to_usize(padded(bytes as u64, align as u64)?);
    let plain = plan::Options { align, scratch: 0, in_place: options.in_place };
    plan::lifetimes(nodes, &plain, storage.arenas, storage.work)?;
    let count = streams.len() as u8;
    for ((t, stream), arena) in (0..count).zip(streams).zip(&mut arenas) {
        // Scratch is asked for the whole graph: more than one device's part needs, never less.
        let computes = storage.splits.iter().take(splits).any(|s| s.target == t);
        let scratch = if computes { stream.scratch(Graph::trusted(nodes)) } else { 0 };
        let with = plan::Options { scratch, ..plain };
        arena.main = plan::fill_arena(n, storage.work, &with, t)?;
        let turning = plan::fill_arena(n, storage.work, &plain, count + t)?;
        if turning.peak > 0 {
            arena.turning = whole(arena.main.arena)?;
            arena.stride = whole(turning.peak)?;
        }
        arena.bytes = arena
            .stride
            .checked_mul(options.copies)
            .and_then(|b| b.checked_add(arena.turning))
            .ok_or(Error::Size(SizeError::Overflow))?
            .max(arena.main.arena);
    }
    plan::locate(nodes, storage.work, slot, storage.locs)?;
    Ok(arenas)
}
