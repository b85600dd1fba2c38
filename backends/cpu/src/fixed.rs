//! A graph, its plan and its kernels as one table, made at compile time: what firmware runs.
//!
//! A stream finds a node's kernel when it computes it, so it brings every kernel along, and a program is checked node by
//! node when it is made. A [`Fixed`] table is filled in a `const`: it names just the kernels that its graph needs, so
//! that the linker drops the others, and every check that doesn't need an address is done by the compiler. What is
//! left for run time is to look at each slot once, in [`Fixed::bind`].
//!
//! | in flash | bytes on a 32-bit core |
//! |---|---|
//! | a node that computes | 8 |
//! | each of its operands | 6 |
//! | a type and shape, once for all operands that share it | 36 |
//! | an operation with its parameters, once for all nodes that share it | 40 |

mod sizes;

pub use sizes::{MOST_NODES, Sizes};

use crate::kernel::{Args, Operand};
use crate::{Kernel, Level, kernels};
use core::marker::PhantomData;
use dinrail_core::error::{Error, Result, What};
use dinrail_core::graph::{ARENA, Graph, MAX_SRC, Node, NodeId};
use dinrail_core::hal::Query;
use dinrail_core::hal::host::Worker;
use dinrail_core::op::{Op, Sources};
use dinrail_core::plan::Plan;
use dinrail_core::tensor::{DType, Desc};
use sizes::{computes, first_desc, same_op, sources, used};

/// Bytes of scratch memory that a plan for a table of this graph must hold.
///
/// # Errors
/// [`Error::Unsupported`] with the first node that the level has no kernel for.
pub const fn scratch(graph: Graph<'_>, level: Level) -> Result<usize> {
    let nodes = graph.nodes();
    let mut most = 0;
    let mut i = 0;
    while i < nodes.len() {
        if computes(&nodes[i]) {
            match resolve(nodes, i, level) {
                Ok((_, need)) if need > most => most = need,
                Ok(_) => {}
                Err(e) => return Err(e),
            }
        }
        i += 1;
    }
    Ok(most)
}

/// A node's kernel and the scratch memory that it needs.
const fn resolve(nodes: &[Node], i: usize, level: Level) -> Result<(Kernel, usize)> {
    let node = &nodes[i];
    let mut sources = Sources::NONE;
    let mut k = 0;
    while k < MAX_SRC {
        if !node.src[k].is_none() {
            sources = sources.with(k, nodes[node.src[k].index()].desc);
        }
        k += 1;
    }
    let query = Query { op: &node.op, dst: &node.desc, src: &sources };
    match kernels::resolve(level, &query) {
        Some(kernel) => Ok((kernel, kernels::scratch(level, &query, 1))),
        None => Err(Error::Unsupported { node: NodeId(i as u16), op: node.op.kind() }),
    }
}

/// An operand: where it lies and what it is. Six bytes, for a graph has hundreds of them.
#[derive(Clone, Copy, Debug)]
struct Place {
    /// Offset in the slot, its lower and its upper half.
    offset: [u16; 2],
    desc: u8,
    slot: u8,
}

impl Place {
    /// The offset is below 2^32: `reach` has checked that.
    const fn new(offset: usize, desc: u8, slot: u8) -> Self {
        Self { offset: [offset as u16, (offset as u32 >> 16) as u16], desc, slot }
    }

    #[inline(always)]
    fn offset(&self) -> usize {
        usize::from(self.offset[0]) | usize::from(self.offset[1]) << 16
    }
}

/// The slot of an operand that isn't there.
const ABSENT: u8 = u8::MAX;
/// The slot of an operand without elements.
const EMPTY: u8 = u8::MAX - 1;

/// A node that computes.
#[derive(Clone, Copy, Debug)]
struct Step {
    kernel: Kernel,
    /// Its operands: the result, then the sources.
    first: u16,
    count: u8,
    op: u8,
}

/// What a slot must be.
#[derive(Clone, Copy, Debug)]
struct Slot {
    bytes: usize,
    writable: bool,
}

