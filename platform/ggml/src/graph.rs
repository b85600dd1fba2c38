//! From a program to a graph of ggml's.
//!
//! Tensors and graph are made by the library's own functions, so that only the layout of a tensor is taken for granted,
//! and that was checked when the library was loaded. Nodes outside the program's range that are read inside it become
//! leaves.
//!
//! New releases compute some runs of nodes in one kernel when nobody else reads what lies between. dinrail's planner
//! gives memory back at the node that reads it last, and such a kernel reads it later than that; where the two would
//! meet, the node is marked as an output, which keeps it out of runs.

use crate::abi::{self, Tensor, TensorFlag, params};
use crate::base::{Context, Functions};
use crate::buffer::{State as BufferState, failed};
use crate::cache::Bound;
use crate::limits;
use crate::numbers::Numbers;
use crate::rows::{self, Rows};
use crate::stream::State;
use core::ptr::{NonNull, null_mut};
use dinrail_core::graph::{Flags, MAX_SRC, Node, NodeId, Place};
use dinrail_core::hal::{Buffer, Device as _, DeviceKind, Query};
use dinrail_core::plan::Loc;
use dinrail_core::program::Program;
use dinrail_core::tensor::Desc;
use dinrail_core::{Error, Result};

/// Longest run of nodes that some backend computes in one kernel.
const RUN: usize = 12;

/// Writes type, lengths and strides.
fn describe(numbers: &Numbers, t: &mut Tensor, d: &Desc) -> Option<()> {
    t.dtype = numbers.dtype(d.dtype)?;
    for (to, n) in t.ne.iter_mut().zip(d.ne) {
        *to = i64::try_from(n).ok()?;
    }
    t.nb = d.nb;
    Some(())
}

/// Writes operation and parameters; `view` is a view's offset from its source.
fn operate(
    numbers: &Numbers,
    t: &mut Tensor,
    op: &dinrail_core::op::Op,
    view: usize,
) -> Option<()> {
    t.op = numbers.op(op.kind())?;
    t.op_params = params::encode(op, view, numbers)?;
    Some(())
}

/// Makes a node with its sources, without memory, and asks `f` about it. `None` where the release can't say it.
pub(crate) fn scratch<R>(
    numbers: &Numbers,
    query: &Query<'_>,
    f: impl FnOnce(*const Tensor) -> R,
) -> Option<R> {
    let mut sources = [Tensor::ZERO; MAX_SRC];
    let mut t = Tensor::ZERO;
    describe(numbers, &mut t, query.dst)?;
    operate(numbers, &mut t, query.op, 0)?;
    let none = numbers.op(dinrail_core::op::Kind::None)?;
    for (i, s) in sources.iter_mut().enumerate() {
        if let Some(d) = query.src.source(i) {
            describe(numbers, s, d)?;
            s.op = none;
            if let Some(to) = t.src.get_mut(i) {
                *to = s;
            }
        }
    }
    if let Some(i) = query.op.alias()
        && let Some(s) = t.src.get(i)
    {
        t.view_src = *s;
    }
    Some(f(&raw const t))
}

/// A graph of the library's with everything that it refers to.
#[derive(Debug)]
pub(crate) struct Translation {
    graph: Option<NonNull<abi::Graph>>,
    ctx: *mut Context,
    free: unsafe extern "C" fn(*mut Context),
    /// Host memory of others, lent to the library for this graph.
    lent: Vec<Option<Box<BufferState>>>,
    /// Row numbers to be looked at each time.
    rows: Vec<Rows>,
    nodes: usize,
}

impl Drop for Translation {
    fn drop(&mut self) {
        // SAFETY: made by `ggml_init`, freed once; the graph in it is not used any more.
        unsafe { (self.free)(self.ctx) };
    }
}

/// Memory of a slot, in the library's terms.
#[derive(Clone, Copy)]
struct Memory<'a> {
    buffer: &'a BufferState,
    base: *mut u8,
}

/// The memory that a node reads or writes, as slot, first byte and end.
#[derive(Clone, Copy, PartialEq)]
struct Range(u8, usize, usize);

impl Range {
    fn meets(self, other: Self) -> bool {
        self.0 == other.0 && self.1 < other.2 && other.1 < self.2
    }
}

impl Translation {
    /// The graph for a program that this is a translation of; `None` if there is nothing to compute.
    ///
    /// # Errors
    /// A row number outside its table.
    pub(crate) fn graph(&self, program: &Program<'_>) -> Result<Option<*mut abi::Graph>> {
        rows::check(program, &self.rows)?;
        Ok(self.graph.map(NonNull::as_ptr))
    }

