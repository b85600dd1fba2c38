//! Buffers of the library's memory.

use crate::abi::{self, BufferFns, BufferTail, Tensor};
use crate::backend::{Library, Loaded};
use crate::numbers::Numbers;
use core::ffi::c_void;
use core::sync::atomic::{AtomicU64, Ordering};
use dinrail_core::hal::Span;
use dinrail_core::{Error, Result};
use std::sync::Arc;

/// What a buffer's handle remembers.
#[derive(Debug)]
pub(crate) struct State {
    owner: &'static Library,
    pub(crate) ptr: *mut abi::Buffer,
    pub(crate) fns: BufferFns,
    /// First address, in the device's own terms.
    pub(crate) base: *mut u8,
    free: Option<unsafe extern "C" fn(*mut abi::Buffer)>,
    set_usage: Option<unsafe extern "C" fn(*mut abi::Buffer, i32)>,
    numbers: Option<Arc<Numbers>>,
    /// Never given twice, so that a new buffer at an old address is told from the old one.
    pub(crate) serial: u64,
}

static SERIAL: AtomicU64 = AtomicU64::new(1);

/// An error of one of the library's functions that gives no reason.
pub(crate) const fn failed(call: &'static str) -> Error {
    Error::Device { call, code: -1 }
}

/// What a `ggml_status` means.
pub(crate) fn status(code: i32, call: &'static str) -> Result<()> {
    match code {
        0 => Ok(()),
        1 => Err(Error::Cancelled),
        _ => Err(Error::Device { call, code: i64::from(code) }),
    }
}

impl State {
    /// Takes over a buffer that one of the library's functions gave.
    ///
    /// # Safety
    /// `ptr` is a new buffer of the library's, not null and not taken over before.
    pub(crate) unsafe fn adopt(
        owner: &'static Library,
        loaded: &Loaded,
        ptr: *mut abi::Buffer,
    ) -> Result<(Box<Self>, BufferTail)> {
        // SAFETY: the caller's promise, and the layout is the library's.
        let (fns, tail) = unsafe { BufferFns::read(loaded.layout, ptr) };
        let mut state = Box::new(Self {
            owner,
            ptr,
            fns,
            base: core::ptr::null_mut(),
            // Without a base library the structure can't be freed, only what it holds.
            free: loaded.fns.map(|f| f.buffer_free).or(fns.free_buffer),
            set_usage: loaded.fns.and_then(|f| f.buffer_set_usage),
            numbers: loaded.numbers.clone(),
            serial: SERIAL.fetch_add(1, Ordering::Relaxed),
        });
        owner.object_made();
        let get = fns.get_base.ok_or(Error::NotOffered { function: "get_base" })?;
        // SAFETY: the buffer's own function.
        state.base = unsafe { get(ptr) }.cast();
        if state.base.is_null() {
            return Err(failed("get_base"));
        }
        Ok((state, tail))
    }

    /// The tensor at `at` as the library wants to see it.
    pub(crate) fn tensor(&self, at: Span<'_>) -> Result<Tensor> {
        let numbers = self.numbers.as_ref();
        let unknown =
            Error::Invalid { what: "element type", value: i64::from(at.desc.dtype as u8) };
        // Without a base library the numbers of types are those of the model files, which never change.
        let dtype =
            numbers.map_or(Some(i32::from(at.desc.dtype as u8)), |n| n.dtype(at.desc.dtype));
        let mut t = Tensor {
            dtype: dtype.ok_or(unknown)?,
            buffer: self.ptr,
            nb: at.desc.nb,
            ..Tensor::ZERO
        };
        for (to, n) in t.ne.iter_mut().zip(at.desc.ne) {
            *to =
                i64::try_from(n).map_err(|_| Error::Invalid { what: "length", value: i64::MAX })?;
        }
        t.data = self.base.wrapping_add(at.offset).cast();
        Ok(t)
    }

    /// As [`tensor`](Self::tensor), prepared by the buffer where it prepares tensors.
    pub(crate) fn ready(&self, at: Span<'_>) -> Result<Tensor> {
        let mut t = self.tensor(at)?;
        // SAFETY: a whole tensor that lies in this buffer.
        unsafe { self.init_tensor(&raw mut t) }?;
        Ok(t)
    }

    /// Lets the buffer prepare a tensor.
    ///
    /// # Safety
    /// `t` is a tensor placed in this buffer.
    pub(crate) unsafe fn init_tensor(&self, t: *mut Tensor) -> Result<()> {
        // SAFETY: the caller's promise.
        unsafe { init_tensor(&self.fns, self.ptr, t) }
    }

    pub(crate) fn set(&self, at: Span<'_>, offset: usize, data: &[u8]) -> Result<()> {
        let f = self.fns.set_tensor.ok_or(Error::NotOffered { function: "set_tensor" })?;
        let mut t = self.ready(at)?;
        // SAFETY: core has checked that the bytes lie inside the tensor and the tensor inside the buffer.
        unsafe { f(self.ptr, &raw mut t, data.as_ptr().cast(), offset, data.len()) };
        Ok(())
    }

    pub(crate) fn get(&self, at: Span<'_>, offset: usize, data: &mut [u8]) -> Result<()> {
        let f = self.fns.get_tensor.ok_or(Error::NotOffered { function: "get_tensor" })?;
        let t = self.ready(at)?;
        let to: *mut c_void = data.as_mut_ptr().cast();
        // SAFETY: as in `set`.
        unsafe { f(self.ptr, &raw const t, to, offset, data.len()) };
        Ok(())
    }

    pub(crate) fn clear(&self, value: u8) -> Result<()> {
        let f = self.fns.clear.ok_or(Error::NotOffered { function: "clear" })?;
        // SAFETY: the buffer's own function.
        unsafe { f(self.ptr, value) };
        Ok(())
    }

    pub(crate) fn reset(&self) {
        if let Some(f) = self.fns.reset {
            // SAFETY: the buffer's own function.
            unsafe { f(self.ptr) };
        }
    }

    pub(crate) fn set_usage(&self, usage: abi::Usage) {
        if let Some(f) = self.set_usage {
            // SAFETY: the base library's function on a buffer of its own layout.
            unsafe { f(self.ptr, usage as i32) };
        }
    }
}

/// # Safety
/// `fns` are those of `buffer`, and `t` is a tensor placed in it.
pub(crate) unsafe fn init_tensor(
    fns: &BufferFns,
    buffer: *mut abi::Buffer,
    t: *mut Tensor,
) -> Result<()> {
    if let Some(f) = fns.init_tensor {
        // SAFETY: the caller's promise.
        status(unsafe { f(buffer, t) }, "init_tensor")?;
    }
    if let Some(f) = fns.init_void {
        // SAFETY: as above.
        unsafe { f(buffer, t) };
    }
    Ok(())
}

impl Drop for State {
    fn drop(&mut self) {
        if let Some(f) = self.free {
            // SAFETY: the buffer was taken over by `adopt` and is given back once.
            unsafe { f(self.ptr) };
        }
        self.owner.object_gone();
    }
}