/// Where a node's data lies, to be read or written between runs. Made by [`Port::of`], in a `const`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Port {
    slot: u8,
    dtype: DType,
    offset: usize,
    bytes: usize,
}

impl Port {
    /// A node of a graph with a plan.
    ///
    /// # Errors
    /// [`Error::NotFound`] for a node that isn't in the graph; [`Error::Size`] for one whose size can't be.
    pub const fn of(graph: Graph<'_>, plan: Plan<'_>, id: NodeId) -> Result<Self> {
        match (graph.node(id), plan.loc(id)) {
            (Some(node), Some(loc)) => match node.desc.checked_span() {
                Ok(bytes) => {
                    let dtype = node.desc.dtype;
                    Ok(Self { slot: loc.slot, dtype, offset: loc.offset, bytes })
                }
                Err(e) => Err(Error::Size(e)),
            },
            _ => Err(Error::NotFound),
        }
    }

    /// Bytes from its first to its last element.
    pub const fn bytes(&self) -> usize {
        self.bytes
    }
}

/// Memory for a slot.
#[derive(Debug)]
pub enum Memory<'a> {
    /// To be read: a model in flash.
    Read(&'a [u8]),
    /// To be read and written: the arena, a cache.
    Write(&'a mut [u8]),
}

/// The table of a graph. Its lengths are those that [`Sizes::of`] counts; `dinrail::static_plan!` fills them in.
#[derive(Debug)]
pub struct Fixed<
    const STEPS: usize,
    const OPERANDS: usize,
    const DESCS: usize,
    const OPS: usize,
    const SLOTS: usize,
> {
    steps: [Step; STEPS],
    places: [Place; OPERANDS],
    descs: [Desc; DESCS],
    ops: [Op; OPS],
    slots: [Slot; SLOTS],
    scratch_at: usize,
    scratch_bytes: usize,
}

/// Stands in until a step is filled in.
///
/// # Safety
/// None is needed.
unsafe fn nothing(_: &Args<'_>) -> Result<()> {
    Ok(())
}

impl<
    const STEPS: usize,
    const OPERANDS: usize,
    const DESCS: usize,
    const OPS: usize,
    const SLOTS: usize,
> Fixed<STEPS, OPERANDS, DESCS, OPS, SLOTS>
{
    /// Fills the table. Meant for a `static`; the level must be one that the crate was compiled for and that the
    /// processor has.
    ///
    /// # Errors
    /// [`Error::Unsupported`] with the first node that the level has no kernel for; [`Error::Mismatch`] for a plan of
    /// another graph or a table of other lengths than [`Sizes::of`] counts; [`Error::Full`] for a plan with too little scratch
    /// memory; [`Error::Misaligned`] for a tensor at an offset that doesn't suit its type; [`Error::ReadOnly`] for a
    /// node that would write to weights.
    pub const fn new(graph: Graph<'_>, plan: Plan<'_>, level: Level) -> Result<Self> {
        let nodes = graph.nodes();
        if nodes.len() > MOST_NODES {
            return Err(Error::Full { what: What::Nodes, need: nodes.len(), have: MOST_NODES });
        }
        let sizes = Sizes::of(graph);
        let used = used(nodes);
        // What the entries' numbers hold.
        let most = if sizes.descs > sizes.ops { sizes.descs } else { sizes.ops };
        if most > u8::MAX as usize || sizes.operands > u16::MAX as usize {
            return Err(Error::Full { what: What::Plan, need: most, have: u8::MAX as usize });
        }
        if plan.len() != nodes.len()
            || sizes.steps != STEPS
            || sizes.operands != OPERANDS
            || sizes.descs != DESCS
            || sizes.ops != OPS
            || sizes.slots != SLOTS
        {
            return Err(Error::Mismatch { graph: nodes.len(), plan: plan.len() });
        }
        let unused = Place::new(0, 0, ABSENT);
        let mut this = Self {
            steps: [Step { kernel: nothing, op: 0, first: 0, count: 0 }; STEPS],
            places: [unused; OPERANDS],
            descs: [Node::EMPTY.desc; DESCS],
            ops: [Op::None; OPS],
            slots: [Slot { bytes: 0, writable: false }; SLOTS],
            scratch_at: plan.summary().scratch_at,
            scratch_bytes: plan.summary().scratch,
        };
        this.slots[ARENA as usize] = Slot { bytes: plan.summary().arena, writable: true };
        let (mut step, mut place, mut descs, mut ops) = (0, 0, 0, 0);
        let mut i = 0;
        while i < nodes.len() {
            let node = &nodes[i];
            if used[i] && first_desc(nodes, &used, i) == i {
                this.descs[descs] = node.desc;
                descs += 1;
            }
            if let Err(e) = this.reach(nodes, plan, i) {
                return Err(e);
            }
            if computes(node) {
                let (kernel, need) = match resolve(nodes, i, level) {
                    Ok(r) => r,
                    Err(e) => return Err(e),
                };
                if need > this.scratch_bytes {
                    let have = this.scratch_bytes;
                    return Err(Error::Full { what: What::Scratch, need, have });
                }
                let mut op = 0;
                while op < ops && !same_op(&this.ops[op], &node.op) {
                    op += 1;
                }
                if op == ops {
                    this.ops[ops] = node.op;
                    ops += 1;
                }
                let count = sources(node);
                this.steps[step] =
                    Step { kernel, first: place as u16, count: count as u8, op: op as u8 };
                step += 1;
                this.places[place] = this.find(nodes, plan, i, descs);
                place += 1;
                let mut k = 0;
                while k < count {
                    if !node.src[k].is_none() {
                        this.places[place] = this.find(nodes, plan, node.src[k].index(), descs);
                    }
                    place += 1;
                    k += 1;
                }
            }
            i += 1;
        }
        Ok(this)
    }

    /// Makes node `i`'s slot large enough for it.
    const fn reach(&mut self, nodes: &[Node], plan: Plan<'_>, i: usize) -> Result<()> {
        let node = &nodes[i];
        let loc = plan.locs()[i];
        let bytes = match node.desc.checked_span() {
            Ok(n) => n,
            Err(e) => return Err(Error::Size(e)),
        };
        let end = match loc.offset.checked_add(bytes) {
            Some(n) => n,
            None => return Err(Error::Range { offset: loc.offset, len: bytes, size: usize::MAX }),
        };
        if bytes == 0 {
            return Ok(());
        }
        if end as u64 > u32::MAX as u64 {
            return Err(Error::Range { offset: loc.offset, len: bytes, size: u32::MAX as usize });
        }
        let align = node.desc.dtype.align();
        if !loc.offset.is_multiple_of(align) {
            return Err(Error::Misaligned { address: loc.offset, align });
        }
        if loc.slot as usize >= SLOTS {
            return Err(Error::Unbound { node: NodeId(i as u16), slot: loc.slot });
        }
        let slot = &mut self.slots[loc.slot as usize];
        if end > slot.bytes {
            if loc.slot == ARENA {
                return Err(Error::Range { offset: loc.offset, len: bytes, size: slot.bytes });
            }
            slot.bytes = end;
        }
        if computes(node) {
            slot.writable = true;
        }
        Ok(())
    }

    const fn find(&self, nodes: &[Node], plan: Plan<'_>, i: usize, descs: usize) -> Place {
        let loc = plan.locs()[i];
        let mut desc = 0;
        while desc < descs && !self.descs[desc].same_layout(&nodes[i].desc) {
            desc += 1;
        }
        let slot = if nodes[i].desc.is_empty() { EMPTY } else { loc.slot };
        Place::new(loc.offset, desc as u8, slot)
    }

    /// Bytes that a slot must have at least.
    pub const fn slot_bytes(&self, slot: u8) -> usize {
        if (slot as usize) < SLOTS { self.slots[slot as usize].bytes } else { 0 }
    }

    /// Gives every slot its memory: `memory[0]` is the arena. Allocates nothing and looks at no node.
    ///
    /// # Errors
    /// [`Error::Full`] for a slot that is too small, with both sizes; [`Error::Misaligned`] for one that doesn't begin at a
    /// multiple of 8 (`dinrail::include_model!` and `dinrail::static_arena!` align); [`Error::ReadOnly`] where results go
    /// to memory that may only be read.
    pub fn bind<'a>(&'static self, memory: [Memory<'a>; SLOTS]) -> Result<Bound<'a, Self>> {
        let mut bases = [core::ptr::null_mut(); MAX_SLOTS];
        const { assert!(SLOTS <= MAX_SLOTS, "a table has at most 8 slots") }
        for (i, (memory, slot)) in memory.into_iter().zip(&self.slots).enumerate() {
            let (base, have, writable) = match memory {
                Memory::Read(bytes) => (bytes.as_ptr().cast_mut(), bytes.len(), false),
                Memory::Write(bytes) => (bytes.as_mut_ptr(), bytes.len(), true),
            };
            if !base.addr().is_multiple_of(BASE_ALIGN) && slot.bytes > 0 {
                return Err(Error::Misaligned { address: base.addr(), align: BASE_ALIGN });
            }
            if slot.bytes > have {
                let what = if i == 0 { What::Arena } else { What::Buffer };
                return Err(Error::Full { what, need: slot.bytes, have });
            }
            if slot.writable && !writable {
                return Err(Error::ReadOnly);
            }
            if let Some(to) = bases.get_mut(i) {
                *to = base;
            }
        }
        Ok(Bound { table: self, bases, memory: PhantomData })
    }

    #[inline(always)]
    fn operand(&self, at: &Place, bases: &[*mut u8; MAX_SLOTS]) -> Option<Operand<'_>> {
        let desc = self.descs.get(usize::from(at.desc))?;
        let ptr = match bases.get(usize::from(at.slot)) {
            Some(base) => base.wrapping_add(at.offset()),
            None if at.slot == EMPTY => core::ptr::null_mut(),
            None => return None,
        };
        Some(Operand { desc, ptr })
    }
}

/// Most slots of a table.
pub const MAX_SLOTS: usize = 8;
/// What every slot must begin at a multiple of: the strictest element type.
const BASE_ALIGN: usize = 8;

/// What [`Bound`] needs of a table, whatever its lengths.
pub trait Table: sealed::Table {}
impl<T: sealed::Table> Table for T {}

mod sealed {
    use super::*;

    pub trait Table: 'static {
        /// Number of steps.
        const STEPS: usize;

        /// Computes a step. Nothing for a number past the last.
        ///
        /// # Safety
        /// `bases` are memory as [`Fixed::bind`] has checked it, which nobody else uses meanwhile.
        unsafe fn step(&self, step: usize, bases: &[*mut u8; MAX_SLOTS]) -> Result<()>;

        /// Bytes of a slot, and whether results go there.
        fn slot(&self, slot: u8) -> (usize, bool);
    }

    impl<
        const STEPS: usize,
        const OPERANDS: usize,
        const DESCS: usize,
        const OPS: usize,
        const SLOTS: usize,
    > Table for Fixed<STEPS, OPERANDS, DESCS, OPS, SLOTS>
    {
        const STEPS: usize = STEPS;

        unsafe fn step(&self, step: usize, bases: &[*mut u8; MAX_SLOTS]) -> Result<()> {
            let Some(step) = self.steps.get(step) else { return Ok(()) };
            let first = usize::from(step.first);
            let places = self.places.get(first..).unwrap_or(&[]);
            let (Some((dst, sources)), Some(op)) =
                (places.split_first(), self.ops.get(usize::from(step.op)))
            else {
                return Ok(());
            };
            let Some(dst) = self.operand(dst, bases) else { return Ok(()) };
            let mut src = [None; MAX_SRC];
            for (to, at) in src.iter_mut().zip(sources).take(usize::from(step.count)) {
                *to = self.operand(at, bases);
            }
            let args = Args {
                op,
                dst,
                src,
                worker: &Worker::ALONE,
                scratch: bases[0].wrapping_add(self.scratch_at),
                scratch_len: self.scratch_bytes,
            };
            // SAFETY: the kernel was resolved for this node, at a level that the crate is compiled for; `new` has checked
            // that every operand lies in its slot and results in slots that may be written; the caller answers for
            // the memory.
            unsafe { (step.kernel)(&args) }
        }

        fn slot(&self, slot: u8) -> (usize, bool) {
            self.slots.get(usize::from(slot)).map_or((0, false), |s| (s.bytes, s.writable))
        }
    }
}

