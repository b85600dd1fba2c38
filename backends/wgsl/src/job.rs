//! From a node of a program to a launch with its memory: what a backend records.

use crate::{Launch, Limits, Range, launch};
use dinrail_core::error::{Error, Result};
use dinrail_core::graph::{Node, NodeId};
use dinrail_core::hal::{Buffer, Query};
use dinrail_core::program::Program;

/// Tensors that a kernel can have beside its arguments: the result and five sources.
pub const BINDINGS: usize = 6;

/// A buffer's memory, as a backend knows it.
#[derive(Clone, Copy, Debug)]
pub struct Room<H> {
    /// What the backend binds.
    pub handle: H,
    /// A number that no other buffer has at the time.
    pub id: u64,
    /// First byte of the buffer in what is bound.
    pub skip: u64,
    /// Bytes of what is bound.
    pub size: u64,
}

/// What a binding is bound to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bound<H> {
    /// What the backend binds.
    pub handle: H,
    /// First byte in it: a multiple of [`Limits::alignment`].
    pub offset: u64,
    /// Bytes: the tensor, what lies before it, and up to two words behind it where there are any.
    pub len: u64,
}

/// A node's launch, with what its bindings are bound to.
#[derive(Clone, Copy, Debug)]
pub struct Job<H> {
    /// The launch; its arguments say where in their bindings tensors begin.
    pub launch: Launch,
    bound: [Bound<H>; BINDINGS],
    ranges: [Range; BINDINGS],
    /// Bindings, the result's among them.
    count: usize,
}

impl<H: Copy> Job<H> {
    /// The launch of node `id` of a program, on memory that `room` tells about; `None` for views and for nodes without
    /// elements.
    ///
    /// # Errors
    /// [`Error::Unsupported`] where there is no kernel; those of `room`.
    pub fn new<'p>(
        program: &Program<'p>,
        id: NodeId,
        node: &Node,
        limits: &Limits,
        room: impl Fn(&'p Buffer<'p>) -> Result<Room<H>>,
    ) -> Result<Option<Self>> {
        if node.op.is_view() || node.desc.is_empty() {
            return Ok(None);
        }
        let sources = Query::sources(program.graph(), id);
        let mut work = launch(&Query::of(node, &sources), limits)
            .ok_or(Error::Unsupported { node: id, op: node.op.kind() })?;
        if work.groups[0] == 0 {
            return Ok(None);
        }
        let align = limits.alignment as u64;
        let place = |of: NodeId| -> Result<(Bound<H>, Range, u32)> {
            let desc = program.graph().node(of).map(|n| &n.desc).ok_or(Error::NotFound)?;
            let (buffer, offset) = program.place(of).ok_or(Error::NotFound)?;
            let room = room(buffer)?;
            let start = room.skip + offset as u64;
            let bytes = desc.bytes() as u64;
            let first = start / align * align;
            let end = ((start + bytes).next_multiple_of(4) + 4).min(room.size);
            let bound =
                Bound { handle: room.handle, offset: first, len: end.saturating_sub(first) };
            let range = Range { buffer: room.id, start, end: start + bytes };
            Ok((bound, range, (start - first) as u32))
        };
        let (result, written, by) = place(id)?;
        work.args.move_by(0, by);
        // What a kernel has a binding for and doesn't read is bound to the result.
        let nothing = Range { end: written.start, ..written };
        let (mut bound, mut ranges) = ([result; BINDINGS], [nothing; BINDINGS]);
        ranges[0] = written;
        let count = usize::from(work.count) + 1;
        let bindings = bound.iter_mut().zip(&mut ranges).enumerate().take(count).skip(1);
        for (i, (bound, range)) in bindings {
            let source = work.sources.get(i - 1).and_then(|s| node.source(usize::from(*s)));
            let there = |id: &NodeId| program.graph().node(*id).is_some_and(|n| !n.desc.is_empty());
            let Some(source) = source.filter(there) else { continue };
            let by;
            (*bound, *range, by) = place(source)?;
            work.args.move_by(i, by);
        }
        Ok(Some(Self { launch: work, bound, ranges, count: count.min(BINDINGS) }))
    }

    /// What bindings 1, 2, … are bound to: the result first.
    pub fn bound(&self) -> &[Bound<H>] {
        self.bound.get(..self.count).unwrap_or(&[])
    }

    /// Bytes that are read.
    pub fn reads(&self) -> &[Range] {
        self.ranges.get(1..self.count).unwrap_or(&[])
    }

    /// Bytes that are written.
    pub fn writes(&self) -> &[Range] {
        self.ranges.get(..1).unwrap_or(&[])
    }
}
