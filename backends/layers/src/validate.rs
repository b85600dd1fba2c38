//! Checks that a device keeps its side of the contract.

use crate::Hook;
use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;
use core::sync::atomic::{AtomicUsize, Ordering};
use dinrail_core::error::{Error, Result};
use dinrail_core::graph::{Flags, Node, NodeId};
use dinrail_core::hal::{Buffer, Query, Stream};
use dinrail_core::program::Program;
use dinrail_core::tensor::{DType, Desc};

/// What a device did that it may not do.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Violation {
    /// `supports` said no to a node, but computing it didn't give `Unsupported` with that node.
    NotRefused {
        /// The node.
        node: NodeId,
        /// What computing gave.
        result: Result<()>,
    },
    /// `supports` said yes to every node, but computing gave `Unsupported`.
    Refused {
        /// What computing gave.
        error: Error,
    },
    /// A byte changed that belongs to no result: a source, a neighbour, memory outside the buffer.
    Wrote {
        /// Number of the slot.
        slot: usize,
        /// The byte, counted from the start of the buffer; negative in front of it, from its size on behind it.
        offset: isize,
    },
    /// An element of a result was not written, or was computed from memory that nobody had written.
    Unwritten {
        /// The node.
        node: NodeId,
    },
    /// A byte in front of or behind a buffer had changed when it was freed.
    Margin {
        /// As in `Wrote`.
        offset: isize,
    },
}

impl core::fmt::Display for Violation {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Violation::NotRefused { node, result: Ok(()) } => {
                write!(f, "node {}: `supports` said no, yet it was computed", node.index())
            }
            Violation::NotRefused { node, result: Err(e) } => write!(
                f,
                "node {}: `supports` said no; the answer should be `Unsupported` but is: {e}",
                node.index()
            ),
            Violation::Refused { error } => {
                write!(f, "`supports` said yes to all nodes, yet: {error}")
            }
            Violation::Wrote { slot, offset } => {
                write!(
                    f,
                    "byte {offset} of the buffer in slot {slot} changed, which is no result's"
                )
            }
            Violation::Unwritten { node } => {
                write!(f, "node {}: an element was left unwritten", node.index())
            }
            Violation::Margin { offset } => {
                write!(f, "byte {offset}, outside the buffer, had changed when it was freed")
            }
        }
    }
}

/// Bytes in front of and behind each buffer: a multiple of every alignment in use, and more than any vector.
const MARGIN: usize = 512;

/// What the margins hold.
fn sentinel(i: usize) -> u8 {
    (i as u8).wrapping_mul(37) ^ 0xA5
}

/// What memory holds before a result is written there: as floats, a NaN that no instruction makes.
const POISON: u8 = 0xFF;

/// Runs every check round each computation. Slow: it copies all memory that the program is bound to. Steps
/// and prepared programs pass unchecked.
///
/// Before a program runs, the memory of its results is filled with a NaN; so a device that reads what it has not written,
/// or leaves a hole, shows it. A computation that violates the contract gives [`Error::Device`] besides the report.
pub struct Validate {
    report: fn(&Violation),
    violations: AtomicUsize,
}

impl Validate {
    /// Reports to a function.
    pub const fn new(report: fn(&Violation)) -> Self {
        Self { report, violations: AtomicUsize::new(0) }
    }

    /// How many violations there were.
    pub fn violations(&self) -> usize {
        self.violations.load(Ordering::Acquire)
    }

    fn found(&self, v: &Violation) -> Error {
        self.violations.fetch_add(1, Ordering::AcqRel);
        (self.report)(v);
        Error::Device { call: "compute (it broke the contract, see the report)", code: 0 }
    }
}

impl core::fmt::Debug for Validate {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Validate").field("violations", &self.violations).finish_non_exhaustive()
    }
}

