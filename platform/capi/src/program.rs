//! Programs
//!
//! A program is a graph with its plan and its memory, checked together once: every tensor is bound, aligned and inside its
//! buffer, and nothing writes to memory that may only be read. It can then be computed any number of times. It needs no
//! closing.

use crate::border::{Holder, Out, aligned, answer, bytes, guard, holder, items_mut, some};
use crate::buffer::dinrail_buffer;
use crate::error::{Fault, dinrail_error, dinrail_status};
use crate::graph::{dinrail_graph, dinrail_id, id};
use crate::plan::dinrail_plan;
use core::cell::UnsafeCell;
use core::ffi::c_void;
use dinrail::Error;
use dinrail::hal::{Buffer, Rows, Span};
use dinrail::program::{Binding, Program};

/// What a slot of a graph is bound to.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct dinrail_binding {
    /// An open buffer; NULL for none.
    pub buffer: *const dinrail_buffer,
    /// First byte of the slot in the buffer.
    pub offset: usize,
}

const _: () = assert!(
    size_of::<Binding<'static>>() == size_of::<dinrail_binding>()
        && align_of::<Binding<'static>>() == align_of::<dinrail_binding>()
);

/// A graph with a plan and memory. Used by one thread at a time, as its buffers are.
#[repr(C)]
pub struct dinrail_program {
    wide_: UnsafeCell<[u64; 2]>,
    words_: UnsafeCell<[usize; 16]>,
}

holder!(dinrail_program holds Program<'static>, 4, "program");

/// Pieces of equal length at equal distances, on both sides of a transfer. In bytes.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct dinrail_rows {
    /// Bytes of one piece.
    pub size: usize,
    /// Number of pieces.
    pub count: usize,
    /// Distance of the pieces in the tensor.
    pub stride: usize,
    /// Distance of the pieces in the host's memory.
    pub host_stride: usize,
}

impl dinrail_rows {
    fn rows(self) -> Rows {
        Rows {
            len: self.size,
            count: self.count,
            stride: self.stride,
            host_stride: self.host_stride,
        }
    }

    /// Bytes of the host's memory that are touched.
    fn reach(self) -> Result<usize, Fault> {
        if self.count == 0 || self.size == 0 {
            return Ok(0);
        }
        let reach = self.host_stride.checked_mul(self.count - 1);
        reach.and_then(|n| n.checked_add(self.size)).ok_or(Fault::TooLarge("rows", self.count))
    }
}

impl dinrail_program {
    fn place(&self, node: dinrail_id) -> Result<(&Buffer<'static>, Span<'_>), Fault> {
        let program = self.value()?;
        let desc = &program.graph().node(id(node)).ok_or(Error::NotFound)?.desc;
        let (buffer, offset) = program.place(id(node)).ok_or(Error::NotFound)?;
        Ok((buffer, Span { desc, offset }))
    }
}

/// Checks and joins graph, plan and memory. `slots[i]` is what slot `i` of the graph is bound to; slot 0 is the arena.
///
/// Threads: the program's.
///
/// # Safety
/// `slots` has `count` entries. They, the buffers, and the memory of graph and plan live and stay as they are as long as
/// the program is used.
#[unsafe(export_name = symbol!("program_make"))]
pub unsafe extern "C" fn dinrail_program_make(
    program: Option<&mut dinrail_program>,
    graph: Option<&dinrail_graph>,
    plan: Option<&dinrail_plan>,
    slots: *const dinrail_binding,
    count: usize,
    error: Out<dinrail_error>,
) -> dinrail_status {
    answer(error, || {
        let program = some(program, "program")?;
        let (graph, plan) = (some(graph, "graph")?.graph()?, some(plan, "plan")?.plan()?);
        let bindings: &'static [Binding<'static>] = if count == 0 {
            &[]
        } else {
            aligned(slots, count, "slots")?;
            for i in 0..count {
                // SAFETY: the caller has `count` entries.
                let slot = unsafe { slots.wrapping_add(i).read() };
                if !slot.buffer.is_null() {
                    // SAFETY: a pointer that isn't NULL points to a buffer.
                    let buffer = unsafe { &*slot.buffer };
                    buffer.value()?;
                }
            }
            // SAFETY: a `Binding` is a pointer, NULL for none, and an offset, in this order; the pointer is to a `Buffer`, which
            // is what an open `dinrail_buffer` begins with. The caller keeps it so.
            unsafe { core::slice::from_raw_parts(slots.cast(), count) }
        };
        program.put(Program::new(graph, plan, bindings)?);
        Ok(())
    })
}