    /// How many tensors it holds.
    pub(crate) const fn nodes(&self) -> usize {
        self.nodes
    }

    /// What the slots are bound to.
    pub(crate) fn bound(state: &State, program: &Program<'_>) -> Vec<Bound> {
        let of = |b: &dinrail_core::program::Binding<'_>| {
            let Some(buffer) = b.buffer() else { return Bound::Nothing };
            let offset = b.offset();
            match state.device.owner().buffer_of(buffer) {
                Some(s) => Bound::Ours { serial: s.serial, offset },
                None => {
                    let start = buffer.host().map_or(0, |p| p.as_ptr().addr());
                    Bound::Host { start, size: buffer.size(), offset }
                }
            }
        };
        program.bindings().iter().map(of).collect()
    }

    pub(crate) fn new(state: &State, program: &Program<'_>) -> Result<Self> {
        const NONE: Error = Error::NotOffered { function: "ggml_new_graph_custom" };
        let (fns, numbers) = (state.base.ok_or(NONE)?, state.numbers.as_ref().ok_or(NONE)?);
        all_known(state, numbers, program)?;
        let nodes = program.graph().nodes();
        let needed = needed(nodes, program);
        let count = needed.iter().filter(|&&n| n).count();
        let ctx = context(&fns, count)?;
        let mut this = Self {
            graph: None,
            ctx,
            free: fns.free,
            lent: Vec::new(),
            rows: Vec::new(),
            nodes: count,
        };
        this.lent = lend(state, program, &needed)?;
        if state.device.kind() == DeviceKind::Cpu {
            this.rows = rows::of(program);
        }
        let mut tensors: Vec<*mut Tensor> = vec![null_mut(); nodes.len()];
        for (i, node) in nodes.iter().enumerate() {
            if needed.get(i) == Some(&true) {
                let t = this.tensor(state, program, &fns, numbers, &tensors, i, node)?;
                if let Some(to) = tensors.get_mut(i) {
                    *to = t;
                }
            }
        }
        mark_outputs(program, &tensors);
        this.ask(state, program, &tensors)?;
        // SAFETY: the context has room for a graph of this size.
        let graph = unsafe { (fns.new_graph)(ctx, count.max(1), false) };
        let graph = NonNull::new(graph).ok_or(failed("ggml_new_graph_custom"))?;
        let mut any = false;
        for i in program.range() {
            let (Some(node), Some(&t)) = (nodes.get(i), tensors.get(i)) else { continue };
            any |= !node.op.is_view();
            if !matches!(node.op, dinrail_core::op::Op::None) {
                // SAFETY: graph and tensor are of this context; sources come first, so each call adds one node and
                // the order is the program's.
                unsafe { (fns.expand)(graph.as_ptr(), t) };
            }
        }
        this.graph = any.then_some(graph);
        Ok(this)
    }

    /// The slot's memory, the library's own or lent to it.
    fn memory<'a>(&'a self, state: &State, program: &Program<'a>, slot: u8) -> Option<Memory<'a>> {
        let binding = program.bindings().get(usize::from(slot))?;
        let buffer: &'a Buffer<'a> = binding.buffer()?;
        let ours = state.device.owner().buffer_of(buffer);
        let (buffer, base) = match (ours, self.lent.get(usize::from(slot))) {
            (Some(b), _) => (b, b.base),
            (None, Some(Some(b))) => (&**b, buffer.host()?.as_ptr()),
            _ => return None,
        };
        Some(Memory { buffer, base: base.wrapping_add(binding.offset()) })
    }

    fn tensor(
        &self,
        state: &State,
        program: &Program<'_>,
        fns: &Functions,
        numbers: &Numbers,
        tensors: &[*mut Tensor],
        i: usize,
        node: &Node,
    ) -> Result<*mut Tensor> {
        let id = NodeId(i as u16);
        let cant = Error::Unsupported { node: id, op: node.op.kind() };
        // SAFETY: the context has room for this tensor; the fields are filled below.
        let ptr = unsafe { (fns.new_tensor)(self.ctx, 0, 1, 1, 1, 1) };
        if ptr.is_null() {
            return Err(failed("ggml_new_tensor_4d"));
        }
        // SAFETY: a new tensor of the layout that was checked; nobody else knows it yet.
        let t = unsafe { &mut *ptr };
        describe(numbers, t, &node.desc).ok_or(cant)?;
        let inside = program.range().contains(&i);
        let op = if inside { node.op } else { dinrail_core::op::Op::None };
        let offset = match node.place {
            Place::Within { offset, .. } => offset,
            _ => 0,
        };
        operate(numbers, t, &op, offset).ok_or(cant)?;
        if inside {
            for (to, s) in t.src.iter_mut().zip(node.src) {
                if let Some(&p) = tensors.get(s.index()) {
                    *to = p;
                }
            }
        }
        t.flags = if node.flags.has(Flags::INPUT) { TensorFlag::Input as i32 } else { 0 };
        if node.flags.has(Flags::OUTPUT) {
            t.flags |= TensorFlag::Output as i32;
        }
        let loc = program.plan().loc(id).ok_or(Error::NotFound)?;
        let memory = match self.memory(state, program, loc.slot) {
            Some(m) => m,
            // A tensor without bytes needs no memory of its own, but a buffer to belong to.
            None if node.desc.is_empty() => match self.memory(state, program, 0) {
                Some(m) => m,
                None => return Ok(ptr),
            },
            None => return Err(Error::ForeignObject { object: "buffer" }),
        };
        t.buffer = memory.buffer.ptr;
        t.data = memory.base.wrapping_add(loc.offset).cast();
        if let Some(root) = root(program, i)
            && let Some(&p) = tensors.get(root)
            && !p.is_null()
        {
            t.view_src = p;
            let first = program.plan().loc(NodeId(root as u16)).map_or(0, |l| l.offset);
            t.view_offs = loc.offset.wrapping_sub(first);
        }
        if memory.buffer.fns.prepares() {
            // SAFETY: the tensor is placed in this buffer.
            unsafe { memory.buffer.init_tensor(ptr) }?;
        }
        Ok(ptr)
    }

    /// Asks the device about every node, since it may stop the process on one that it has no kernel for.
    fn ask(&self, state: &State, program: &Program<'_>, tensors: &[*mut Tensor]) -> Result<()> {
        for (id, node) in program.nodes().filter(|(_, n)| !n.op.is_view()) {
            let t = tensors.get(id.index()).copied().unwrap_or(null_mut());
            // SAFETY: a tensor of ours, whole with its sources.
            if t.is_null() || !unsafe { state.handle.supports(t) } {
                return Err(Error::Unsupported { node: id, op: node.op.kind() });
            }
        }
        Ok(())
    }
}

