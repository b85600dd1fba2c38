//! Queued transfers
//!
//! Copies in order with what else a stream has queued, so that the host prepares the next input while a device works. The
//! host's memory stays there, and is left alone, until the stream has been waited for. Devices without a queue for it copy
//! at once.

use crate::border::{Out, answer, bytes, forever, items_mut, some};
use crate::error::{Fault, dinrail_error, dinrail_status};
use crate::graph::dinrail_id;
use crate::program::{Moved, dinrail_program};
use crate::stream::dinrail_stream;
use core::ffi::c_void;
use dinrail::hal::{Buffer, Scope, Span};

/// Hands `f` the queue of a stream, and where a node's data lies.
///
/// # Safety
/// * Stream and buffer stay open until the stream has been waited for.
unsafe fn queue(
    stream: Option<&dinrail_stream>,
    program: Option<&dinrail_program>,
    node: dinrail_id,
    f: impl FnOnce(Scope<'static>, &'static Buffer<'static>, Span<'_>) -> Result<(), Fault>,
) -> Result<(), Fault> {
    let stream = some(stream, "stream")?.stream()?;
    let (buffer, at) = some(program, "program")?.place(node)?;
    // SAFETY: the caller promises it.
    let stream = unsafe { forever(stream) };
    // SAFETY: as above.
    let buffer = unsafe { forever(buffer) };
    f(stream.transfers(), buffer, at)
}

/// Queues a copy of `size` bytes to byte `offset` of a node's data. What is copied does not overlap with that data.
///
/// Threads: the stream's and the program's.
///
/// # Safety
/// `data` has `size` bytes, which stay as they are until the stream has been waited for; as long the program's buffers stay
/// open.
#[unsafe(export_name = symbol!("stream_set"))]
pub unsafe extern "C" fn dinrail_stream_set(
    stream: Option<&dinrail_stream>,
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
        let data: &'static [u8] = data?;
        // SAFETY: the caller promises it.
        unsafe {
            queue(stream, program, node, |queue, buffer, at| {
                Moved::new(buffer, &at, offset).apart(data.as_ptr(), data.len())?;
                Ok(queue.set(buffer, at, offset, data)?)
            })
        }
    })
}

/// Queues a copy of `size` bytes from byte `offset` of a node's data. They are there when the stream has been waited for.
///
/// Threads: the stream's and the program's.
///
/// # Safety
/// `data` has room for `size` bytes, which nobody touches until the stream has been waited for; as long the program's
/// buffers stay open.
#[unsafe(export_name = symbol!("stream_get"))]
pub unsafe extern "C" fn dinrail_stream_get(
    stream: Option<&dinrail_stream>,
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
        let data: &'static mut [u8] = data?;
        // SAFETY: the caller promises it.
        unsafe {
            queue(stream, program, node, |queue, buffer, at| {
                Moved::new(buffer, &at, offset).apart(data.as_ptr(), data.len())?;
                Ok(queue.get(buffer, at, offset, data)?)
            })
        }
    })
}

/// Copies a node's data, in memory that stream `from` works on, to a node of the same layout in memory that `stream` works on,
/// in order with what both have queued. This is how a program goes on where another one, of another device, ended.
///
/// Threads: both streams' and both programs'.
///
/// # Safety
/// The buffers of both programs stay open until both streams have been waited for.
#[unsafe(export_name = symbol!("stream_copy"))]
pub unsafe extern "C" fn dinrail_stream_copy(
    stream: Option<&dinrail_stream>,
    program: Option<&dinrail_program>,
    node: dinrail_id,
    from: Option<&dinrail_stream>,
    from_program: Option<&dinrail_program>,
    from_node: dinrail_id,
    error: Out<dinrail_error>,
) -> dinrail_status {
    answer(error, || {
        let stream = some(stream, "stream")?.stream()?;
        let target = some(program, "program")?.place(node)?;
        let from = some(from, "from")?.stream()?;
        let source = some(from_program, "from_program")?.place(from_node)?;
        Ok(stream.copy(from, source, target)?)
    })
}
