//! Kinds of memory, and pieces of it.

use super::face::Type;
use super::guard;
use crate::abi::{self, BufferI, BufferTail, BufferTypeI, InitStatus, Rows2d, Status, Tensor};
use core::ffi::{c_char, c_void};
use core::ptr::null_mut;
use core::sync::atomic::{AtomicU64, Ordering};
use dinrail_core::hal::{self, Buffer, Rows, Span, Usage};
use dinrail_core::tensor::{DType, Desc};
use dinrail_core::{Error, Result};

/// Where memory begins that the host processor can't reach: a number that is no address and suits every alignment.
const FAR_BASE: usize = 1 << 20;

/// A buffer's structure in ggml's newest layout.
pub(crate) type Head = abi::BufferHead<InitStatus, Rows2d>;

type Alloc = unsafe extern "C" fn(*mut abi::BufferType, usize) -> *mut abi::Buffer;
/// What our kinds of memory are known by. One value, so that it can be compared.
pub(crate) static ALLOC: Alloc = alloc;

type Free = unsafe extern "C" fn(*mut abi::Buffer);
/// What our buffers are known by.
static FREE: Free = free;

/// What stands behind a buffer of ours.
pub(crate) struct Held {
    pub(crate) buffer: Buffer<'static>,
    /// A number that no other buffer has had.
    pub(crate) serial: u64,
    pub(crate) base: *mut u8,
    ty: &'static Type,
}

/// The table of a kind of memory: optional functions only where they say something.
pub(crate) fn type_table(ty: &'static dyn hal::BufferType) -> BufferTypeI {
    let plain = ty.is_host() && !ty.is_repacked();
    BufferTypeI {
        get_name: Some(type_name),
        alloc_buffer: Some(ALLOC),
        get_alignment: Some(alignment),
        get_max_size: Some(max_size),
        get_alloc_size: (!plain).then_some(alloc_size as _),
        is_host: Some(is_host),
    }
}

fn table(ty: &'static dyn hal::BufferType) -> BufferI<InitStatus, Rows2d> {
    let plain = ty.is_host() && !ty.is_repacked();
    BufferI {
        free_buffer: Some(FREE),
        get_base: Some(base),
        init_tensor: (!plain).then_some(init as _),
        memset_tensor: Some(memset),
        set_tensor: Some(set),
        get_tensor: Some(get),
        rows: Rows2d { set: Some(set_2d), get: Some(get_2d) },
        cpy_tensor: Some(copy),
        clear: Some(clear),
        reset: Some(reset),
    }
}

/// # Safety
/// `ty` is one of ours.
unsafe fn of_type(ty: *mut abi::BufferType) -> &'static Type {
    // SAFETY: ggml's structure is the first part of ours, which stays where it is.
    unsafe { &*ty.cast::<Type>() }
}

unsafe extern "C" fn type_name(ty: *mut abi::BufferType) -> *const c_char {
    // SAFETY: the host passes what it got; so in all functions of this file.
    unsafe { of_type(ty) }.name.as_ptr()
}

unsafe extern "C" fn alignment(ty: *mut abi::BufferType) -> usize {
    // SAFETY: as above.
    unsafe { of_type(ty) }.ty.alignment()
}

unsafe extern "C" fn max_size(ty: *mut abi::BufferType) -> usize {
    // SAFETY: as above.
    unsafe { of_type(ty) }.ty.max_size()
}

unsafe extern "C" fn is_host(ty: *mut abi::BufferType) -> bool {
    // SAFETY: as above.
    let ty = unsafe { of_type(ty) }.ty;
    ty.is_host() && !ty.is_repacked()
}

unsafe extern "C" fn alloc_size(ty: *mut abi::BufferType, t: *const Tensor) -> usize {
    guard(usize::MAX, || {
        // SAFETY: as above.
        let ty = unsafe { of_type(ty) };
        // SAFETY: the host passes a whole tensor.
        let t = unsafe { &*t };
        // SAFETY: a kind of memory lies in its device.
        let dev = unsafe { &*ty.dev };
        match dev.face().host.codes.desc(t) {
            Some(d) => ty.ty.alloc_size(&d),
            // A type that dinrail hasn't got can lie here, though nothing will compute with it.
            None => usize::try_from(t.ne[3]).unwrap_or(0).saturating_mul(t.nb[3]),
        }
    })
}