/// Memory of one buffer that a program is bound to.
struct Image<'a> {
    slot: usize,
    /// Bytes in front of what the program sees of it: none for memory that the caller lent.
    margin: usize,
    buffer: &'a Buffer<'a>,
    before: Vec<u8>,
    /// For each byte: what may happen to it.
    marks: Vec<u8>,
}

/// A result lies here.
const RESULT: u8 = 1;
/// Something lies here that is there before the program starts.
const GIVEN: u8 = 2;

impl Image<'_> {
    fn mark(&mut self, range: Range<usize>, mark: u8) {
        for m in self.marks.get_mut(range).unwrap_or_default() {
            *m |= mark;
        }
    }

    fn read(&self) -> Result<Vec<u8>> {
        let mut now = vec![0; self.buffer.size()];
        self.buffer.read(0, &mut now)?;
        Ok(now)
    }
}

/// Calls `f` with the range of bytes of every block of a tensor at `offset`.
fn blocks(d: &Desc, offset: usize, mut f: impl FnMut(Range<usize>)) {
    let size = d.dtype.block_bytes();
    for i3 in 0..d.ne[3] {
        for i2 in 0..d.ne[2] {
            for i1 in 0..d.ne[1] {
                for i0 in 0..d.ne[0] / d.dtype.block_len() {
                    let at = offset + i0 * d.nb[0] + d.row_offset(i1, i2, i3);
                    f(at..at + size);
                }
            }
        }
    }
}

/// Whether a node writes all of its result, and nothing that was there before.
fn makes(node: &Node) -> bool {
    !node.op.is_view() && node.op.alias().is_none()
}

fn images<'a>(program: &Program<'a>) -> Result<Vec<Image<'a>>> {
    let mut images: Vec<Image<'a>> = Vec::new();
    for (slot, binding) in program.bindings().iter().enumerate() {
        let Some(buffer) = binding.buffer() else { continue };
        if images.iter().any(|i| core::ptr::eq(i.buffer, buffer)) {
            continue;
        }
        let margin = binding.offset().min(MARGIN);
        let mut image =
            Image { slot, margin, buffer, before: Vec::new(), marks: vec![0; buffer.size()] };
        image.before = image.read()?;
        images.push(image);
    }
    let range = program.range();
    for (i, node) in program.graph().nodes().iter().enumerate() {
        let id = NodeId(i as u16);
        let (Some((buffer, offset)), false) = (program.place(id), node.desc.is_empty()) else {
            continue;
        };
        let Some(image) = images.iter_mut().find(|m| core::ptr::eq(m.buffer, buffer)) else {
            continue;
        };
        let computed = range.contains(&i);
        if computed && !node.op.is_view() {
            blocks(&node.desc, offset, |r| image.mark(r, RESULT));
        }
        // A view says nothing of its own; what it looks at is marked already.
        if matches!(node.op, dinrail_core::op::Op::None) || !computed && makes(node) {
            blocks(&node.desc, offset, |r| image.mark(r, GIVEN));
        }
    }
    scratch(program, &mut images);
    Ok(images)
}

/// Kernels may write to the program's scratch memory.
fn scratch(program: &Program<'_>, images: &mut [Image<'_>]) {
    let need = program.plan().summary().scratch;
    let Ok((ptr, len)) = program.scratch(need) else { return };
    for image in images {
        let Some(base) = image.buffer.host() else { continue };
        if let Some(offset) = ptr.addr().checked_sub(base.as_ptr().addr()) {
            image.mark(offset..offset.saturating_add(len).min(image.buffer.size()), RESULT);
        }
    }
}

