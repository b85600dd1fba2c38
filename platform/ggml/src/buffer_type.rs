//! Kinds of memory of the library's devices.

use crate::abi::{self, GetExtraBufferTypes, Tensor};
use crate::backend::{Library, Loaded, Parts};
use crate::buffer::{State, failed};
use crate::dl;
use crate::text;
use core::ffi::c_void;
use core::ptr::{NonNull, null_mut};
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};
use dinrail_core::hal::{self, Allocation, Buffer, Key, Live, Raw, Rows, Span, Usage};
use dinrail_core::tensor::Desc;
use dinrail_core::{Error, Result};

/// How a device comes by a kind of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// What its kernels use.
    Own,
    /// Pinned host memory.
    Host,
    /// Weights in another order, number `i`.
    Extra(usize),
    /// What it makes of memory that the host lends.
    Lent,
}

/// A kind of memory. Lives as long as the program; `ptr` is null while the library isn't loaded.
#[derive(Debug)]
pub(crate) struct BufferType {
    owner: &'static Library,
    device: usize,
    role: Role,
    name: String,
    ptr: AtomicPtr<abi::BufferType>,
    align: AtomicUsize,
    max: AtomicUsize,
    host: AtomicBool,
}

/// Asks a device for its memory of a role.
pub(crate) fn look(loaded: &Loaded, parts: &Parts, role: Role) -> Option<NonNull<abi::BufferType>> {
    let p = match role {
        Role::Own => {
            let f = parts.iface.get_buffer_type?;
            // SAFETY: the device's own function.
            unsafe { f(parts.ptr) }
        }
        Role::Host => {
            let f = parts.iface.get_host_buffer_type?;
            // SAFETY: the device's own function.
            unsafe { f(parts.ptr) }
        }
        Role::Extra(i) => return extra(loaded, parts, i),
        Role::Lent => null_mut(),
    };
    NonNull::new(p)
}

fn extra(loaded: &Loaded, parts: &Parts, i: usize) -> Option<NonNull<abi::BufferType>> {
    if i >= 64 {
        return None;
    }
    let f = loaded.proc(c"ggml_backend_dev_get_extra_bufts")?;
    // SAFETY: this is the type that goes with the name.
    let f: GetExtraBufferTypes = unsafe { dl::function(f) };
    // SAFETY: the library's own function on its own device.
    let list = unsafe { f(parts.ptr) };
    let mut at = list;
    for n in 0.. {
        if at.is_null() {
            return None;
        }
        // SAFETY: the list goes on until a null.
        let p = NonNull::new(unsafe { at.read() })?;
        if n == i {
            return Some(p);
        }
        at = at.wrapping_add(1);
    }
    None
}

impl BufferType {
    pub(crate) fn new(
        owner: &'static Library,
        device: usize,
        role: Role,
        ptr: NonNull<abi::BufferType>,
    ) -> Self {
        let this = Self {
            owner,
            device,
            role,
            name: name_of(ptr).unwrap_or_else(|| "unnamed".into()),
            ptr: AtomicPtr::new(null_mut()),
            align: AtomicUsize::new(1),
            max: AtomicUsize::new(usize::MAX),
            host: AtomicBool::new(false),
        };
        this.fill(ptr);
        this
    }

    /// Takes up a kind of memory of the library that was just loaded.
    pub(crate) fn fill(&self, ptr: NonNull<abi::BufferType>) {
        let p = ptr.as_ptr();
        // SAFETY: what the library says is a kind of memory.
        let iface = unsafe { (*p).iface };
        // SAFETY: the kind's own function.
        let align = iface.get_alignment.map_or(1, |f| unsafe { f(p) });
        // SAFETY: the kind's own function.
        let max = iface.get_max_size.map_or(usize::MAX, |f| unsafe { f(p) });
        // SAFETY: the kind's own function.
        let host = iface.is_host.is_some_and(|f| unsafe { f(p) });
        self.align.store(if align.is_power_of_two() { align } else { 64 }, Ordering::Relaxed);
        self.max.store(max, Ordering::Relaxed);
        self.host.store(host, Ordering::Relaxed);
        self.ptr.store(p, Ordering::Release);
    }

    pub(crate) fn forget(&self) {
        self.ptr.store(null_mut(), Ordering::Release);
    }

    pub(crate) fn role(&self) -> Role {
        self.role
    }

    pub(crate) fn is_named(&self, ptr: NonNull<abi::BufferType>) -> bool {
        name_of(ptr).is_some_and(|n| n == self.name)
    }

