//! Queued transfers, of devices that have a queue. The host answers for the memory until it has synchronised.

use super::buffer::{self, Head, Held, bytes, bytes_mut, reach};
use super::guard;
use super::stream::{self, State};
use crate::abi::{self, StreamRows, Tensor};
use core::ffi::c_void;
use dinrail_core::hal::{Rows, Scope, Span, Stream};
use dinrail_core::{Error, Result};

pub(crate) const ROWS: StreamRows = StreamRows { set: Some(set_2d), get: Some(get_2d) };

type Queue = Scope<'static>;
type Functions = abi::BufferI<abi::InitStatus, abi::Rows2d>;

/// The buffer in which a tensor lies.
fn buffer_of(t: &Tensor) -> *mut abi::Buffer {
    // SAFETY: what a view is of is a whole tensor.
    let root = if t.view_src.is_null() { t } else { unsafe { &*t.view_src } };
    root.buffer
}

/// Queues something that reaches `reach` bytes into a tensor. With memory of another backend's `other` does it at once,
/// behind what is queued.
///
/// # Safety
/// * `s` is a stream of this plug-in.
/// * `t` points to a whole tensor.
/// * The memory that `f` uses, and the tensor's, stays there until the stream is waited for.
unsafe fn queue(
    s: *mut abi::Stream,
    t: *const Tensor,
    what: &str,
    reach: Option<usize>,
    f: impl FnOnce(Queue, &'static Held, Span<'_>) -> Result<()>,
    other: impl FnOnce(*mut abi::Buffer, &Functions) -> Option<()>,
) {
    guard((), || {
        // SAFETY: the caller promises; so in all of this function.
        let state = unsafe { stream::shared(s) };
        // SAFETY: as above.
        let t = unsafe { &*t };
        let at = buffer_of(t);
        let run = || {
            let queue: &'static Stream = state.queue()?;
            if at.is_null() {
                return Err(Error::ForeignObject { object: "tensor" });
            }
            // SAFETY: the buffer of a tensor.
            let Some(held) = (unsafe { buffer::held(at) }) else {
                queue.synchronize()?;
                // SAFETY: a buffer of the layout that was checked.
                let iface = unsafe { (*at.cast::<Head>()).iface };
                return other(at, &iface).ok_or(Error::ForeignObject { object: "buffer" });
            };
            let overflow = Error::Range { offset: usize::MAX, len: 0, size: held.buffer.size() };
            let (desc, offset) = held.span(t, reach.ok_or(overflow)?)?;
            f(queue.transfers(), held, Span { desc: &desc, offset })
        };
        state.report(what, run());
    });
}

pub(crate) unsafe extern "C" fn set(
    s: *mut abi::Stream,
    t: *mut Tensor,
    data: *const c_void,
    at: usize,
    n: usize,
) {
    // SAFETY: the host lends this memory until it synchronises.
    let from: &'static [u8] = unsafe { bytes(data, n) };
    let ours = |q: Queue, h: &'static Held, span: Span<'_>| q.set(&h.buffer, span, at, from);
    // SAFETY: the buffer's own function.
    let other = |b, i: &Functions| i.set_tensor.map(|f| unsafe { f(b, t, data, at, n) });
    // SAFETY: the host passes what it got, and keeps the tensor's memory until it synchronises.
    unsafe { queue(s, t, "queueing a write", at.checked_add(n), ours, other) };
}

pub(crate) unsafe extern "C" fn get(
    s: *mut abi::Stream,
    t: *const Tensor,
    data: *mut c_void,
    at: usize,
    n: usize,
) {
    let ours = |q: Queue, h: &'static Held, span: Span<'_>| {
        // SAFETY: the host lends this memory until it synchronises, and doesn't touch it meanwhile.
        q.get(&h.buffer, span, at, unsafe { bytes_mut(data, n) })
    };
    // SAFETY: the buffer's own function.
    let other = |b, i: &Functions| i.get_tensor.map(|f| unsafe { f(b, t, data, at, n) });
    // SAFETY: as in `set`.
    unsafe { queue(s, t, "queueing a read", at.checked_add(n), ours, other) };
}

