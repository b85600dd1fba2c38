//! A graph, its plan and its memory, checked together once.

use crate::error::{Error, Result, What};
use crate::graph::{ARENA, Graph, Node, NodeId};
use crate::hal::{Buffer, HostView, Span};
use crate::plan::{Loc, Plan, Summary};
use crate::tensor::Desc;

/// What a slot of a graph is bound to: a pointer (null for none) and an offset, laid out as in C.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Binding<'a> {
    buffer: Option<&'a Buffer<'a>>,
    offset: usize,
}

impl<'a> Binding<'a> {
    /// Nothing.
    pub const NONE: Self = Self { buffer: None, offset: 0 };

    /// A buffer from its first byte.
    pub const fn new(buffer: &'a Buffer<'a>) -> Self {
        Self { buffer: Some(buffer), offset: 0 }
    }

    /// A buffer from byte `offset` on.
    pub const fn at(buffer: &'a Buffer<'a>, offset: usize) -> Self {
        Self { buffer: Some(buffer), offset }
    }

    /// The buffer.
    #[inline]
    pub const fn buffer(&self) -> Option<&'a Buffer<'a>> {
        self.buffer
    }

    /// First byte of the slot in the buffer.
    #[inline]
    pub const fn offset(&self) -> usize {
        self.offset
    }
}

/// A graph with a plan and memory, ready to be computed any number of times.
///
/// Making one checks that every tensor is bound, aligned and inside its buffer, and that nothing writes to memory that
/// may only be read; [`Stream::compute`](crate::hal::Stream::compute) relies on it. `bindings[i]` is slot `i`; slot 0 is
/// the arena.
#[derive(Clone, Copy, Debug)]
pub struct Program<'a> {
    graph: Graph<'a>,
    plan: Plan<'a>,
    bindings: &'a [Binding<'a>],
    /// The nodes to compute, and the slot of the arena whose scratch memory they use.
    range: (u16, u16),
    arena: u8,
    id: u64,
}

