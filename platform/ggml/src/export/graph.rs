//! From a host's graph to a program.
//!
//! Every tensor that is computed or read becomes a node whose data lies where the host has put it: in a buffer of ours, or
//! in host memory, which is lent. Views are leaves at their place, since nodes are computed in order. A translation keeps
//! a copy of each tensor's head (all that it was made of), so that a graph that comes again is known by comparison.

use super::buffer::{self, Head};
use super::codes::Codes;
use super::face::Dev;
use super::lent::lend;
use super::node;
use crate::abi::{self, Graph as HostGraph, Tensor, TensorFlag};
use core::mem::offset_of;
use core::ptr::NonNull;
use dinrail_core::graph::{Flags, Graph, MAX_SRC, Node, NodeId, Place};
use dinrail_core::hal::{Buffer, Stream};
use dinrail_core::op::Op;
use dinrail_core::plan::{Loc, Plan, Summary};
use dinrail_core::program::{Binding, Program};
use dinrail_core::tensor::Desc;
use dinrail_core::{Error, Result};
use std::rc::Rc;

/// Most nodes of a program.
const MOST: usize = u16::MAX as usize - 1;
/// Words of a tensor that say what it is: everything before its name.
const WORDS: usize = offset_of!(Tensor, name) / 8;

/// The head of a tensor as it was.
struct Seen {
    tensor: *const Tensor,
    head: [u64; WORDS],
}

impl Seen {
    /// # Safety
    /// `t` points to a whole tensor.
    unsafe fn of(t: *const Tensor) -> Self {
        // SAFETY: the caller promises; a tensor is at least as long and as aligned.
        Self { tensor: t, head: unsafe { t.cast::<[u64; WORDS]>().read() } }
    }

    /// # Safety
    /// The tensor is still there.
    #[inline]
    unsafe fn is_same(&self) -> bool {
        // SAFETY: the caller promises.
        let now = unsafe { &*self.tensor.cast::<[u64; WORDS]>() };
        *now == self.head
    }
}

/// Memory that a slot is bound to.
#[derive(Clone, Copy, PartialEq)]
enum Memory {
    /// A buffer of ours, with its number.
    Ours { at: *mut abi::Buffer, serial: u64 },
    /// A buffer of another backend's in host memory.
    Host { at: *mut abi::Buffer, base: NonNull<u8>, size: usize },
    /// Host memory that is in no buffer: of tensors that a host made without one.
    Loose { base: NonNull<u8>, size: usize },
}

/// A slice that others borrow for as long as it isn't dropped.
struct Fixed<T>(NonNull<[T]>);

impl<T> Fixed<T> {
    fn new(items: Vec<T>) -> Self {
        Self(NonNull::from(Box::leak(items.into_boxed_slice())))
    }

    /// # Safety
    /// The result is not used after this is dropped.
    unsafe fn borrow(&self) -> &'static [T] {
        // SAFETY: made from a box that is only freed by `drop`; nothing writes to it meanwhile.
        unsafe { self.0.as_ref() }
    }
}