/// Fills what will be written, and isn't read before, with poison.
fn poison(images: &[Image<'_>]) -> Result<()> {
    for image in images.iter().filter(|i| i.buffer.is_writable()) {
        let mut bytes = image.before.clone();
        for (b, m) in bytes.iter_mut().zip(&image.marks) {
            if *m == RESULT {
                *b = POISON;
            }
        }
        image.buffer.write(0, &bytes)?;
    }
    Ok(())
}

impl Validate {
    fn refusal(
        &self,
        unsupported: Option<NodeId>,
        promised: bool,
        result: Result<()>,
    ) -> Result<()> {
        match (unsupported, result) {
            // The first one; before it there may be one without elements.
            (Some(id), Err(Error::Unsupported { node, .. })) if node.index() <= id.index() => {
                result
            }
            (Some(node), _) => Err(self.found(&Violation::NotRefused { node, result })),
            (None, Err(error @ Error::Unsupported { .. })) if promised => {
                Err(self.found(&Violation::Refused { error }))
            }
            (None, _) => result,
        }
    }

    fn memory(&self, images: &[Image<'_>]) -> Result<()> {
        for image in images {
            let now = image.read()?;
            let changed = |i: &usize| {
                let kept = image.marks.get(*i).is_some_and(|m| m & RESULT == 0);
                kept && image.before.get(*i) != now.get(*i)
            };
            if let Some(i) = (0..now.len()).find(changed) {
                let offset = i as isize - image.margin as isize;
                return Err(self.found(&Violation::Wrote { slot: image.slot, offset }));
            }
        }
        Ok(())
    }

    fn holes(&self, program: &Program<'_>, images: &[Image<'_>]) -> Result<()> {
        for (node, n) in program.nodes() {
            let checked = makes(n) && n.flags.has(Flags::OUTPUT) && n.desc.dtype.is_float();
            let (true, Some((buffer, offset))) = (checked, program.place(node)) else { continue };
            let Some(image) = images.iter().find(|m| core::ptr::eq(m.buffer, buffer)) else {
                continue;
            };
            let now = image.read()?;
            let mut hole = false;
            if !n.desc.is_empty() {
                blocks(&n.desc, offset, |r| {
                    let bytes = now.get(r).unwrap_or_default();
                    hole |= n.desc.dtype != DType::F64 && bytes.iter().all(|b| *b == POISON);
                });
            }
            if hole {
                return Err(self.found(&Violation::Unwritten { node }));
            }
        }
        Ok(())
    }
}

impl Hook for Validate {
    fn margin(&self) -> usize {
        MARGIN
    }

    fn allocated(&self, buffer: &Buffer<'_>) -> Result<()> {
        let margin: Vec<u8> = (0..MARGIN).map(sentinel).collect();
        buffer.write(0, &margin)?;
        buffer.write(buffer.size() - MARGIN, &margin)
    }

    fn freed(&self, buffer: &Buffer<'_>) {
        let mut margin = vec![0; MARGIN];
        for (start, offset) in [(0, 0), (buffer.size() - MARGIN, buffer.size() - MARGIN)] {
            if buffer.read(start, &mut margin).is_err() {
                continue;
            }
            if let Some(i) = (0..MARGIN).find(|i| margin.get(*i) != Some(&sentinel(*i))) {
                let offset = (offset + i) as isize - MARGIN as isize;
                self.found(&Violation::Margin { offset });
            }
        }
    }

    fn compute(&self, stream: &Stream, program: &Program<'_>) -> Result<()> {
        stream.synchronize()?;
        let refused = |(id, node): &(NodeId, &Node)| {
            let sources = Query::sources(program.graph(), *id);
            !node.op.is_view() && !stream.device().supports(&Query::of(node, &sources))
        };
        // A node without elements may be refused or passed over.
        let unsupported =
            program.nodes().filter(refused).find(|(_, n)| !n.desc.is_empty()).map(|(id, _)| id);
        let promised = !program.nodes().any(|n| refused(&n));
        let images = images(program)?;
        poison(&images)?;
        let result = stream.compute(program).and_then(|()| stream.synchronize());
        let result = self.refusal(unsupported, promised, result);
        self.memory(&images)?;
        result?;
        self.holes(program, &images)
    }
}