/// Whether the release has the operation with these parameters and types, and no limit of its own is in the way.
pub(crate) fn known(numbers: &Numbers, kind: DeviceKind, query: &Query<'_>) -> bool {
    limits::of_release(numbers, query)
        && (kind != DeviceKind::Cpu || numbers.own || limits::of_cpu(numbers, query))
        && scratch(numbers, query, |_| ()).is_some()
}

/// Refuses the first node that the release can't say, before anything is made.
fn all_known(state: &State, numbers: &Numbers, program: &Program<'_>) -> Result<()> {
    for (id, node) in program.nodes().filter(|(_, n)| !n.op.is_view()) {
        let sources = Query::sources(program.graph(), id);
        if !known(numbers, state.device.kind(), &Query::of(node, &sources)) {
            return Err(Error::Unsupported { node: id, op: node.op.kind() });
        }
    }
    Ok(())
}

/// The nodes of the range, what they read, and the memory behind views of these.
fn needed(nodes: &[Node], program: &Program<'_>) -> Vec<bool> {
    let mut needed = vec![false; nodes.len()];
    let mut need = |i: usize| {
        if let Some(n) = needed.get_mut(i) {
            *n = true;
        }
        if let Some(r) = root(program, i)
            && let Some(n) = needed.get_mut(r)
        {
            *n = true;
        }
    };
    for (id, node) in program.nodes() {
        need(id.index());
        node.src.iter().filter(|s| !s.is_none()).for_each(|s| need(s.index()));
    }
    needed
}

/// The node whose memory node `i` lies in, for views; never a view itself.
fn root(program: &Program<'_>, i: usize) -> Option<usize> {
    let nodes = program.graph().nodes();
    let mut at = i;
    while let Some(n) = nodes.get(at)
        && let Place::Within { source, .. } = n.place
        && let Some(s) = n.source(usize::from(source))
        && s.index() < at
    {
        at = s.index();
    }
    (at != i).then_some(at)
}