    /// The library's pointer; looked up anew after the library was loaded again.
    pub(crate) fn pointer(&self, loaded: &Loaded) -> Result<NonNull<abi::BufferType>> {
        if let Some(p) = NonNull::new(self.ptr.load(Ordering::Acquire)) {
            return Ok(p);
        }
        let parts = loaded.devices.get(self.device).ok_or(Error::Stale)?;
        let p = look(loaded, parts, self.role).ok_or(Error::Stale)?;
        self.fill(p);
        Ok(p)
    }

    /// A small buffer of the library's, for questions about what may lie in one.
    pub(crate) fn small(&self, l: &Loaded) -> Result<Box<State>> {
        self.make(l, 64)
    }

    fn make(&self, l: &Loaded, size: usize) -> Result<Box<State>> {
        let p = self.pointer(l)?.as_ptr();
        // SAFETY: a kind of memory of the library's.
        let f = unsafe { (*p).iface.alloc_buffer };
        let f = f.ok_or(Error::NotOffered { function: "alloc_buffer" })?;
        // SAFETY: the kind's own function.
        let buffer = unsafe { f(p, size) };
        if buffer.is_null() {
            return Err(Error::OutOfMemory { requested: size, available: usize::MAX });
        }
        // SAFETY: a new buffer of the library's.
        let (state, tail) = unsafe { State::adopt(self.owner, l, buffer) }?;
        match tail.size >= size {
            true => Ok(state),
            false => Err(Error::OutOfMemory { requested: size, available: tail.size }),
        }
    }

    /// The handle's own words for a buffer that the library gave.
    pub(crate) fn allocation(&self, state: Box<State>) -> Allocation {
        let host = if self.host.load(Ordering::Relaxed) { NonNull::new(state.base) } else { None };
        // SAFETY: the library says that the host may use it, and keeps it until the buffer is freed.
        unsafe { Allocation::new(Raw::pointer(Box::into_raw(state))).on_host(host) }
    }

    fn state<'a>(&self, key: Key<'a>) -> &'a State {
        let state = key.pointer::<State>();
        // SAFETY: the word comes from `allocation`, and its handle is alive.
        unsafe { &*state }
    }

    /// Re-ordered memory takes whole tensors of the types that it knows, and stops the process on anything else.
    fn whole(&self, state: &State, at: Span<'_>, offset: usize, len: usize) -> Result<()> {
        if !matches!(self.role, Role::Extra(_)) || self.host.load(Ordering::Relaxed) {
            return Ok(());
        }
        let size = at.desc.bytes();
        if offset != 0 || len != size {
            return Err(Error::Range { offset, len, size });
        }
        if state.ready(at)?.extra.is_null() {
            let value = i64::from(at.desc.dtype as u8);
            return Err(Error::Invalid { what: "element type of re-ordered memory", value });
        }
        Ok(())
    }
}

fn name_of(ptr: NonNull<abi::BufferType>) -> Option<String> {
    let p = ptr.as_ptr();
    // SAFETY: what the library says is a kind of memory.
    let get = unsafe { (*p).iface.get_name }?;
    // SAFETY: the kind's own function.
    let name = unsafe { get(p) };
    // SAFETY: a text of the library's, or null.
    unsafe { text::copy(name) }
}

impl hal::BufferType for BufferType {
    fn name(&self) -> &str {
        &self.name
    }