impl<T> Drop for Fixed<T> {
    fn drop(&mut self) {
        // SAFETY: made from a box, freed once.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}

/// A program with everything that it borrows.
pub(crate) struct Translation {
    /// `None` when there is nothing to compute. Borrows from what follows, which is dropped after it.
    program: Option<Program<'static>>,
    _bindings: Fixed<Binding<'static>>,
    _lent: Fixed<Buffer<'static>>,
    _nodes: Fixed<Node>,
    _locs: Fixed<Loc>,
    _scratch: Option<Rc<Buffer<'static>>>,
    seen: Vec<Seen>,
    count: usize,
    memory: Vec<Memory>,
}

/// The nodes of a host's graph.
///
/// # Safety
/// `graph` points to a graph, which isn't changed while the result is used.
pub(crate) unsafe fn nodes<'a>(graph: *const HostGraph) -> &'a [*mut Tensor] {
    // SAFETY: the caller promises; the place of the fields was checked.
    let head = unsafe { graph.read() };
    match usize::try_from(head.n_nodes) {
        // SAFETY: a graph's list holds as many nodes as it counts.
        Ok(n) if n > 0 && !head.nodes.is_null() => unsafe {
            core::slice::from_raw_parts(head.nodes, n)
        },
        _ => &[],
    }
}

impl Translation {
    /// The program, if there is anything to compute.
    pub(crate) fn program(&self) -> Option<&Program<'static>> {
        self.program.as_ref()
    }

    /// How many tensors it stands for.
    pub(crate) fn len(&self) -> usize {
        self.seen.len()
    }

    /// Whether it was made of this graph as it is now.
    ///
    /// # Safety
    /// The nodes are whole tensors with their sources.
    pub(crate) unsafe fn is_of(&self, nodes: &[*mut Tensor]) -> bool {
        // A tensor that isn't there any more is never looked at: nodes come first, and theirs are the sources.
        let own = self.seen.get(..self.count).unwrap_or(&[]);
        nodes.len() == self.count
            && own.iter().zip(nodes).all(|(s, n)| core::ptr::eq(s.tensor, *n))
            // SAFETY: the caller promises; sources are the same once the nodes are.
            && self.seen.iter().all(|s| unsafe { s.is_same() })
            // SAFETY: tensors are in these buffers now.
            && self.memory.iter().all(|m| unsafe { m.is_same() })
    }

    /// Translates a graph.
    ///
    /// # Errors
    /// What can't be said, reached or computed.
    ///
    /// # Safety
    /// The nodes are whole tensors with their sources.
    pub(crate) unsafe fn new(
        dev: &Dev,
        stream: &Stream,
        nodes: &[*mut Tensor],
        scratch: &mut Scratch,
    ) -> Result<Self> {
        let codes = &dev.face().host.codes;
        let mut build = Build {
            dev,
            codes,
            nodes: Vec::with_capacity(nodes.len() * 2),
            locs: Vec::with_capacity(nodes.len() * 2),
            seen: Vec::with_capacity(nodes.len() * 2),
            memory: Vec::new(),
            known: Known::with_room(nodes.len() * 2),
            last: 0,
            any: false,
        };
        for &t in nodes {
            // SAFETY: a node of the graph.
            build.seen.push(unsafe { Seen::of(t) });
            build.known.add(t, NodeId::NONE);
        }
        for &t in nodes {
            // SAFETY: a node of the graph.
            let t = unsafe { &*t };
            // SAFETY: nodes are whole with their sources.
            unsafe { build.node(t) }?;
        }
        build.finish(stream, nodes.len(), scratch)
    }
}

/// Working memory of a stream's kernels, shared by its programs. A larger one takes the place of a smaller one, which
/// lives on while programs use it.
#[derive(Default)]
pub(crate) struct Scratch(Option<Rc<Buffer<'static>>>);

impl Scratch {
    fn of(&mut self, dev: &Dev, need: usize) -> Result<Option<Rc<Buffer<'static>>>> {
        if need == 0 {
            return Ok(None);
        }
        if self.0.as_ref().is_none_or(|b| b.size() < need) {
            let ty = dev.device.buffer_type();
            self.0 = Some(Rc::new(Buffer::new(ty, need.next_power_of_two().min(ty.max_size()))?));
        }
        Ok(self.0.clone())
    }
}

impl Memory {
    /// # Safety
    /// A tensor that is still there lies in the buffer.
    unsafe fn is_same(&self) -> bool {
        match *self {
            // SAFETY: the caller promises.
            Memory::Ours { at, serial } => {
                // SAFETY: the caller promises.
                unsafe { buffer::held(at) }.is_some_and(|h| h.serial == serial)
            }
            // SAFETY: as above.
            Memory::Host { at, .. } => unsafe { Self::host(at) }.is_ok_and(|m| m == *self),
            Memory::Loose { .. } => true,
        }
    }