unsafe extern "C" fn alloc(ty: *mut abi::BufferType, size: usize) -> *mut abi::Buffer {
    guard(null_mut(), || {
        // SAFETY: as above.
        let t = unsafe { of_type(ty) };
        match Buffer::new(t.ty, size) {
            Ok(b) => wrap(ty, b, None),
            Err(e) => {
                // SAFETY: a kind of memory lies in its device.
                unsafe { &*t.dev }.face().complain(&format!("{}: {e}", t.name.as_str()));
                null_mut()
            }
        }
    })
}

/// ggml's structure for a buffer, which the host frees with C's `free` or C++'s `delete` after `free_buffer`; null
/// where there is no memory for it. `lent` is the host's memory that it was made of: there tensors are put by address,
/// also where the device doesn't use that.
pub(crate) fn wrap(
    ty: *mut abi::BufferType,
    buffer: Buffer<'static>,
    lent: Option<*mut u8>,
) -> *mut abi::Buffer {
    static LAST: AtomicU64 = AtomicU64::new(0);
    let base = match lent.or(buffer.host().map(|p| p.as_ptr())) {
        Some(p) => p,
        None => core::ptr::without_provenance_mut(FAR_BASE),
    };
    // SAFETY: one of ours.
    let t = unsafe { of_type(ty) };
    let size = buffer.size();
    let serial = LAST.fetch_add(1, Ordering::Relaxed) + 1;
    let head = malloc(size_of::<Head>()).cast::<Head>();
    if head.is_null() {
        return null_mut();
    }
    let context = Box::into_raw(Box::new(Held { buffer, serial, base, ty: t })).cast();
    let tail = BufferTail { buft: ty, context, size, usage: 0 };
    // SAFETY: new memory of this size, aligned for anything.
    unsafe { head.write(Head { iface: table(t.ty), tail }) };
    head.cast()
}

#[cfg(unix)]
fn malloc(bytes: usize) -> *mut c_void {
    // SAFETY: any number may be asked for.
    unsafe { libc::malloc(bytes) }
}

#[cfg(not(unix))]
fn malloc(bytes: usize) -> *mut c_void {
    unsafe extern "C" {
        fn malloc(bytes: usize) -> *mut c_void;
    }
    // SAFETY: any number may be asked for.
    unsafe { malloc(bytes) }
}

/// What stands behind a buffer, if it is one of this plug-in's.
///
/// # Safety
/// `buffer` points to a buffer.
pub(crate) unsafe fn held<'a>(buffer: *mut abi::Buffer) -> Option<&'a Held> {
    // SAFETY: the caller promises; the host's layout was checked.
    let head = unsafe { &*buffer.cast::<Head>() };
    let same = head.iface.free_buffer.is_some_and(|f| core::ptr::fn_addr_eq(f, FREE));
    // SAFETY: with this function the context is what `wrap` put there.
    same.then(|| unsafe { &*head.tail.context.cast::<Held>() })
}

impl Held {
    /// Where the tensor lies in the buffer.
    pub(crate) fn offset(&self, t: &Tensor) -> Result<usize> {
        let (size, data) = (self.buffer.size(), t.data.addr());
        let offset = data.wrapping_sub(self.base.addr());
        if data < self.base.addr() || offset > size {
            return Err(Error::Range { offset, len: 0, size });
        }
        Ok(offset)
    }

    /// The tensor as the device knows it. In memory that is stored as it is, a run of bytes does, which also serves types
    /// that dinrail hasn't got.
    pub(crate) fn span(&self, t: &Tensor, reach: usize) -> Result<(Desc, usize)> {
        let offset = self.offset(t)?;
        if self.ty.ty.is_repacked() {
            let codes = &self.dev().face().host.codes;
            let unknown = Error::Invalid { what: "element type", value: i64::from(t.dtype) };
            return Ok((codes.desc(t).ok_or(unknown)?, offset));
        }
        let nb = [1, reach, reach, reach];
        Ok((Desc { ne: [reach, 1, 1, 1], nb, dtype: DType::I8 }, offset))
    }

    fn dev(&self) -> &'static super::face::Dev {
        // SAFETY: a kind of memory lies in its device.
        unsafe { &*self.ty.dev }
    }

    /// The tensor's type and shape, if dinrail has such.
    pub(crate) fn desc(&self, t: &Tensor) -> Option<Desc> {
        self.dev().face().host.codes.desc(t)
    }

    /// Whether tensors are stored in another order here.
    pub(crate) fn is_repacked(&self) -> bool {
        self.ty.ty.is_repacked()
    }

    fn report(&self, what: &str, r: Result<()>) -> bool {
        if let Err(e) = &r {
            self.dev().face().complain(&format!("{}: {what}: {e}", self.ty.name.as_str()));
        }
        r.is_ok()
    }
}

