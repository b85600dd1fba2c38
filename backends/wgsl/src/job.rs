//! From a node of a program to a launch with its memory: what a backend records.

use crate::launch::reachable;
use crate::{Launch, Limits, Range};
use dinrail_core::error::{Error, Result};
use dinrail_core::graph::MAX_SRC;
use dinrail_core::graph::{Node, NodeId};
use dinrail_core::hal::{Buffer, Query};
use dinrail_core::program::Program;
use dinrail_core::tensor::Desc;

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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bound<H> {
    /// What the backend binds.
    pub handle: H,
    /// Which buffer: [`Room::id`].
    pub id: u64,
    /// First byte in it: a multiple of [`Limits::alignment`].
    pub offset: u64,
    /// Bytes: the tensor, two words behind it where there are any, and as much of what lies round it as makes
    /// bindings of one buffer alike.
    pub len: u64,
}

impl<H> Bound<H> {
    /// What holds `bytes` bytes from `start` on: the whole buffer if a binding can hold that, else the same part of it for
    /// most tensors.
    fn new(room: Room<H>, start: u64, bytes: u64, limits: &Limits) -> Self {
        let most = limits.binding.min(u32::MAX as usize) as u64 & !3;
        let align = limits.alignment as u64;
        let Room { handle, id, size, .. } = room;
        if size <= most {
            return Self { handle, id, offset: 0, len: size };
        }
        let end = ((start + bytes).next_multiple_of(4) + 4).min(size);
        // Parts that overlap by half.
        let step = (most / 2 / align * align).max(align);
        let part = start / step * step;
        let offset = if end - part <= most { part } else { start / align * align };
        Self { handle, id, offset, len: most.min(size - offset) }
    }
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

impl<H: Default> Default for Job<H> {
    fn default() -> Self {
        Self {
            launch: Launch::NOTHING,
            bound: Default::default(),
            ranges: [Range { buffer: 0, start: 0, end: 0 }; BINDINGS],
            count: 0,
        }
    }
}

impl<H: Copy> Job<H> {
    /// Makes it the launch of node `id` of a program, on memory that `room` tells about. `false` for views and for nodes
    /// without elements, which need none.
    ///
    /// # Errors
    /// [`Error::Unsupported`] where there is no kernel; those of `room`. It is nobody's launch then.
    pub fn fill<'p>(
        &mut self,
        program: &Program<'p>,
        id: NodeId,
        node: &Node,
        limits: &Limits,
        room: impl Fn(&'p Buffer<'p>) -> Result<Room<H>>,
    ) -> Result<bool> {
        if node.op.is_view() || node.desc.is_empty() {
            return Ok(false);
        }
        let sources = Query::sources(program.graph(), id);
        let unsupported = Error::Unsupported { node: id, op: node.op.kind() };
        let reach = |d: &Desc| reachable(d, limits).ok_or(unsupported);
        // Bytes of the sources; 0 where there is none, or nothing in it.
        let mut lengths = [0; MAX_SRC];
        for (i, n) in lengths.iter_mut().enumerate() {
            if let Some(d) = sources.source(i) {
                *n = reach(d)?;
            }
        }
        let bytes = reach(&node.desc)?;
        if !self.launch.choose(&Query::of(node, &sources), limits.features) {
            return Err(unsupported);
        }
        if self.launch.groups[0] == 0 {
            return Ok(false);
        }
        let place = |of: NodeId, bytes: usize| -> Result<(Bound<H>, Range, u32)> {
            let (buffer, offset) = program.place(of).ok_or(Error::NotFound)?;
            let room = room(buffer)?;
            let start = room.skip + offset as u64;
            let range = Range { buffer: room.id, start, end: start + bytes as u64 };
            let bound = Bound::new(room, start, bytes as u64, limits);
            let by = (start - bound.offset) as u32;
            Ok((bound, range, by))
        };
        let (result, written, by) = place(id, bytes)?;
        self.launch.args.move_by(0, by);
        // What a kernel has a binding for and doesn't read is bound to the result.
        let nothing = Range { end: written.start, ..written };
        self.count = (usize::from(self.launch.count) + 1).min(BINDINGS);
        let bindings = self.bound.iter_mut().zip(&mut self.ranges).enumerate().take(self.count);
        for (i, (bound, range)) in bindings {
            (*bound, *range) = (result, if i == 0 { written } else { nothing });
            let number = i.checked_sub(1).and_then(|i| self.launch.sources.get(i));
            let Some(number) = number.map(|n| usize::from(*n)) else { continue };
            let bytes = lengths.get(number).copied().unwrap_or(0);
            let Some(source) = node.source(number).filter(|_| bytes > 0) else { continue };
            let by;
            (*bound, *range, by) = place(source, bytes)?;
            self.launch.args.move_by(i, by);
        }
        Ok(true)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Features;

    #[test]
    fn bindings_hold_their_tensors_and_are_alike_where_they_can() {
        let limits = Limits { features: Features::NONE, binding: 1 << 16, alignment: 64 };
        let most = limits.binding as u64;
        let room = |size| Room { handle: (), id: 1, skip: 0, size };
        let bind = |size, start, bytes| Bound::new(room(size), start, bytes, &limits);
        let whole = Bound { handle: (), id: 1, offset: 0, len: most };
        assert_eq!(bind(most, 4000, 100), whole);
        for size in [most + 4, 3 * most, 100 * most + 4] {
            let mut kinds = std::vec::Vec::new();
            for start in (0..size - 3000).step_by(676) {
                let b = bind(size, start, 3000);
                assert!(b.offset.is_multiple_of(64) && b.len <= most && b.offset + b.len <= size);
                // The tensor, and what may be read behind it.
                let end = b.offset + b.len;
                assert!(b.offset <= start && (start + 3004 <= end || end == size));
                if kinds.last() != Some(&b) {
                    kinds.push(b);
                }
            }
            // Parts that overlap by half, and a tensor here and there that lies in none of them.
            assert!((kinds.len() as u64) < 4 * size / most + 4, "{}", kinds.len());
        }
        // As long as a binding can be.
        let long = bind(3 * most, 1000, most - 68);
        assert_eq!((long.offset, long.len), (960, most));
    }
}