    fn device(&self) -> Option<&'static dyn hal::Device> {
        hal::Backend::device(self.owner, self.device)
    }

    fn alignment(&self) -> usize {
        self.align.load(Ordering::Relaxed)
    }

    fn max_size(&self) -> usize {
        self.max.load(Ordering::Relaxed)
    }

    fn alloc_size(&self, desc: &Desc) -> usize {
        let ask = |l: &Loaded| {
            let p = self.pointer(l)?.as_ptr();
            // SAFETY: a kind of memory of the library's.
            let f = unsafe { (*p).iface.get_alloc_size };
            let (Some(f), Some(numbers)) = (f, &l.numbers) else { return Ok(desc.bytes()) };
            let Some(dtype) = numbers.dtype(desc.dtype) else { return Ok(desc.bytes()) };
            let t = Tensor {
                dtype,
                ne: desc.ne.map(|n| i64::try_from(n).unwrap_or(i64::MAX)),
                nb: desc.nb,
                ..Tensor::ZERO
            };
            // SAFETY: the kind's own function on a whole tensor.
            Ok(unsafe { f(p, &raw const t) }.max(desc.bytes()))
        };
        self.owner.with(ask).unwrap_or_else(|_| desc.bytes())
    }

    fn is_host(&self) -> bool {
        self.host.load(Ordering::Relaxed)
    }

    fn is_repacked(&self) -> bool {
        matches!(self.role, Role::Extra(_)) && !self.is_host()
    }

    fn live(&self) -> Option<&'static Live> {
        Some(&self.owner.live)
    }

    fn alloc(&'static self, size: usize) -> Result<Allocation> {
        self.owner.with(|l| Ok(self.allocation(self.make(l, size)?)))
    }

    fn free(&self, key: Key<'_>, _size: usize) {
        let state = key.pointer::<State>();
        // SAFETY: the word comes from `allocation`; its handle is gone, so it comes back once.
        drop(unsafe { Box::from_raw(state) });
    }

    fn set(&self, key: Key<'_>, at: Span<'_>, offset: usize, data: &[u8]) -> Result<()> {
        let state = self.state(key);
        self.whole(state, at, offset, data.len())?;
        state.set(at, offset, data)
    }

    fn get(&self, key: Key<'_>, at: Span<'_>, offset: usize, data: &mut [u8]) -> Result<()> {
        let state = self.state(key);
        self.whole(state, at, offset, data.len())?;
        state.get(at, offset, data)
    }

    fn set_2d(
        &self,
        key: Key<'_>,
        at: Span<'_>,
        offset: usize,
        rows: Rows,
        data: &[u8],
    ) -> Result<()> {
        let state = self.state(key);
        self.whole(state, at, offset, rows.len * rows.count)?;
        let Some(f) = state.fns.rows.set else {
            for i in 0..rows.count {
                let piece = data.get(i * rows.host_stride..).and_then(|d| d.get(..rows.len));
                state.set(at, offset + i * rows.stride, piece.unwrap_or(&[]))?;
            }
            return Ok(());
        };
        let mut t = state.ready(at)?;
        let from: *const c_void = data.as_ptr().cast();
        // SAFETY: core has checked both sides' ranges.
        unsafe {
            f(
                state.ptr,
                &raw mut t,
                from,
                offset,
                rows.len,
                rows.count,
                rows.stride,
                rows.host_stride,
            )
        };
        Ok(())
    }

    fn get_2d(
        &self,
        key: Key<'_>,
        at: Span<'_>,
        offset: usize,
        rows: Rows,
        data: &mut [u8],
    ) -> Result<()> {
        let state = self.state(key);
        self.whole(state, at, offset, rows.len * rows.count)?;
        let Some(f) = state.fns.rows.get else {
            for i in 0..rows.count {
                let piece =
                    data.get_mut(i * rows.host_stride..).and_then(|d| d.get_mut(..rows.len));
                state.get(at, offset + i * rows.stride, piece.unwrap_or(&mut []))?;
            }
            return Ok(());
        };
        let t = state.ready(at)?;
        let to: *mut c_void = data.as_mut_ptr().cast();
        // SAFETY: core has checked both sides' ranges.
        unsafe {
            f(
                state.ptr,
                &raw const t,
                to,
                offset,
                rows.len,
                rows.count,
                rows.stride,
                rows.host_stride,
            )
        };
        Ok(())
    }

    fn memset(
        &self,
        key: Key<'_>,
        at: Span<'_>,
        offset: usize,
        len: usize,
        value: u8,
    ) -> Result<()> {
        let state = self.state(key);
        self.whole(state, at, offset, len)?;
        let Some(f) = state.fns.memset_tensor else {
            return state.set(at, offset, &vec![value; len]);
        };
        let mut t = state.ready(at)?;
        // SAFETY: core has checked the range.
        unsafe { f(state.ptr, &raw mut t, value, offset, len) };
        Ok(())
    }

    fn init(&self, key: Key<'_>, at: Span<'_>) -> Result<()> {
        self.state(key).ready(at).map(|_| ())
    }

    fn copy_from(
        &self,
        key: Key<'_>,
        to: Span<'_>,
        from: &Buffer<'_>,
        from_at: Span<'_>,
    ) -> Result<bool> {
        let state = self.state(key);
        let (Some(f), Some(source)) = (state.fns.cpy_tensor, self.owner.buffer_of(from)) else {
            return Ok(false);
        };
        if self.is_repacked() {
            return Ok(false);
        }
        let (a, mut b) = (source.ready(from_at)?, state.ready(to)?);
        // SAFETY: two tensors of the library's, of one layout, both inside their buffers.
        Ok(unsafe { f(state.ptr, &raw const a, &raw mut b) })
    }

    fn clear(&self, key: Key<'_>, _size: usize, value: u8) -> Result<()> {
        self.state(key).clear(value)
    }

    fn reset(&self, key: Key<'_>) {
        self.state(key).reset();
    }

    fn set_usage(&self, key: Key<'_>, usage: Usage) {
        self.state(key).set_usage(match usage {
            Usage::Any => abi::Usage::Any,
            Usage::Weights => abi::Usage::Weights,
            Usage::Compute => abi::Usage::Compute,
        });
    }
}

/// Why memory could not be lent to the device.
pub(crate) const LENDING: Error = failed("buffer_from_host_ptr");
