//! Which device computes which node.

use super::{Info, NOBODY, Options};
use crate::error::{Error, Result};
use crate::graph::{Flags, Graph, NodeId, Place};
use crate::hal::{BufferType, Query, Stream, Usage};
use crate::op::Op;
use crate::program::Binding;

/// Whether the stream's device has a kernel for the node. Views need none.
pub(super) fn supports(graph: Graph<'_>, id: NodeId, stream: &Stream) -> bool {
    let Some(node) = graph.node(id) else { return false };
    if node.op.is_view() {
        return true;
    }
    let sources = Query::sources(graph, id);
    stream.device().supports(&Query::of(node, &sources))
}

fn wants(graph: Graph<'_>, id: NodeId, stream: &Stream) -> bool {
    let Some(node) = graph.node(id) else { return false };
    let sources = Query::sources(graph, id);
    stream.device().offload(&Query::of(node, &sources))
}

/// The kind of memory that a slot is bound to.
pub(super) fn slot_type(
    bindings: &[Binding<'_>],
    node: NodeId,
    slot: u8,
) -> Result<&'static dyn BufferType> {
    bindings
        .get(usize::from(slot))
        .and_then(Binding::buffer)
        .map(|b| b.buffer_type())
        .ok_or(Error::Unbound { node, slot })
}

/// Whether a device can use memory of this kind directly.
pub(super) fn reaches(stream: &Stream, ty: &'static dyn BufferType) -> bool {
    stream.device().supports_buffer_type(ty)
}

struct Pass<'p> {
    graph: Graph<'p>,
    bindings: &'p [Binding<'p>],
    streams: &'p [&'p Stream],
    info: &'p mut [Info],
}

