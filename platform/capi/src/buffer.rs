//! Buffers
//!
//! A buffer is a piece of memory of one kind: taken from a device, or lent by the program (a static arena, a model in
//! flash or in a mapped file). The object `dinrail_buffer` itself lies in the caller's memory; fill it with zeros before its first
//! use (`dinrail_buffer b = {0};`), don't copy or move it while it is open, and close it.

use crate::border::{Held, Holder, Out, answer, apart, bytes, guard, holder, items_mut, some};
use crate::device::{dinrail_buffer_type, dinrail_device};
use crate::error::{Fault, dinrail_error, dinrail_status};
use core::cell::UnsafeCell;
use core::ffi::c_void;
use dinrail::Error;
use dinrail::hal::{Buffer, Usage};

/// A piece of memory. Used by one thread at a time.
#[repr(C)]
pub struct dinrail_buffer {
    words_: UnsafeCell<[usize; 8]>,
}

holder!(dinrail_buffer holds Buffer<'static>, 1, "buffer");
// `dinrail_binding` has a pointer to the object where ours has one to the value.
const _: () = assert!(core::mem::offset_of!(Held<Buffer<'static>>, value) == 0);

/// What a buffer is used for.
pub type dinrail_usage = u32;
/// Anything.
pub const DINRAIL_USAGE_ANY: u32 = 0;
/// Weights: written once, read often.
pub const DINRAIL_USAGE_WEIGHTS: u32 = 1;
/// Intermediate results.
pub const DINRAIL_USAGE_COMPUTE: u32 = 2;

/// Takes `size` bytes of a kind of memory. DINRAIL_ERROR_OUT_OF_MEMORY where the kind has no heap, as on most
/// microcontrollers: lend memory there.
///
/// Threads: any; not from an interrupt.
#[unsafe(export_name = symbol!("buffer_alloc"))]
pub extern "C" fn dinrail_buffer_alloc(
    buffer: Option<&mut dinrail_buffer>,
    buffer_type: dinrail_buffer_type,
    size: usize,
    error: Out<dinrail_error>,
) -> dinrail_status {
    answer(error, || {
        let buffer = some(buffer, "buffer")?;
        buffer.vacant()?;
        buffer.put(Buffer::new(buffer_type.get()?, size)?);
        Ok(())
    })
}

/// A buffer of the program's own memory, to be read and written, for a device that computes in host memory. Tensors in it
/// are aligned from its first byte on: align that to 64 bytes (8 on small cores), or to what the plan says.
///
/// Threads: any.
///
/// # Safety
/// `data` has `size` bytes, which live and are used through this buffer only until it is closed.
#[unsafe(export_name = symbol!("buffer_lend"))]
pub unsafe extern "C" fn dinrail_buffer_lend(
    buffer: Option<&mut dinrail_buffer>,
    device: dinrail_device,
    data: *mut c_void,
    size: usize,
    error: Out<dinrail_error>,
) -> dinrail_status {
    // SAFETY: the caller promises it.
    let memory = unsafe { items_mut::<u8>(data.cast(), size, "data") };
    answer(error, || {
        let buffer = some(buffer, "buffer")?;
        buffer.vacant()?;
        let ty = device.get()?.buffer_type();
        if !ty.is_host() {
            return Err(Error::NotOffered { function: "buffer_lend" }.into());
        }
        buffer.put(Buffer::from_bytes_mut(ty, memory?));
        Ok(())
    })
}

/// A buffer of memory that may only be read: a model in flash, or in a mapped file. `max_tensor` is the size of the largest
/// tensor in it, or 0.
///
/// Threads: any.
///
/// # Safety
/// `data` has `size` bytes, which live and don't change until the buffer is closed.
#[unsafe(export_name = symbol!("buffer_lend_const"))]
pub unsafe extern "C" fn dinrail_buffer_lend_const(
    buffer: Option<&mut dinrail_buffer>,
    device: dinrail_device,
    data: *const c_void,
    size: usize,
    max_tensor: usize,
    error: Out<dinrail_error>,
) -> dinrail_status {
    // SAFETY: the caller promises it.
    let memory = unsafe { bytes(data.cast(), size, "data") };
    answer(error, || {
        let buffer = some(buffer, "buffer")?;
        buffer.vacant()?;
        buffer.put(device.get()?.buffer_from_host(memory?, max_tensor)?);
        Ok(())
    })
}

/// Gives a buffer back. No program that uses it may be computing. NULL and a buffer that isn't open are no errors.
///
/// Threads: any; not from an interrupt.
#[unsafe(export_name = symbol!("buffer_close"))]
pub extern "C" fn dinrail_buffer_close(buffer: Option<&mut dinrail_buffer>) {
    guard((), || drop(buffer.and_then(Holder::take)));
}

/// Number of bytes; 0 for one that isn't open.
///
/// Threads: the buffer's.
#[unsafe(export_name = symbol!("buffer_size"))]
pub extern "C" fn dinrail_buffer_size(buffer: Option<&dinrail_buffer>) -> usize {
    guard(0, || buffer.and_then(|b| b.value().ok()).map_or(0, Buffer::size))
}

/// First byte, where there is one and the host can reach it; else NULL.
///
/// Threads: the buffer's.
#[unsafe(export_name = symbol!("buffer_data"))]
pub extern "C" fn dinrail_buffer_data(buffer: Option<&dinrail_buffer>) -> *mut c_void {
    guard(core::ptr::null_mut(), || {
        let buffer = buffer.and_then(|b| b.value().ok()).filter(|b| b.size() > 0);
        let host = buffer.and_then(Buffer::host);
        host.map_or(core::ptr::null_mut(), |p| p.as_ptr().cast())
    })
}

/// Whether a buffer may be written.
///
/// Threads: the buffer's.
#[unsafe(export_name = symbol!("buffer_is_writable"))]
pub extern "C" fn dinrail_buffer_is_writable(buffer: Option<&dinrail_buffer>) -> bool {
    guard(false, || buffer.and_then(|b| b.value().ok()).is_some_and(Buffer::is_writable))
}

/// Says what a buffer is used for: one of DINRAIL_USAGE_*.
///
/// Threads: the buffer's.
#[unsafe(export_name = symbol!("buffer_set_usage"))]
pub extern "C" fn dinrail_buffer_set_usage(
    buffer: Option<&dinrail_buffer>,
    usage: dinrail_usage,
    error: Out<dinrail_error>,
) -> dinrail_status {
    answer(error, || {
        let usage = match usage {
            DINRAIL_USAGE_ANY => Usage::Any,
            DINRAIL_USAGE_WEIGHTS => Usage::Weights,
            DINRAIL_USAGE_COMPUTE => Usage::Compute,
            other => {
                return Err(Error::Invalid { what: "usage", value: i64::from(other) }.into());
            }
        };
        some(buffer, "buffer")?.value()?.set_usage(usage);
        Ok(())
    })
}

/// Fills a whole buffer with a byte.
///
/// Threads: the buffer's.
#[unsafe(export_name = symbol!("buffer_clear"))]
pub extern "C" fn dinrail_buffer_clear(
    buffer: Option<&dinrail_buffer>,
    value: u8,
    error: Out<dinrail_error>,
) -> dinrail_status {
    answer(error, || Ok(some(buffer, "buffer")?.value()?.clear(value)?))
}

/// That memory has no byte in common with what it is copied from or to.
fn clear_of(buffer: &Buffer<'_>, offset: usize, data: &[u8]) -> Result<(), Fault> {
    match buffer.host() {
        Some(p) => apart(p.as_ptr().wrapping_add(offset), data.as_ptr(), data.len(), "data"),
        None => Ok(()),
    }
}

/// Copies `size` bytes to byte `offset` of a buffer. Done on return. The two don't overlap.
///
/// Threads: the buffer's.
///
/// # Safety
/// `data` has `size` bytes.
#[unsafe(export_name = symbol!("buffer_write"))]
pub unsafe extern "C" fn dinrail_buffer_write(
    buffer: Option<&dinrail_buffer>,
    offset: usize,
    data: *const c_void,
    size: usize,
    error: Out<dinrail_error>,
) -> dinrail_status {
    // SAFETY: the caller promises it.
    let data = unsafe { bytes(data.cast(), size, "data") };
    answer(error, || {
        let (buffer, data) = (some(buffer, "buffer")?.value()?, data?);
        clear_of(buffer, offset, data)?;
        Ok(buffer.write(offset, data)?)
    })
}

/// Copies `size` bytes from byte `offset` of a buffer. Done on return.
///
/// Threads: the buffer's.
///
/// # Safety
/// `data` has room for `size` bytes.
#[unsafe(export_name = symbol!("buffer_read"))]
pub unsafe extern "C" fn dinrail_buffer_read(
    buffer: Option<&dinrail_buffer>,
    offset: usize,
    data: *mut c_void,
    size: usize,
    error: Out<dinrail_error>,
) -> dinrail_status {
    // SAFETY: the caller promises it.
    let data = unsafe { items_mut::<u8>(data.cast(), size, "data") };
    answer(error, || {
        let (buffer, data) = (some(buffer, "buffer")?.value()?, data?);
        clear_of(buffer, offset, data)?;
        Ok(buffer.read(offset, data)?)
    })
}
