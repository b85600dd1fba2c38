//! The expanded graph: the caller's nodes, transfers, splits, arenas.

use super::assign::{reaches, slot_type};
use super::{ARENAS, MAX_TARGETS, NOBODY, Options, Split, Storage};
use crate::error::{Error, Result, What};
use crate::graph::{Flags, Graph, MAX_SRC, Node, NodeId, Place};
use crate::hal::Stream;
use crate::op::Op;
use crate::plan::{self, Summary};
use crate::program::Binding;

pub(super) struct Expanded {
    pub nodes: usize,
    pub splits: usize,
    pub summaries: [Summary; MAX_TARGETS],
}

struct Expand<'e, 's> {
    graph: Graph<'e>,
    bindings: &'e [Binding<'e>],
    streams: &'e [&'e Stream],
    storage: &'e mut Storage<'s>,
    len: usize,
    splits: usize,
}

pub(super) fn expand(
    graph: Graph<'_>,
    bindings: &[Binding<'_>],
    streams: &[&Stream],
    options: &Options,
    storage: &mut Storage<'_>,
) -> Result<Expanded> {
    let mut e = Expand { graph, bindings, streams, storage, len: 0, splits: 0 };
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
    let (nodes, splits) = (e.len, e.splits);
    let summaries = arenas(nodes, streams, options, storage)?;
    Ok(Expanded { nodes, splits, summaries })
}

impl Expand<'_, '_> {
    fn push(&mut self, node: Node, target: u8) -> Result<u16> {
        let have = [
            self.storage.nodes.len(),
            self.storage.targets.len(),
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
        *self.storage.nodes.get_mut(self.len).ok_or(full)? = node;
        *self.storage.targets.get_mut(self.len).ok_or(full)? = target;
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
        let mapped = self.push(copy, target)?;
        if let Some(info) = self.storage.info.get_mut(i) {
            info.mapped = mapped;
        }
        self.forget_copies(i, node);
        Ok(())
    }

    /// What a target uses for node `i`: the node itself, or its copy.
    fn seen_by(&self, i: usize, target: u8) -> u16 {
        match self.storage.info.get(i) {
            Some(x) => match x.copies.get(usize::from(target)) {
                Some(c) if *c != u16::MAX => *c,
                _ => x.mapped,
            },
            None => u16::MAX,
        }
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
        let root = self.storage.info.get(i).map_or(i, |x| usize::from(x.root));
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
        };
        self.splits += 1;
        Ok(end)
    }

    /// Makes a copy of node `s` for `target`, if it needs one and has none. Nodes from `first` on belong to the split
    /// itself.
    fn transfer(&mut self, s: usize, first: usize, target: u8) -> Result<()> {
        let Some(info) = self.storage.info.get(s).copied() else { return Ok(()) };
        if info.copies.get(usize::from(target)).is_some_and(|c| *c != u16::MAX) {
            return Ok(());
        }
        if self.reachable(s, target)? {
            return Ok(());
        }
        let Some(node) = self.graph.nodes().get(s) else { return Ok(()) };
        if info.mapped == u16::MAX {
            // A view inside the split of something outside: lay it down now, with its own sources.
            if s < first || !node.op.is_view() {
                return Ok(());
            }
            if let Some(of) = node.source(0) {
                self.transfer(of.index(), first, target)?;
            }
            self.lay(s)?;
        }
        let mapped = self.storage.info.get(s).map_or(u16::MAX, |x| x.mapped);
        let mut src = [NodeId::NONE; MAX_SRC];
        src[0] = NodeId(mapped);
        let copy = self.push(
            Node { desc: node.desc, op: Op::Dup, src, place: Place::Arena, flags: Flags(0) },
            target,
        )?;
        if let Some(c) =
            self.storage.info.get_mut(s).and_then(|x| x.copies.get_mut(usize::from(target)))
        {
            *c = copy;
        }
        Ok(())
    }
}

/// Plans the arena of each target.
fn arenas(
    n: usize,
    streams: &[&Stream],
    options: &Options,
    storage: &mut Storage<'_>,
) -> Result<[Summary; MAX_TARGETS]> {
    let nodes = storage.nodes.get(..n).unwrap_or(&[]);
    let mut summaries = [Summary::default(); MAX_TARGETS];
    let mut align = options.align.max(1);
    for s in streams {
        align = align.max(s.device().buffer_type().alignment());
    }
    let plain = plan::Options { align, scratch: 0, in_place: options.in_place };
    plan::lifetimes(nodes, &plain, storage.targets, storage.work)?;
    for (t, (stream, summary)) in streams.iter().zip(&mut summaries).enumerate() {
        // Scratch is asked for the whole graph: more than one device's part needs, never less.
        let scratch = stream.scratch(Graph::trusted(nodes));
        let with = plan::Options { scratch, ..plain };
        *summary = plan::fill_arena(n, storage.work, &with, t as u8)?;
        if summary.peak == 0 && !storage.targets.iter().take(n).any(|x| usize::from(*x) == t) {
            *summary = Summary::default();
        }
    }
    plan::locate(nodes, storage.work, ARENAS, storage.locs)?;
    Ok(summaries)
}