unsafe extern "C" fn set_2d(
    s: *mut abi::Stream,
    t: *mut Tensor,
    data: *const c_void,
    at: usize,
    len: usize,
    count: usize,
    stride: usize,
    host_stride: usize,
) {
    let whole = reach(len, count, stride).and_then(|n| n.checked_add(at));
    let rows = Rows { len, count, stride, host_stride };
    // SAFETY: the host lends this memory until it synchronises.
    let from: &'static [u8] = unsafe { bytes(data, reach(len, count, host_stride).unwrap_or(0)) };
    let ours =
        |q: Queue, h: &'static Held, span: Span<'_>| q.set_2d(&h.buffer, span, at, rows, from);
    let other = |b, i: &Functions| {
        let f = i.set_tensor?;
        let piece = |k: usize| (data.wrapping_byte_add(k * host_stride), at + k * stride);
        for (from, at) in (0..count).map(piece) {
            // SAFETY: the buffer's own function.
            unsafe { f(b, t, from, at, len) };
        }
        Some(())
    };
    // SAFETY: as in `set`.
    unsafe { queue(s, t, "queueing a write of rows", whole, ours, other) };
}

unsafe extern "C" fn get_2d(
    s: *mut abi::Stream,
    t: *const Tensor,
    data: *mut c_void,
    at: usize,
    len: usize,
    count: usize,
    stride: usize,
    host_stride: usize,
) {
    let whole = reach(len, count, stride).and_then(|n| n.checked_add(at));
    let rows = Rows { len, count, stride, host_stride };
    let here = reach(len, count, host_stride).unwrap_or(0);
    let ours = |q: Queue, h: &'static Held, span: Span<'_>| {
        // SAFETY: as in `get`.
        q.get_2d(&h.buffer, span, at, rows, unsafe { bytes_mut(data, here) })
    };
    let other = |b, i: &Functions| {
        let f = i.get_tensor?;
        let piece = |k: usize| (data.wrapping_byte_add(k * host_stride), at + k * stride);
        for (to, at) in (0..count).map(piece) {
            // SAFETY: the buffer's own function.
            unsafe { f(b, t, to, at, len) };
        }
        Some(())
    };
    // SAFETY: as in `get`.
    unsafe { queue(s, t, "queueing a read of rows", whole, ours, other) };
}

/// A whole tensor between two streams of this plug-in, behind what both have queued. Anything else the host copies itself.
pub(crate) unsafe extern "C" fn copy(
    source: *mut abi::Stream,
    target: *mut abi::Stream,
    from: *const Tensor,
    to: *mut Tensor,
) -> bool {
    guard(false, || {
        // SAFETY: the host passes a stream.
        if !unsafe { stream::is_ours(source) } {
            return false;
        }
        // SAFETY: a stream of ours; the host passes ours as the target.
        let a: &State = unsafe { stream::shared(source) };
        // SAFETY: as above.
        let b: &State = unsafe { stream::shared(target) };
        // SAFETY: the host passes whole tensors.
        let (from, to) = (unsafe { &*from }, unsafe { &*to });
        let (there, here) = (buffer_of(from), buffer_of(to));
        if there.is_null() || here.is_null() {
            return false;
        }
        // SAFETY: the buffers of tensors.
        let (Some(there), Some(here)) =
            (unsafe { buffer::held(there) }, unsafe { buffer::held(here) })
        else {
            return false;
        };
        let (Some(old), Some(new)) = (there.desc(from), here.desc(to)) else { return false };
        if !old.same_layout(&new) || there.is_repacked() || here.is_repacked() {
            return false;
        }
        let run = || {
            let (at, to_at) = (there.offset(from)?, here.offset(to)?);
            let source = (&there.buffer, Span { desc: &old, offset: at });
            b.queue()?.copy(a.queue()?, source, (&here.buffer, Span { desc: &new, offset: to_at }))
        };
        b.report("queueing a copy", run())
    })
}