impl<'a> Program<'a> {
    /// Checks and joins the three.
    ///
    /// # Errors
    /// [`Error::Mismatch`] for a plan of another graph, [`Error::Unbound`], [`Error::Range`] for a tensor outside its
    /// buffer, [`Error::Full`] for an arena smaller than planned, [`Error::Misaligned`], [`Error::ReadOnly`].
    pub fn new(graph: Graph<'a>, plan: Plan<'a>, bindings: &'a [Binding<'a>]) -> Result<Self> {
        if graph.len() != plan.len() {
            return Err(Error::Mismatch { graph: graph.len(), plan: plan.len() });
        }
        let range = (0, graph.len() as u16);
        let id = crate::sync::serial();
        let this = Self { graph, plan, bindings, range, arena: ARENA, id };
        let need = plan.summary().arena;
        if need > 0 {
            let (buffer, start) = this.slot(NodeId(0), ARENA)?;
            let have = buffer.size().saturating_sub(start);
            if need > have {
                return Err(Error::Full { what: What::Arena, need, have });
            }
        }
        for (i, (node, loc)) in graph.nodes().iter().zip(plan.locs()).enumerate() {
            this.check(NodeId(i as u16), node, *loc)?;
        }
        Ok(this)
    }

    fn slot(&self, node: NodeId, slot: u8) -> Result<(&'a Buffer<'a>, usize)> {
        match self.bindings.get(usize::from(slot)) {
            Some(Binding { buffer: Some(b), offset }) => Ok((*b, *offset)),
            _ => Err(Error::Unbound { node, slot }),
        }
    }

    fn check(&self, id: NodeId, node: &Node, loc: Loc) -> Result<()> {
        let len = node.desc.checked_span()?;
        if len == 0 {
            return Ok(());
        }
        let (buffer, start) = self.slot(id, loc.slot)?;
        let offset = start.saturating_add(loc.offset);
        if offset > buffer.size() || len > buffer.size() - offset {
            return Err(Error::Range { offset, len, size: buffer.size() });
        }
        // A device's memory is aligned by its own rules; the host's must suit the element type.
        let align = node.desc.dtype.align();
        let address = buffer.host().map_or(0, |p| p.as_ptr().addr()).wrapping_add(offset);
        if !address.is_multiple_of(align) {
            return Err(Error::Misaligned { address, align });
        }
        if !node.op.is_view() && !buffer.is_writable() {
            return Err(Error::ReadOnly);
        }
        Ok(())
    }

    /// The same program, of which only the nodes `first..end` are computed, on a device whose arena is bound to slot
    /// `arena` and whose part of the plan costs `summary`. For schedulers: the other nodes' data is there already.
    pub(crate) const fn section(&self, first: u16, end: u16, arena: u8, summary: Summary) -> Self {
        let len = self.graph.len() as u16;
        let end = if end < len { end } else { len };
        let first = if first < end { first } else { end };
        let plan = Plan::from_parts(self.plan.locs(), summary);
        Self { range: (first, end), arena, plan, ..*self }
    }

    /// The same program on other memory: for devices that wrap another one and hand its own buffers on to it.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn rebind<'b>(&self, bindings: &'b [Binding<'b>]) -> Result<Program<'b>>
    where
        'a: 'b,
    {
        let this = Program { bindings, id: crate::sync::serial(), ..*self };
        let need = this.plan.summary().arena;
        if need > 0 {
            let (buffer, start) = this.slot(NodeId(0), this.arena)?;
            let have = buffer.size().saturating_sub(start);
            if need > have {
                return Err(Error::Full { what: What::Arena, need, have });
            }
        }
        for (i, (node, loc)) in this.graph.nodes().iter().zip(this.plan.locs()).enumerate() {
            this.check(NodeId(i as u16), node, *loc)?;
        }
        Ok(this)
    }

    /// The nodes that are to be computed; all of them, unless a scheduler made this a part of a larger program.
    #[inline]
    pub const fn range(&self) -> core::ops::Range<usize> {
        self.range.0 as usize..self.range.1 as usize
    }

    /// The nodes that are to be computed, in order.
    #[inline]
    pub fn nodes(&self) -> impl Iterator<Item = (NodeId, &'a Node)> + 'a {
        let (first, end) = self.range;
        let nodes = self.graph.nodes().get(self.range()).unwrap_or(&[]);
        (first..end).map(NodeId).zip(nodes)
    }

    /// A number that no other program has, but copies of this one and parts of it. What it stands for can't change
    /// while a copy is alive, and it isn't given again, so a backend may keep what it made of a program under this
    /// number and [`range`](Self::range). 0, on targets without 64-bit atomics, says nothing.
    #[inline]
    pub const fn id(&self) -> u64 {
        self.id
    }

    /// The graph.
    #[inline]
    pub const fn graph(&self) -> Graph<'a> {
        self.graph
    }

    /// The plan.
    #[inline]
    pub const fn plan(&self) -> Plan<'a> {
        self.plan
    }

    /// The slots.
    #[inline]
    pub const fn bindings(&self) -> &'a [Binding<'a>] {
        self.bindings
    }

    /// A node's buffer and its first byte in it; `None` for a node that isn't in the graph or has no bytes and no
    /// memory.
    #[inline]
    pub fn place(&self, id: NodeId) -> Option<(&'a Buffer<'a>, usize)> {
        let loc = self.plan.loc(id)?;
        let binding = self.bindings.get(usize::from(loc.slot))?;
        Some((binding.buffer?, binding.offset + loc.offset))
    }

    /// A node's address, where the host can reach it. Null for a node without bytes.
    ///
    /// # Errors
    /// [`Error::NotHost`], [`Error::NotFound`].
    #[inline]
    pub fn address(&self, id: NodeId) -> Result<*mut u8> {
        let node = self.graph.node(id).ok_or(Error::NotFound)?;
        if node.desc.is_empty() {
            return Ok(core::ptr::null_mut());
        }
        let (buffer, offset) = self.place(id).ok_or(Error::NotFound)?;
        let base = buffer.host().ok_or(Error::NotHost)?;
        Ok(base.as_ptr().wrapping_add(offset))
    }

    /// Safe access to a node's bytes, where the host can reach them.
    ///
    /// # Errors
    /// [`Error::NotHost`], [`Error::NotFound`].
    pub fn view(&self, id: NodeId) -> Result<HostView<'a>> {
        let node = self.graph.node(id).ok_or(Error::NotFound)?;
        let len = node.desc.bytes();
        if len == 0 {
            return Ok(HostView::of(&mut []));
        }
        let (buffer, offset) = self.place(id).ok_or(Error::NotFound)?;
        buffer.view(offset, len)
    }

    /// Address and size of the scratch memory, where the host can reach it.
    ///
    /// # Errors
    /// [`Error::Full`] when the plan holds less than `need` bytes; [`Error::NotHost`].
    #[inline]
    pub fn scratch(&self, need: usize) -> Result<(*mut u8, usize)> {
        let s = self.plan.summary();
        if need > s.scratch {
            return Err(Error::Full { what: What::Scratch, need, have: s.scratch });
        }
        if need == 0 {
            return Ok((core::ptr::null_mut(), 0));
        }
        let (buffer, start) = self.slot(NodeId(0), self.arena)?;
        let base = buffer.host().ok_or(Error::NotHost)?;
        Ok((base.as_ptr().wrapping_add(start + s.scratch_at), s.scratch))
    }

    fn span(&self, id: NodeId) -> Result<(&'a Buffer<'a>, &'a Desc, usize)> {
        let node = self.graph.node(id).ok_or(Error::NotFound)?;
        let (buffer, offset) = self.place(id).ok_or(Error::NotFound)?;
        Ok((buffer, &node.desc, offset))
    }

    /// Writes a node's data, from its first byte.
    ///
    /// # Errors
    /// As [`Buffer::set`].
    pub fn set(&self, id: NodeId, data: &[u8]) -> Result<()> {
        let (buffer, desc, offset) = self.span(id)?;
        buffer.set(Span { desc, offset }, 0, data)
    }

    /// Reads a node's data, from its first byte.
    ///
    /// # Errors
    /// As [`Buffer::get`].
    pub fn get(&self, id: NodeId, data: &mut [u8]) -> Result<()> {
        let (buffer, desc, offset) = self.span(id)?;
        buffer.get(Span { desc, offset }, 0, data)
    }

    /// Writes numbers to an F32 node.
    ///
    /// # Errors
    /// [`Error::Invalid`] for another type; as [`Buffer::set`].
    pub fn set_f32(&self, id: NodeId, data: &[f32]) -> Result<()> {
        self.set_words(id, crate::tensor::DType::F32, data.iter().map(|x| x.to_le_bytes()))
    }

    /// Writes numbers to an I32 node.
    ///
    /// # Errors
    /// [`Error::Invalid`] for another type; as [`Buffer::set`].
    pub fn set_i32(&self, id: NodeId, data: &[i32]) -> Result<()> {
        self.set_words(id, crate::tensor::DType::I32, data.iter().map(|x| x.to_le_bytes()))
    }

    fn set_words(
        &self,
        id: NodeId,
        dtype: crate::tensor::DType,
        words: impl Iterator<Item = [u8; 4]>,
    ) -> Result<()> {
        let (buffer, desc, offset) = self.span(id)?;
        if desc.dtype != dtype {
            return Err(Error::Invalid { what: "element type", value: desc.dtype as i64 });
        }
        let mut piece = [0u8; 256];
        let (mut filled, mut done) = (0, 0);
        for w in words {
            if let Some(to) = piece.get_mut(filled..filled + 4) {
                to.copy_from_slice(&w);
                filled += 4;
            }
            if filled == piece.len() {
                buffer.set(Span { desc, offset }, done, &piece)?;
                (done, filled) = (done + filled, 0);
            }
        }
        buffer.set(Span { desc, offset }, done, piece.get(..filled).unwrap_or(&[]))
    }

    /// Reads numbers of an F32 node, from its first.
    ///
    /// # Errors
    /// [`Error::Invalid`] for another type; as [`Buffer::get`].
    pub fn get_f32(&self, id: NodeId, data: &mut [f32]) -> Result<()> {
        let (buffer, desc, offset) = self.span(id)?;
        if desc.dtype != crate::tensor::DType::F32 {
            return Err(Error::Invalid { what: "element type", value: desc.dtype as i64 });
        }
        let mut piece = [0u8; 256];
        let mut done = 0;
        for part in data.chunks_mut(piece.len() / 4) {
            let n = part.len() * 4;
            let Some(bytes) = piece.get_mut(..n) else { break };
            buffer.get(Span { desc, offset }, done, bytes)?;
            for (x, b) in part.iter_mut().zip(bytes.chunks_exact(4)) {
                *x = f32::from_le_bytes([b[0], b[1], b[2], b[3]]);
            }
            done += n;
        }
        Ok(())
    }
}