/// A table with its memory, ready to be run any number of times.
///
/// ```text
/// bound.write(IN)?.copy_from_slice(&samples);   // ports are constants
/// bound.run()?;
/// let result: &[f32] = bound.read(OUT)?;
/// ```
#[derive(Debug)]
pub struct Bound<'a, T: Table> {
    table: &'static T,
    bases: [*mut u8; MAX_SLOTS],
    memory: PhantomData<&'a mut [u8]>,
}

impl<T: Table> Bound<'_, T> {
    /// Number of steps of a run.
    pub const STEPS: usize = T::STEPS;

    /// Computes everything.
    ///
    /// # Errors
    /// What kernels report: a row number out of range.
    pub fn run(&mut self) -> Result<()> {
        let mut next = 0;
        while next < T::STEPS {
            next = self.step(next)?;
        }
        Ok(())
    }

    /// Computes step `next`, one node, and returns the number of the one behind it: a run begins at 0 and is done at
    /// [`STEPS`](Self::STEPS). In between, the caller does what can't wait; it must not write to inputs.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn step(&mut self, next: usize) -> Result<usize> {
        // SAFETY: `bind` has checked the memory, which this value borrows.
        unsafe { self.table.step(next, &self.bases) }?;
        Ok(next.saturating_add(1))
    }

    fn place<E: Element>(&self, port: Port, write: bool) -> Result<(*mut E, usize)> {
        let (size, writable) = self.table.slot(port.slot);
        if port.dtype as u8 != E::DTYPE as u8 {
            return Err(Error::Invalid { what: "element type", value: port.dtype as i64 });
        }
        if port.offset > size || port.bytes > size - port.offset {
            return Err(Error::Range { offset: port.offset, len: port.bytes, size });
        }
        if write && !writable {
            return Err(Error::ReadOnly);
        }
        let base = self.bases.get(usize::from(port.slot)).copied().unwrap_or_default();
        let p = base.wrapping_add(port.offset).cast::<E>();
        if p.is_null() || !p.is_aligned() {
            return Err(Error::Misaligned { address: p.addr(), align: align_of::<E>() });
        }
        Ok((p, port.bytes / size_of::<E>()))
    }

    /// A node's elements, gaps between them included.
    ///
    /// # Errors
    /// [`Error::Invalid`] for another type than the node's; [`Error::Range`] for a port of another table.
    pub fn read<E: Element>(&self, port: Port) -> Result<&[E]> {
        let (p, n) = self.place(port, false)?;
        // SAFETY: the range lies in memory that this value borrows, is initialised and aligned, and any bytes make an
        // `E`; `&self` keeps writers out.
        Ok(unsafe { core::slice::from_raw_parts(p, n) })
    }

    /// As [`read`](Self::read), to be written.
    ///
    /// # Errors
    /// As `read`; [`Error::ReadOnly`] for a slot that holds no results.
    pub fn write<E: Element>(&mut self, port: Port) -> Result<&mut [E]> {
        let (p, n) = self.place(port, true)?;
        // SAFETY: as in `read`; the slot was lent for writing, and `&mut self` keeps everybody else out.
        Ok(unsafe { core::slice::from_raw_parts_mut(p, n) })
    }
}

/// A type that elements are read and written as. Half-precision numbers are their bits.
pub trait Element: sealed_element::Sealed + Copy {
    /// The elements' type.
    const DTYPE: DType;
}

mod sealed_element {
    pub trait Sealed {}
}

macro_rules! elements {
    ($($t:ty = $dtype:ident;)*) => {$(
        impl sealed_element::Sealed for $t {}
        impl Element for $t {
            const DTYPE: DType = DType::$dtype;
        }
    )*};
}

elements! {
    f32 = F32; u16 = F16; i32 = I32; i64 = I64; i8 = I8;
}