    /// Memory of another backend's.
    ///
    /// # Safety
    /// `at` points to a buffer.
    unsafe fn host(at: *mut abi::Buffer) -> Result<Self> {
        // SAFETY: the caller promises; the layout was checked.
        let head = unsafe { &*at.cast::<Head>() };
        // SAFETY: the buffer's own function.
        let base = head.iface.get_base.map(|f| unsafe { f(at) }.cast::<u8>());
        let base = base.and_then(NonNull::new).ok_or(Error::NotHost)?;
        Ok(Memory::Host { at, base, size: head.tail.size })
    }
}

/// Tensors that were seen, and the node that each has, if it has one yet: open addressing, keyed by address.
struct Known {
    slots: Vec<(*const Tensor, u16)>,
    count: usize,
}

impl Known {
    fn with_room(n: usize) -> Self {
        let len = (n * 2).next_power_of_two().max(16);
        Self { slots: vec![(core::ptr::null(), 0); len], count: 0 }
    }

    fn start(&self, t: *const Tensor) -> usize {
        let x = (t.addr() as u64 >> 4).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        (x >> 32) as usize
    }

    fn find(&self, t: *const Tensor) -> Option<NodeId> {
        let mask = self.slots.len() - 1;
        let mut i = self.start(t) & mask;
        loop {
            match self.slots.get(i) {
                Some(&(p, id)) if core::ptr::eq(p, t) => return Some(NodeId(id)),
                Some(&(p, _)) if !p.is_null() => i = (i + 1) & mask,
                _ => return None,
            }
        }
    }

    fn add(&mut self, t: *const Tensor, id: NodeId) {
        if (self.count + 1) * 2 > self.slots.len() {
            let len = self.slots.len() * 2;
            let old = core::mem::replace(&mut self.slots, vec![(core::ptr::null(), 0); len]);
            self.count = 0;
            old.into_iter().filter(|e| !e.0.is_null()).for_each(|(p, i)| self.add(p, NodeId(i)));
        }
        let mask = self.slots.len() - 1;
        let mut i = self.start(t) & mask;
        while let Some(slot) = self.slots.get_mut(i) {
            if slot.0.is_null() || core::ptr::eq(slot.0, t) {
                self.count += usize::from(slot.0.is_null());
                *slot = (t, id.0);
                return;
            }
            i = (i + 1) & mask;
        }
    }
}

struct Build<'a> {
    dev: &'a Dev,
    codes: &'a Codes,
    nodes: Vec<Node>,
    locs: Vec<Loc>,
    seen: Vec<Seen>,
    memory: Vec<Memory>,
    known: Known,
    /// The slot that was found last.
    last: usize,
    any: bool,
}