/// Runs `f` on a buffer of ours and the tensor.
///
/// # Safety
/// * `b` is a buffer of ours.
/// * `t` points to a whole tensor in it.
unsafe fn on(
    b: *mut abi::Buffer,
    t: *const Tensor,
    what: &str,
    reach: Option<usize>,
    f: impl FnOnce(&Held, Span<'_>) -> Result<()>,
) -> bool {
    guard(false, || {
        // SAFETY: the caller promises.
        let Some(h) = (unsafe { held(b) }) else { return false };
        // SAFETY: as above.
        let t = unsafe { &*t };
        let overflow = Error::Range { offset: usize::MAX, len: 0, size: h.buffer.size() };
        let r = reach
            .ok_or(overflow)
            .and_then(|n| h.span(t, n))
            .and_then(|(desc, offset)| f(h, Span { desc: &desc, offset }));
        h.report(what, r)
    })
}

/// Host memory as bytes.
///
/// # Safety
/// `p` is valid for reads of `n` bytes during `'a`.
pub(crate) unsafe fn bytes<'a>(p: *const c_void, n: usize) -> &'a [u8] {
    if n == 0 || p.is_null() {
        return &[];
    }
    // SAFETY: the caller promises.
    unsafe { core::slice::from_raw_parts(p.cast(), n) }
}

/// # Safety
/// `p` is valid for reads and writes of `n` bytes during `'a`, and nobody else uses them.
pub(crate) unsafe fn bytes_mut<'a>(p: *mut c_void, n: usize) -> &'a mut [u8] {
    if n == 0 || p.is_null() {
        return &mut [];
    }
    // SAFETY: the caller promises.
    unsafe { core::slice::from_raw_parts_mut(p.cast(), n) }
}

unsafe extern "C" fn free(b: *mut abi::Buffer) {
    guard((), || {
        let head = b.cast::<Head>();
        // SAFETY: the host passes a buffer of ours, once.
        let context = unsafe { (*head).tail.context };
        if context.is_null() {
            return;
        }
        // SAFETY: as above.
        unsafe { (*head).tail.context = null_mut() };
        // SAFETY: `wrap` made it.
        drop(unsafe { Box::from_raw(context.cast::<Held>()) });
    });
}

unsafe extern "C" fn base(b: *mut abi::Buffer) -> *mut c_void {
    // SAFETY: the host passes a buffer of ours.
    unsafe { held(b) }.map_or(null_mut(), |h| h.base.cast())
}

unsafe extern "C" fn init(b: *mut abi::Buffer, t: *mut Tensor) -> i32 {
    // SAFETY: as above, with a tensor.
    let tensor = unsafe { &*t };
    // A view is part of a tensor that was prepared, and types that dinrail hasn't got are bytes.
    // SAFETY: as above.
    let known =
        unsafe { held(b) }.is_some_and(|h| h.dev().face().host.codes.desc(tensor).is_some());
    if !tensor.view_src.is_null() || !known {
        return Status::Success as i32;
    }
    // SAFETY: as above.
    let done = unsafe {
        on(b, t, "preparing a tensor", Some(0), |h, at| {
            let desc = h.dev().face().host.codes.desc(tensor).unwrap_or(*at.desc);
            h.buffer.init(Span { desc: &desc, offset: at.offset })
        })
    };
    if done { Status::Success as i32 } else { Status::Failed as i32 }
}

unsafe extern "C" fn memset(b: *mut abi::Buffer, t: *mut Tensor, v: u8, at: usize, n: usize) {
    // SAFETY: the host passes a buffer of ours and a tensor in it.
    unsafe {
        on(b, t, "filling a tensor", at.checked_add(n), |h, s| h.buffer.memset(s, at, n, v));
    }
}

unsafe extern "C" fn set(
    b: *mut abi::Buffer,
    t: *mut Tensor,
    data: *const c_void,
    at: usize,
    n: usize,
) {
    // SAFETY: the host lends this memory for the call.
    let data = unsafe { bytes(data, n) };
    // SAFETY: the host passes a buffer of ours and a tensor in it.
    unsafe { on(b, t, "writing a tensor", at.checked_add(n), |h, s| h.buffer.set(s, at, data)) };
}

unsafe extern "C" fn get(
    b: *mut abi::Buffer,
    t: *const Tensor,
    data: *mut c_void,
    at: usize,
    n: usize,
) {
    // SAFETY: the host lends this memory for the call.
    let data = unsafe { bytes_mut(data, n) };
    // SAFETY: the host passes a buffer of ours and a tensor in it.
    unsafe { on(b, t, "reading a tensor", at.checked_add(n), |h, s| h.buffer.get(s, at, data)) };
}

/// Bytes from the first to the last piece.
pub(crate) fn reach(len: usize, count: usize, stride: usize) -> Option<usize> {
    match count.checked_sub(1) {
        Some(steps) => stride.checked_mul(steps)?.checked_add(len),
        None => Some(0),
    }
}

unsafe extern "C" fn set_2d(
    b: *mut abi::Buffer,
    t: *mut Tensor,
    data: *const c_void,
    at: usize,
    len: usize,
    count: usize,
    stride: usize,
    host_stride: usize,
) {
    // SAFETY: the host lends this memory for the call.
    let data = unsafe { bytes(data, reach(len, count, host_stride).unwrap_or(0)) };
    let whole = reach(len, count, stride).and_then(|n| n.checked_add(at));
    let rows = Rows { len, count, stride, host_stride };
    // SAFETY: the host passes a buffer of ours and a tensor in it.
    unsafe { on(b, t, "writing rows", whole, |h, s| h.buffer.set_2d(s, at, rows, data)) };
}

unsafe extern "C" fn get_2d(
    b: *mut abi::Buffer,
    t: *const Tensor,
    data: *mut c_void,
    at: usize,
    len: usize,
    count: usize,
    stride: usize,
    host_stride: usize,
) {
    // SAFETY: the host lends this memory for the call.
    let data = unsafe { bytes_mut(data, reach(len, count, host_stride).unwrap_or(0)) };
    let whole = reach(len, count, stride).and_then(|n| n.checked_add(at));
    let rows = Rows { len, count, stride, host_stride };
    // SAFETY: the host passes a buffer of ours and a tensor in it.
    unsafe { on(b, t, "reading rows", whole, |h, s| h.buffer.get_2d(s, at, rows, data)) };
}

/// Whole tensors that are stored as they are, from memory of ours or the host's; others the host copies itself.
unsafe extern "C" fn copy(b: *mut abi::Buffer, from: *const Tensor, to: *mut Tensor) -> bool {
    guard(false, || {
        // SAFETY: the host passes whole tensors, the target in a buffer of ours.
        let (from, to) = (unsafe { &*from }, unsafe { &*to });
        // SAFETY: as above.
        let Some(target) = (unsafe { held(b) }) else { return false };
        let codes = &target.dev().face().host.codes;
        let (Some(a), Some(d)) = (codes.desc(from), codes.desc(to)) else { return false };
        if !a.same_layout(&d) || target.ty.ty.is_repacked() {
            return false;
        }
        let view = |t: &Tensor| t.buffer.is_null();
        if view(from) {
            return false;
        }
        let Ok(offset) = target.offset(to) else { return false };
        // SAFETY: the buffer of a tensor.
        match unsafe { held(from.buffer) } {
            Some(h) => {
                let Ok(start) = h.offset(from) else { return false };
                let (at, source) = (Span { desc: &d, offset }, Span { desc: &a, offset: start });
                target.buffer.copy_from(at, &h.buffer, source).is_ok()
            }
            None => {
                let head = from.buffer.cast::<Head>();
                // SAFETY: a buffer of the layout that was checked.
                let ty = unsafe { (*head).tail.buft };
                // SAFETY: the kind of memory of a buffer.
                if ty.is_null() || !unsafe { super::device::is_host(ty) } {
                    return false;
                }
                // SAFETY: host memory of a whole tensor.
                let data = unsafe { bytes(from.data, a.bytes()) };
                target.buffer.set(Span { desc: &d, offset }, 0, data).is_ok()
            }
        }
    })
}

unsafe extern "C" fn clear(b: *mut abi::Buffer, value: u8) {
    guard((), || {
        // SAFETY: the host passes a buffer of ours.
        if let Some(h) = unsafe { held(b) } {
            h.report("clearing", h.buffer.clear(value));
        }
    });
}

unsafe extern "C" fn reset(b: *mut abi::Buffer) {
    guard((), || {
        // SAFETY: the host passes a buffer of ours.
        if let Some(h) = unsafe { held(b) } {
            h.buffer.reset();
        }
    });
}

/// What a host says of a buffer before it computes: it writes it into the structure itself.
pub(crate) fn usage(head: &Head, h: &Held) {
    let usage = match head.tail.usage {
        1 => Usage::Weights,
        2 => Usage::Compute,
        _ => Usage::Any,
    };
    if h.buffer.usage() != usage {
        h.buffer.set_usage(usage);
    }
}