fn context(fns: &Functions, count: usize) -> Result<*mut Context> {
    // SAFETY: no parameters, no state.
    let each = unsafe { (fns.tensor_overhead)() };
    // SAFETY: a plain number.
    let graph = unsafe { (fns.graph_overhead)(count.max(1), false) };
    let mem_size = count * (each + 16) + graph + 4096;
    // SAFETY: plain values.
    let ctx =
        unsafe { (fns.init)(abi::InitParams { mem_size, mem_buffer: null_mut(), no_alloc: true }) };
    if ctx.is_null() {
        return Err(Error::OutOfMemory { requested: mem_size, available: usize::MAX });
    }
    Ok(ctx)
}

/// Lends the host memory of others that slots are bound to, if a needed node lies there.
fn lend(
    state: &State,
    program: &Program<'_>,
    needed: &[bool],
) -> Result<Vec<Option<Box<BufferState>>>> {
    let device = state.device;
    let align = device.host_alignment();
    let nodes = program.graph().nodes();
    let used = |slot: usize| {
        let here = |(n, l): (&bool, &Loc)| *n && usize::from(l.slot) == slot;
        let mut places = needed.iter().zip(program.plan().locs()).zip(nodes);
        places.any(|(place, node)| here(place) && !node.desc.is_empty())
    };
    let one = |(slot, b): (usize, &dinrail_core::program::Binding<'_>)| {
        let Some(buffer) = b.buffer().filter(|_| used(slot)) else { return Ok(None) };
        if device.owner().buffer_of(buffer).is_some() || buffer.size() == 0 {
            return Ok(None);
        }
        let start = buffer.host().ok_or(Error::ForeignObject { object: "buffer" })?;
        // Devices want a start that is aligned; what lies before it is in the same line or page and isn't touched.
        let before = start.as_ptr().addr() % align;
        let start = NonNull::new(start.as_ptr().wrapping_sub(before)).unwrap_or(start);
        let size = buffer.size() + before;
        // SAFETY: the program borrows the memory; the translation is used only with programs bound to the same
        // memory, and its buffer does not touch it when it is freed.
        let made = device.with(|l, p| unsafe { device.lend(l, p, start, size, size) });
        match made {
            Ok((state, _)) => Ok(Some(state)),
            Err(Error::NotOffered { .. } | Error::Device { .. }) => {
                Err(Error::ForeignObject { object: "buffer" })
            }
            Err(e) => Err(e),
        }
    };
    program.bindings().iter().enumerate().map(one).collect()
}

fn output(t: *mut Tensor) {
    if !t.is_null() {
        // SAFETY: a tensor of ours that nobody else uses yet.
        unsafe { (*t).flags |= TensorFlag::Output as i32 };
    }
}

/// Marks what must be stored although nobody else in the range reads it, and what may not be part of a run because a
/// later node of the run would overwrite what it reads.
fn mark_outputs(program: &Program<'_>, tensors: &[*mut Tensor]) {
    let nodes = program.graph().nodes();
    let range = program.range();
    for later in nodes.get(range.end..).unwrap_or(&[]) {
        for s in later.src.iter().filter(|s| range.contains(&s.index())) {
            output(tensors.get(s.index()).copied().unwrap_or(null_mut()));
        }
    }
    let memory = |i: usize| {
        let (node, loc) = (nodes.get(i)?, program.plan().loc(NodeId(i as u16))?);
        Some(Range(loc.slot, loc.offset, loc.offset + node.desc.bytes()))
    };
    for i in range.clone() {
        let Some(node) = nodes.get(i) else { continue };
        let t = tensors.get(i).copied().unwrap_or(null_mut());
        if node.op.is_view() {
            continue;
        }
        // What lies in a slot of the caller's may be read by the caller.
        if matches!(node.place, Place::Slot { .. }) {
            output(t);
        }
        let mut computed = 0;
        for j in i + 1..range.end {
            let Some(after) = nodes.get(j) else { break };
            if after.op.is_view() {
                continue;
            }
            computed += 1;
            if computed > RUN {
                break;
            }
            let Some(written) = memory(j) else { break };
            let hit = node.src.iter().enumerate().any(|(k, s)| {
                let read = if s.is_none() { None } else { memory(s.index()) };
                // Row by row in place is what every kernel of a run can do.
                read.is_some_and(|r| r.meets(written) && !(r == written && node.op.may_reuse(k)))
            });
            if hit {
                output(t);
                break;
            }
        }
    }
}
