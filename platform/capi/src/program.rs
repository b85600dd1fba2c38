//! Programs
//!
//! A program is a graph with its plan and its memory, checked together once: every tensor is bound, aligned and inside its
//! buffer, and nothing writes to memory that may only be read. It can then be computed any number of times. It needs no
//! closing.

use crate::border::{Holder, Out, aligned, answer, apart, bytes, guard, holder, items_mut, some};
use crate::buffer::dinrail_buffer;
use crate::error::{Fault, dinrail_error, dinrail_status};
use crate::graph::{dinrail_graph, dinrail_id, id};
use crate::plan::dinrail_plan;
use crate::stamp::Stamp;
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
    words_: UnsafeCell<[usize; 20]>,
}

/// A program, and what it was made of.
pub(crate) struct Bound {
    program: Program<'static>,
    /// The slots, and the memory of the buffers in them.
    slots: Stamp,
    memory: Stamp,
    /// The graph and its places.
    contents: Stamp,
}

holder!(dinrail_program holds Bound, 4, "program");

/// The slots as the caller wrote them: pointers that may have become anything, to whole objects.
fn slots_of<'a>(bindings: &'a [Binding<'static>]) -> &'a [dinrail_binding] {
    // SAFETY: the two have the same layout, and any bytes are a valid `dinrail_binding`.
    unsafe { core::slice::from_raw_parts(bindings.as_ptr().cast(), bindings.len()) }
}

/// The addresses and offsets in slots. Nothing is read but the slots.
fn stamp_of_slots(bindings: &[Binding<'static>]) -> Stamp {
    let slots = slots_of(bindings).iter();
    slots.fold(Stamp::NEW, |s, slot| s.with(slot.buffer.addr()).with(slot.offset))
}

/// The memory of all buffers, which must be open.
fn stamp_of_memory(bindings: &[Binding<'static>]) -> Result<Stamp, Fault> {
    let mut this = Stamp::NEW;
    for slot in slots_of(bindings) {
        // SAFETY: it is NULL or what `program_make` was given, as the stamp of the slots says.
        let Some(object) = (unsafe { slot.buffer.as_ref() }) else { continue };
        let buffer = object.value()?;
        let host = buffer.host().map_or(0, |p| p.as_ptr().addr());
        this = this.with(host).with(buffer.size()).with(usize::from(buffer.is_writable()));
    }
    Ok(this)
}

fn stamp_of_contents(program: &Program<'static>) -> Stamp {
    Stamp::of_graph(program.graph()).and_places(program.plan().locs())
}

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
        if self.count > 1 && self.stride == 0 && self.host_stride == 0 {
            // The same piece again and again; nothing would bound their number.
            let value = i64::try_from(self.count).unwrap_or(i64::MAX);
            return Err(Error::Invalid { what: "number of rows without a stride", value }.into());
        }
        let reach = self.host_stride.checked_mul(self.count - 1);
        reach.and_then(|n| n.checked_add(self.size)).ok_or(Fault::TooLarge("rows", self.count))
    }
}

impl dinrail_program {
    /// The program, where its slots and buffers are what they were.
    pub(crate) fn bound(&self) -> Result<&Program<'static>, Fault> {
        let Bound { program, slots, memory, .. } = self.value()?;
        if stamp_of_slots(program.bindings()) != *slots
            || stamp_of_memory(program.bindings())? != *memory
        {
            return Err(Fault::Changed("program"));
        }
        Ok(program)
    }

    /// The program, where its graph and plan are what they were, too.
    pub(crate) fn whole(&self) -> Result<&Program<'static>, Fault> {
        let program = self.bound()?;
        if stamp_of_contents(program) != self.value()?.contents {
            return Err(Fault::Changed("program"));
        }
        Ok(program)
    }

    /// Differs for programs that were made of other things.
    pub(crate) fn stamp(&self) -> Result<Stamp, Fault> {
        let id = self.bound()?.id();
        let Bound { slots, memory, contents, .. } = self.value()?;
        Ok(Stamp::NEW.with(id as usize).join(*slots).join(*memory).join(*contents))
    }

    pub(crate) fn place(&self, node: dinrail_id) -> Result<(&Buffer<'static>, Span<'_>), Fault> {
        let program = self.bound()?;
        let desc = &program
            .graph()
            .node(id(node))
            .ok_or(Fault::Missing("node of this number in the program"))?
            .desc;
        let (buffer, offset) =
            program.place(id(node)).ok_or(Fault::Missing("node of this number in the program"))?;
        Ok((buffer, Span { desc, offset }))
    }
}

/// Where bytes are copied from or to, on the host.
pub(crate) struct Moved(Option<*const u8>);

impl Moved {
    pub(crate) fn new(buffer: &Buffer<'static>, at: &Span<'_>, offset: usize) -> Self {
        let first = at.offset.wrapping_add(offset);
        Self(buffer.host().map(|p| p.as_ptr().cast_const().wrapping_add(first)))
    }

    pub(crate) fn apart(&self, data: *const u8, size: usize) -> Result<(), Fault> {
        self.0.map_or(Ok(()), |there| apart(there, data, size, "data"))
    }

    fn rows_apart(&self, data: *const u8, rows: dinrail_rows) -> Result<(), Fault> {
        let (Some(there), 1..) = (self.0, rows.size) else { return Ok(()) };
        // Far more often than not one look says it.
        let reach = |stride: usize| stride.saturating_mul(rows.count).saturating_add(rows.size);
        let far = reach(rows.stride).max(reach(rows.host_stride));
        if apart(there, data, far, "data").is_ok() {
            return Ok(());
        }
        (0..rows.count).try_for_each(|i| {
            let there = there.wrapping_add(i.wrapping_mul(rows.stride));
            apart(there, data.wrapping_add(i.wrapping_mul(rows.host_stride)), rows.size, "data")
        })
    }
}

/// Checks and joins graph, plan and memory. `slots[i]` is what slot `i` of the graph is bound to; slot 0 is the arena.
///
/// Threads: the program's.
///
/// # Safety
/// `slots` has `count` entries. They, the buffers, and the memory of graph and plan live and stay as they are as long as
/// the program is used. Where that memory is still there but something else is in it, or a buffer was closed, using the
/// program is an error (DINRAIL_ERROR_STALE or DINRAIL_ERROR_NOT_OPEN).
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
        let graph = some(graph, "graph")?.graph()?;
        let plan = some(plan, "plan")?.plan_of(graph)?;
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
        let made = Program::new(graph, plan, bindings)?;
        program.put(Bound {
            program: made,
            slots: stamp_of_slots(bindings),
            memory: stamp_of_memory(bindings)?,
            contents: stamp_of_contents(&made),
        });
        Ok(())
    })
}

/// Copies `size` bytes to byte `offset` of a node's data. Done on return. What is copied does not overlap with that data.
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
        let data = data?;
        Moved::new(buffer, &at, offset).apart(data.as_ptr(), data.len())?;
        Ok(buffer.set(at, offset, data)?)
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
        let data = data?;
        Moved::new(buffer, &at, offset).apart(data.as_ptr(), data.len())?;
        Ok(buffer.get(at, offset, data)?)
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
        Moved::new(buffer, &at, offset).rows_apart(data.as_ptr(), rows)?;
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
        Moved::new(buffer, &at, offset).rows_apart(data.as_ptr(), rows)?;
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
        let address = program.and_then(|p| p.bound().ok()).map(|p| p.address(id(node)));
        address.and_then(Result::ok).map_or(core::ptr::null_mut(), |p| p.cast())
    })
}