impl Build<'_> {
    fn push(&mut self, node: Node, loc: Loc) -> Result<NodeId> {
        let have = MOST;
        if self.nodes.len() >= have {
            let what = dinrail_core::error::What::Nodes;
            return Err(Error::Full { what, need: self.nodes.len() + 1, have });
        }
        let id = NodeId(self.nodes.len() as u16);
        self.nodes.push(Node { place: Place::Slot { slot: loc.slot, offset: loc.offset }, ..node });
        self.locs.push(loc);
        Ok(id)
    }

    /// # Safety
    /// `t` is a whole tensor with its sources.
    unsafe fn node(&mut self, t: &Tensor) -> Result<()> {
        let at = NodeId(self.nodes.len().min(MOST) as u16);
        if self.codes.kind(t.op).is_some_and(node::is_view)
            || self.codes.marks && t.flags & TensorFlag::Compute as i32 == 0
        {
            // Whoever reads it makes it a leaf.
            return Ok(());
        }
        let kind = self.codes.kind(t.op);
        let op = kind.unwrap_or(dinrail_core::op::Kind::None);
        let cant = Error::Unsupported { node: at, op };
        // SAFETY: the caller promises.
        let m = unsafe { node::meaning(self.codes, t) }.ok_or(cant)?;
        let mut node = Node { desc: m.desc, op: m.op, flags: Flags(0), ..Node::EMPTY };
        // SAFETY: as above.
        let loc = unsafe { self.place(t, &m.desc) }?;
        for i in 0..MAX_SRC {
            let id = if m.own == Some(i) {
                self.push(Node { desc: m.desc, ..Node::EMPTY }, loc)?
            } else {
                // SAFETY: as above.
                match unsafe { node::source(t, i) } {
                    // SAFETY: as above.
                    Some(s) => unsafe { self.source(s) }?,
                    None => continue,
                }
            };
            if let Some(to) = node.src.get_mut(i) {
                *to = id;
            }
        }
        let id = self.push(node, loc)?;
        self.known.add(t, id);
        self.any = true;
        Ok(())
    }

    /// # Safety
    /// `t` is a whole tensor.
    unsafe fn source(&mut self, t: &Tensor) -> Result<NodeId> {
        let known = self.known.find(t);
        if let Some(id) = known.filter(|id| !id.is_none()) {
            return Ok(id);
        }
        let unknown = Error::Invalid { what: "element type", value: i64::from(t.dtype) };
        let desc = self.codes.desc(t).ok_or(unknown)?;
        // SAFETY: the caller promises.
        let loc = unsafe { self.place(t, &desc) }?;
        let id = self.push(Node { desc, op: Op::None, ..Node::EMPTY }, loc)?;
        self.known.add(t, id);
        if known.is_none() {
            // SAFETY: the caller promises.
            self.seen.push(unsafe { Seen::of(t) });
        }
        Ok(id)
    }

    /// Where a tensor lies: slot and offset. Slot 0 is scratch memory.
    ///
    /// # Safety
    /// `t` is a whole tensor.
    unsafe fn place(&mut self, t: &Tensor, desc: &Desc) -> Result<Loc> {
        if desc.is_empty() {
            return Ok(Loc::ZERO);
        }
        let data = NonNull::new(t.data.cast::<u8>()).ok_or(Error::NotHost)?;
        let mut at = t.buffer;
        let mut root = t;
        if !t.view_src.is_null() {
            // SAFETY: a view's source is a whole tensor.
            root = unsafe { &*t.view_src };
            if at.is_null() {
                at = root.buffer;
            }
        }
        let (slot, base) = match NonNull::new(at) {
            // SAFETY: the buffer of a tensor.
            Some(b) => unsafe { self.slot(b) }?,
            None => {
                let base = NonNull::new(root.data.cast::<u8>()).unwrap_or(data);
                let size = data.addr().get().saturating_sub(base.addr().get());
                self.loose(base, size.saturating_add(desc.checked_span()?))?
            }
        };
        let offset = data.addr().get().checked_sub(base).ok_or(Error::Range {
            offset: 0,
            len: desc.bytes(),
            size: 0,
        })?;
        Ok(Loc { offset, slot })
    }

    /// # Safety
    /// `b` points to a buffer.
    unsafe fn slot(&mut self, b: NonNull<abi::Buffer>) -> Result<(u8, usize)> {
        let at = b.as_ptr();
        let is = |m: &Memory| matches!(m, Memory::Ours { at: x, .. } | Memory::Host { at: x, .. } if *x == at);
        let last = self.memory.get(self.last).filter(|m| is(m)).map(|_| self.last);
        let index = match last.or_else(|| self.memory.iter().position(is)) {
            Some(i) => i,
            None => {
                // SAFETY: the caller promises.
                if !unsafe { node::reaches(self.dev, at) } {
                    return Err(Error::ForeignObject { object: "buffer" });
                }
                // SAFETY: as above.
                let memory = match unsafe { buffer::held(at) } {
                    Some(h) => {
                        // SAFETY: as above.
                        buffer::usage(unsafe { &*at.cast::<Head>() }, h);
                        Memory::Ours { at, serial: h.serial }
                    }
                    // SAFETY: as above.
                    None => unsafe { Memory::host(at) }?,
                };
                self.memory.push(memory);
                self.memory.len() - 1
            }
        };
        self.last = index;
        let base = match self.memory.get(index) {
            // SAFETY: the buffer of a tensor.
            Some(Memory::Ours { .. }) => unsafe { buffer::held(at) }.map_or(0, |h| h.base.addr()),
            Some(Memory::Host { base, .. } | Memory::Loose { base, .. }) => base.addr().get(),
            None => 0,
        };
        Ok((number(index)?, base))
    }

    fn loose(&mut self, base: NonNull<u8>, size: usize) -> Result<(u8, usize)> {
        if !self.dev.host_memory {
            return Err(Error::ForeignObject { object: "memory without a buffer" });
        }
        let at = |m: &Memory| matches!(m, Memory::Loose { base: b, .. } if *b == base);
        let index = match self.memory.iter_mut().position(|m| at(m)) {
            Some(i) => {
                if let Some(Memory::Loose { size: have, .. }) = self.memory.get_mut(i) {
                    *have = (*have).max(size);
                }
                i
            }
            None => {
                self.memory.push(Memory::Loose { base, size });
                self.memory.len() - 1
            }
        };
        Ok((number(index)?, base.addr().get()))
    }

    fn finish(self, stream: &Stream, count: usize, scratch: &mut Scratch) -> Result<Translation> {
        let nodes = Fixed::new(self.nodes);
        let locs = Fixed::new(self.locs);
        // SAFETY: what is borrowed is dropped together with who borrows it; so in all that follows.
        let graph = Graph::check(unsafe { nodes.borrow() })?;
        let need = stream.scratch(graph);
        let scratch = scratch.of(self.dev, need)?;
        let lend = |m: &Memory| match *m {
            Memory::Ours { .. } => None,
            // SAFETY: memory of a buffer or tensor that the host keeps while its graph is computed.
            Memory::Host { base, size, .. } | Memory::Loose { base, size } => {
                // SAFETY: as above.
                Some(unsafe { lend(base, size) })
            }
        };
        let lent = Fixed::new(self.memory.iter().filter_map(lend).collect());
        // SAFETY: as above.
        let mut lent_next = unsafe { lent.borrow() }.iter();
        let mut bindings = Vec::with_capacity(self.memory.len() + 1);
        bindings.push(match &scratch {
            Some(b) => {
                // SAFETY: the translation holds the buffer.
                Binding::new(unsafe { &*Rc::as_ptr(b) })
            }
            None => Binding::NONE,
        });
        for m in &self.memory {
            let buffer: Option<&'static Buffer<'static>> = match *m {
                // SAFETY: the buffer of a tensor of the graph. The host doesn't free it while the graph is computed, and
                // a translation whose buffer is gone is never computed, since its graph can't come again.
                Memory::Ours { at, .. } => unsafe { buffer::held(at) }.map(|h| &h.buffer),
                _ => lent_next.next(),
            };
            bindings.push(buffer.map_or(Binding::NONE, Binding::new));
        }
        let bindings = Fixed::new(bindings);
        let summary = Summary { arena: need, scratch: need, align: 64, ..Summary::default() };
        // SAFETY: as above.
        let plan = Plan::from_parts(unsafe { locs.borrow() }, summary);
        // SAFETY: as above.
        let program = Program::new(graph, plan, unsafe { bindings.borrow() })?;
        Ok(Translation {
            program: self.any.then_some(program),
            _bindings: bindings,
            _lent: lent,
            _nodes: nodes,
            _locs: locs,
            _scratch: scratch,
            seen: self.seen,
            count,
            memory: self.memory,
        })
    }
}

/// The slot of memory `i`, behind that of the scratch memory.
fn number(i: usize) -> Result<u8> {
    u8::try_from(i + 1).map_err(|_| Error::Full {
        what: dinrail_core::error::What::Buffer,
        need: i + 1,
        have: usize::from(u8::MAX),
    })
}