/// Fills in `root` and `target` of every node.
pub(super) fn assign(
    graph: Graph<'_>,
    bindings: &[Binding<'_>],
    streams: &[&Stream],
    options: &Options,
    info: &mut [Info],
) -> Result<()> {
    let mut p = Pass { graph, bindings, streams, info };
    p.roots();
    p.by_place(options)?;
    // A device that isn't the last takes its neighbours first; what is left goes to whoever is next to it.
    p.spread(true, false);
    p.spread(false, false);
    p.spread(true, true);
    p.spread(false, true);
    p.rest()?;
    p.writers()
}

impl Pass<'_> {
    fn len(&self) -> usize {
        self.graph.len()
    }

    fn target(&self, i: usize) -> u8 {
        self.info.get(i).map_or(NOBODY, |x| x.target)
    }

    fn give(&mut self, i: usize, target: usize, fixed: bool) {
        if let Some(x) = self.info.get_mut(i) {
            x.target = target as u8;
            x.fixed = fixed;
        }
    }

    fn supports(&self, i: usize, target: usize) -> bool {
        self.streams.get(target).is_some_and(|s| supports(self.graph, NodeId(i as u16), s))
    }

    fn roots(&mut self) {
        for (i, node) in self.graph.nodes().iter().enumerate() {
            let root = match node.place {
                Place::Within { source, .. } => node
                    .source(usize::from(source))
                    .and_then(|s| self.info.get(s.index()))
                    .map_or(i as u16, |x| x.root),
                _ => i as u16,
            };
            if let Some(x) = self.info.get_mut(i) {
                x.root = root;
            }
        }
    }

    fn root(&self, i: usize) -> usize {
        self.info.get(i).map_or(i, |x| usize::from(x.root))
    }

    /// The kind of memory which node `i`'s data lies in, if that is a bound slot.
    fn bound(&self, i: usize) -> Result<Option<&'static dyn BufferType>> {
        let root = self.root(i);
        match self.graph.nodes().get(root).map(|n| n.place) {
            Some(Place::Slot { slot, .. }) => {
                slot_type(self.bindings, NodeId(root as u16), slot).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// The first target that reaches the memory which node `i`'s data lies in, if that is a bound slot.
    fn home(&self, i: usize) -> Result<Option<usize>> {
        let ty = self.bound(i)?;
        Ok(ty.and_then(|ty| self.streams.iter().position(|s| reaches(s, ty))))
    }

    fn is_weight(&self, s: NodeId) -> bool {
        let Some(node) = self.graph.nodes().get(self.root(s.index())) else { return false };
        let Place::Slot { slot, .. } = node.place else { return false };
        let buffer = self.bindings.get(usize::from(slot)).and_then(Binding::buffer);
        node.flags.has(Flags::WEIGHT) || buffer.is_some_and(|b| b.usage() == Usage::Weights)
    }

    /// Rules 1 to 3.
    fn by_place(&mut self, options: &Options) -> Result<()> {
        let last = self.streams.len() - 1;
        for i in 0..self.len() {
            let Some(node) = self.graph.nodes().get(i) else { break };
            let id = NodeId(i as u16);
            let wish = self.info.get(i).map_or(NOBODY, |x| x.wish);
            if wish != NOBODY {
                if !self.supports(i, usize::from(wish)) {
                    return Err(Error::Unsupported { node: id, op: node.op.kind() });
                }
                self.give(i, usize::from(wish), true);
                continue;
            }
            if matches!(node.op, Op::None) {
                match node.place {
                    Place::Slot { slot, .. } => {
                        // Memory that no device reaches is copied through the host by whoever needs it.
                        slot_type(self.bindings, id, slot)?;
                        let home = self.home(i)?.unwrap_or(last);
                        self.give(i, home, true);
                    }
                    _ => self.give(i, last, true),
                }
                continue;
            }
            if node.op.is_view() {
                continue;
            }
            if let Some(ty) = self.bound(i)? {
                // It writes into bound memory.
                let able = |(t, s): (usize, &&Stream)| reaches(s, ty) && self.supports(i, t);
                if let Some(t) = self.streams.iter().enumerate().position(able) {
                    self.give(i, t, true);
                    continue;
                }
            }
            for s in node.src.iter().copied().filter(|s| !s.is_none()) {
                if !self.is_weight(s) {
                    continue;
                }
                let Some(home) = self.home(s.index())? else { continue };
                let taker = (options.offload && home == last)
                    .then(|| {
                        (0..home).find(|t| {
                            self.supports(i, *t)
                                && self.streams.get(*t).is_some_and(|x| wants(self.graph, id, x))
                        })
                    })
                    .flatten();
                let choice = taker.unwrap_or(home);
                if self.supports(i, choice) {
                    self.give(i, choice, false);
                    break;
                }
            }
        }
        Ok(())
    }

    /// Rule 4: walks the nodes forwards or backwards and hands on the target of the node before. Without `last_too`,
    /// the last target (the CPU) is not handed on.
    fn spread(&mut self, forwards: bool, last_too: bool) {
        let last = (self.streams.len() - 1) as u8;
        let mut current = NOBODY;
        for step in 0..self.len() {
            let i = if forwards { step } else { self.len() - 1 - step };
            let Some(node) = self.graph.nodes().get(i) else { break };
            if node.op.is_view() {
                continue;
            }
            let own = self.target(i);
            if own != NOBODY {
                current = if own == last && !last_too { NOBODY } else { own };
            } else if current != NOBODY && self.supports(i, usize::from(current)) {
                self.give(i, usize::from(current), false);
            }
        }
    }

    /// Rule 5, views, and the proof that everything can be computed.
    fn rest(&mut self) -> Result<()> {
        for i in 0..self.len() {
            let Some(node) = self.graph.nodes().get(i) else { break };
            if node.op.is_view() {
                self.follow(i);
                continue;
            }
            if self.target(i) == NOBODY {
                let reachable = |t: &usize| {
                    node.src.iter().filter(|s| !s.is_none()).all(|s| {
                        usize::from(self.target(s.index())) == *t
                            || self.home(s.index()).ok().flatten() == Some(*t)
                    })
                };
                let able = |t: &usize| self.supports(i, *t);
                let all = 0..self.streams.len();
                match all
                    .clone()
                    .find(|t| able(t) && reachable(t))
                    .or_else(|| all.clone().find(able))
                {
                    Some(t) => self.give(i, t, false),
                    None => {
                        return Err(Error::Unsupported {
                            node: NodeId(i as u16),
                            op: node.op.kind(),
                        });
                    }
                }
            }
        }
        Ok(())
    }

    /// A view is where its source is.
    fn follow(&mut self, view: usize) {
        if let Some(s) = self.graph.nodes().get(view).and_then(|n| n.source(0)) {
            let t = self.target(s.index());
            self.give(view, usize::from(t), true);
        }
    }

    /// Operations that write into memory of an older node, on a target that doesn't reach it: what they write would be in
    /// the target's copy alone. They go where the memory is, or nowhere, if somebody will look for it there. Otherwise
    /// the copy is what everything behind them uses.
    fn writers(&mut self) -> Result<()> {
        for i in 0..self.len() {
            let Some(node) = self.graph.nodes().get(i) else { break };
            let within = matches!(node.place, Place::Within { .. }) && !node.op.is_view();
            if !within {
                continue;
            }
            let owner = usize::from(self.target(self.root(i)));
            let bound = self.bound(i)?;
            let memory = bound.or(self.streams.get(owner).map(|s| s.device().buffer_type()));
            let here = usize::from(self.target(i));
            let reached = |t: usize| {
                let stream = self.streams.get(t).zip(memory);
                bound.is_none() && t == owner || stream.is_some_and(|(s, ty)| reaches(s, ty))
            };
            if reached(here) {
                continue;
            }
            if node.desc.is_empty() || !self.lost(i) {
                for k in i..self.len() {
                    if self.derives(k, i)
                        && let Some(x) = self.info.get_mut(k)
                    {
                        x.root = i as u16;
                    }
                }
                continue;
            }
            let wished = self.info.get(i).is_some_and(|x| x.wish != NOBODY);
            let able = |t: &usize| reached(*t) && self.supports(i, *t);
            match (0..self.streams.len()).find(able).filter(|_| !wished) {
                Some(t) => self.move_to(i, t),
                None => {
                    return Err(Error::Unsupported { node: NodeId(i as u16), op: node.op.kind() });
                }
            }
        }
        Ok(())
    }

    /// Gives node `i`, and the views of its result, another target.
    fn move_to(&mut self, i: usize, target: usize) {
        self.give(i, target, true);
        for k in i + 1..self.len() {
            if self.graph.nodes().get(k).is_some_and(|n| n.op.is_view()) {
                self.follow(k);
            }
        }
    }

    /// Whether node `k`'s data is that of node `i`, or part of it.
    fn derives(&self, k: usize, i: usize) -> bool {
        let mut at = k;
        while at > i {
            let Some(node) = self.graph.nodes().get(at) else { return false };
            let Place::Within { source, .. } = node.place else { return false };
            let Some(s) = node.source(usize::from(source)) else { return false };
            at = s.index();
        }
        at == i
    }

    /// Whether anybody looks for what node `i` writes where it was before, rather than in `i`'s result.
    fn lost(&self, i: usize) -> bool {
        let root = self.root(i);
        let nodes = self.graph.nodes();
        if nodes.get(root).is_none_or(|n| matches!(n.place, Place::Slot { .. })) {
            return true;
        }
        let old = |k: usize| self.root(k) == root && !self.derives(k, i);
        nodes.iter().enumerate().any(|(k, node)| {
            let read = k > i && !node.op.is_view();
            let shown = node.flags.has(Flags::OUTPUT) && old(k);
            shown || read && node.src.iter().any(|s| !s.is_none() && old(s.index()))
        })
    }
}