/// Copies `size` bytes to byte `offset` of a node's data. Done on return.
///
/// Threads: the program's.
///
/// # Safety
/// `data` has `size` bytes.
#[unsafe(export_name = symbol!("program_set"))]
pub unsafe extern "C" fn dinrail_program_set(
    program: Option<&dinrail_program>,
    node: dinrail_id,
    offset: usize,
    data: *const c_void,
    size: usize,
    error: Out<dinrail_error>,
) -> dinrail_status {
    // SAFETY: the caller promises it.
    let data = unsafe { bytes(data.cast(), size, "data") };
    answer(error, || {
        let (buffer, at) = some(program, "program")?.place(node)?;
        Ok(buffer.set(at, offset, data?)?)
    })
}

/// Copies `size` bytes from byte `offset` of a node's data. Done on return; wait for the stream first.
///
/// Threads: the program's.
///
/// # Safety
/// `data` has room for `size` bytes.
#[unsafe(export_name = symbol!("program_get"))]
pub unsafe extern "C" fn dinrail_program_get(
    program: Option<&dinrail_program>,
    node: dinrail_id,
    offset: usize,
    data: *mut c_void,
    size: usize,
    error: Out<dinrail_error>,
) -> dinrail_status {
    // SAFETY: the caller promises it.
    let data = unsafe { items_mut::<u8>(data.cast(), size, "data") };
    answer(error, || {
        let (buffer, at) = some(program, "program")?.place(node)?;
        Ok(buffer.get(at, offset, data?)?)
    })
}

/// `dinrail_program_set` for pieces of equal length at equal distances.
///
/// Threads: the program's.
///
/// # Safety
/// `data` has all the pieces.
#[unsafe(export_name = symbol!("program_set_rows"))]
pub unsafe extern "C" fn dinrail_program_set_rows(
    program: Option<&dinrail_program>,
    node: dinrail_id,
    offset: usize,
    rows: dinrail_rows,
    data: *const c_void,
    error: Out<dinrail_error>,
) -> dinrail_status {
    answer(error, || {
        // SAFETY: the caller promises it.
        let data = unsafe { bytes(data.cast(), rows.reach()?, "data") }?;
        let (buffer, at) = some(program, "program")?.place(node)?;
        Ok(buffer.set_2d(at, offset, rows.rows(), data)?)
    })
}

/// `dinrail_program_get` for pieces of equal length at equal distances.
///
/// Threads: the program's.
///
/// # Safety
/// `data` has room for all the pieces.
#[unsafe(export_name = symbol!("program_get_rows"))]
pub unsafe extern "C" fn dinrail_program_get_rows(
    program: Option<&dinrail_program>,
    node: dinrail_id,
    offset: usize,
    rows: dinrail_rows,
    data: *mut c_void,
    error: Out<dinrail_error>,
) -> dinrail_status {
    answer(error, || {
        // SAFETY: the caller promises it.
        let data = unsafe { items_mut::<u8>(data.cast(), rows.reach()?, "data") }?;
        let (buffer, at) = some(program, "program")?.place(node)?;
        Ok(buffer.get_2d(at, offset, rows.rows(), data)?)
    })
}

/// The address of a node's data, where the host can reach it; NULL otherwise, and for a node without data.
///
/// Threads: the program's.
#[unsafe(export_name = symbol!("program_data"))]
pub extern "C" fn dinrail_program_data(
    program: Option<&dinrail_program>,
    node: dinrail_id,
) -> *mut c_void {
    guard(core::ptr::null_mut(), || {
        let address = program.and_then(|p| p.value().ok()).map(|p| p.address(id(node)));
        address.and_then(Result::ok).map_or(core::ptr::null_mut(), |p| p.cast())
    })
}
