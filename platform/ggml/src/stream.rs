//! Streams of the library's devices.

use crate::abi::{self, SetThreads, StreamFns};
use crate::backend::{Loaded, Parts};
use crate::base::Functions;
use crate::buffer::status;
use crate::cache::Cache;
use crate::device::{Device, Handle};
use crate::numbers::Numbers;
use crate::pool::{Pool, Pools};
use core::ffi::c_void;
use dinrail_core::hal::{self, Buffer, Key, Rows, Span, Stream, StreamOps};
use dinrail_core::program::Program;
use dinrail_core::{Error, Result};
use std::sync::{Arc, Mutex, PoisonError};

/// What a stream's handle remembers.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) device: &'static Device,
    pub(crate) handle: Handle,
    ptr: *mut abi::Stream,
    fns: StreamFns,
    set_threads: Option<SetThreads>,
    pools: Option<Pools>,
    pool: Mutex<Option<Pool>>,
    pub(crate) base: Option<Functions>,
    pub(crate) numbers: Option<Arc<Numbers>>,
    /// Uncontended: a stream is used by one thread at a time.
    cache: Mutex<Cache>,
}

impl State {
    /// Takes over a stream that one of the library's functions gave.
    ///
    /// # Safety
    /// `ptr` is a new stream of the library's, not null and not taken over before.
    pub(crate) unsafe fn adopt(
        device: &'static Device,
        l: &Loaded,
        p: &Parts,
        ptr: *mut abi::Stream,
    ) -> Result<Box<Self>> {
        // SAFETY: the caller's promise, and the layout is the library's.
        let (fns, guid) = unsafe { StreamFns::read(l.layout, ptr) };
        if !guid.is_null() {
            // SAFETY: an identity of 16 bytes that lives as long as the library.
            let guid = unsafe { guid.read() };
            device.guid.get_or_init(|| guid);
        }
        device.owner().object_made();
        let state = Box::new(Self {
            device,
            handle: Handle { ptr: p.ptr, iface: p.iface },
            ptr,
            fns,
            set_threads: l.set_threads(),
            pools: Pools::of(l),
            pool: Mutex::new(None),
            base: l.fns,
            numbers: l.numbers.clone(),
            cache: Mutex::new(Cache::new()),
        });
        if state.fns.common.graph_compute.is_none() {
            return Err(Error::NotOffered { function: "graph_compute" });
        }
        Ok(state)
    }

    pub(crate) fn set_threads(&self, n: usize) -> Result<()> {
        let what =
            Error::Invalid { what: "number of threads", value: i64::try_from(n).unwrap_or(0) };
        let n = i32::try_from(n).ok().filter(|&n| n > 0).ok_or(what)?;
        let f =
            self.set_threads.ok_or(Error::NotOffered { function: "ggml_backend_set_n_threads" })?;
        // SAFETY: the library's own function on its own stream.
        unsafe { f(self.ptr, n) };
        if let Some(pools) = &self.pools {
            let mut pool = self.pool.lock().unwrap_or_else(PoisonError::into_inner);
            // SAFETY: the library's own stream, which its user does not compute with meanwhile.
            *pool = unsafe { pools.give(self.ptr, n) };
        }
        Ok(())
    }

    fn wait(&self) {
        if let Some(f) = self.fns.common.synchronize {
            // SAFETY: the stream's own function.
            unsafe { f(self.ptr) };
        }
    }

    fn compute(&self, program: &Program<'_>) -> Result<()> {
        let f =
            self.fns.common.graph_compute.ok_or(Error::NotOffered { function: "graph_compute" })?;
        let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(graph) = cache.graph(self, program, || self.wait())? else { return Ok(()) };
        // SAFETY: the stream's own function on a graph whose every node the device has agreed to, and whose memory
        // is bound to the program that the caller holds.
        status(unsafe { f(self.ptr, graph) }, "graph_compute")
    }
}

impl Drop for State {
    fn drop(&mut self) {
        self.wait();
        // Translations refer to the stream's device and may hold buffers of it.
        self.cache.get_mut().unwrap_or_else(PoisonError::into_inner).clear();
        if let Some(f) = self.fns.common.free {
            // SAFETY: the stream was taken over by `adopt` and is given back once.
            unsafe { f(self.ptr) };
        }
        *self.pool.get_mut().unwrap_or_else(PoisonError::into_inner) = None;
        self.device.owner().object_gone();
    }
}

impl Device {
    fn state<'a>(&self, key: Key<'a>) -> &'a State {
        let state = key.pointer::<State>();
        // SAFETY: `open` made the word from a box, and its handle is alive.
        unsafe { &*state }
    }
}

impl StreamOps for Device {
    fn name(&self) -> &str {
        hal::Device::name(self)
    }

    fn guid(&self) -> [u8; 16] {
        self.guid.get().copied().unwrap_or_default()
    }

    fn free(&self, key: Key<'_>) {
        let state = key.pointer::<State>();
        // SAFETY: `open` made the word from a box; its handle is gone, so it comes back once.
        drop(unsafe { Box::from_raw(state) });
    }

    fn set_async(
        &self,
        key: Key<'_>,
        buffer: &Buffer<'_>,
        at: Span<'_>,
        offset: usize,
        data: &[u8],
    ) -> Result<()> {
        let state = self.state(key);
        match (state.fns.common.set_tensor_async, self.owner().buffer_of(buffer)) {
            (Some(f), Some(b)) => {
                let mut t = b.ready(at)?;
                // SAFETY: core has checked the ranges; the data lives until the stream is waited for.
                unsafe { f(state.ptr, &raw mut t, data.as_ptr().cast(), offset, data.len()) };
                Ok(())
            }
            _ => {
                state.wait();
                buffer.set(at, offset, data)
            }
        }
    }

    fn get_async(
        &self,
        key: Key<'_>,
        buffer: &Buffer<'_>,
        at: Span<'_>,
        offset: usize,
        data: &mut [u8],
    ) -> Result<()> {
        let state = self.state(key);
        match (state.fns.common.get_tensor_async, self.owner().buffer_of(buffer)) {
            (Some(f), Some(b)) => {
                let t = b.ready(at)?;
                let to: *mut c_void = data.as_mut_ptr().cast();
                // SAFETY: as in `set_async`.
                unsafe { f(state.ptr, &raw const t, to, offset, data.len()) };
                Ok(())
            }
            _ => {
                state.wait();
                buffer.get(at, offset, data)
            }
        }
    }

    fn set_2d_async(
        &self,
        key: Key<'_>,
        buffer: &Buffer<'_>,
        at: Span<'_>,
        offset: usize,
        rows: Rows,
        data: &[u8],
    ) -> Result<()> {
        let state = self.state(key);
        match (state.fns.common.rows.set, self.owner().buffer_of(buffer)) {
            (Some(f), Some(b)) => {
                let mut t = b.ready(at)?;
                let (from, Rows { len, count, stride, host_stride }) = (data.as_ptr().cast(), rows);
                // SAFETY: as in `set_async`.
                unsafe { f(state.ptr, &raw mut t, from, offset, len, count, stride, host_stride) };
                Ok(())
            }
            _ => {
                state.wait();
                buffer.set_2d(at, offset, rows, data)
            }
        }
    }

    fn get_2d_async(
        &self,
        key: Key<'_>,
        buffer: &Buffer<'_>,
        at: Span<'_>,
        offset: usize,
        rows: Rows,
        data: &mut [u8],
    ) -> Result<()> {
        let state = self.state(key);
        match (state.fns.common.rows.get, self.owner().buffer_of(buffer)) {
            (Some(f), Some(b)) => {
                let t = b.ready(at)?;
                let to: *mut c_void = data.as_mut_ptr().cast();
                let Rows { len, count, stride, host_stride } = rows;
                // SAFETY: as in `set_async`.
                unsafe { f(state.ptr, &raw const t, to, offset, len, count, stride, host_stride) };
                Ok(())
            }
            _ => {
                state.wait();
                buffer.get_2d(at, offset, rows, data)
            }
        }
    }

    fn copy_async(
        &self,
        key: Key<'_>,
        from: &Stream,
        source: (&Buffer<'_>, Span<'_>),
        target: (&Buffer<'_>, Span<'_>),
    ) -> Result<bool> {
        let state = self.state(key);
        let owner = self.owner();
        let Some(f) = state.fns.common.cpy_tensor_async else { return Ok(false) };
        let Some(other) = owner.devices().iter().find_map(|d| d.state_of(from)) else {
            return Ok(false);
        };
        let (Some(a), Some(b)) = (owner.buffer_of(source.0), owner.buffer_of(target.0)) else {
            return Ok(false);
        };
        let (a, mut b) = (a.ready(source.1)?, b.ready(target.1)?);
        // SAFETY: two streams and two tensors of one library, the tensors inside their buffers and of one layout.
        Ok(unsafe { f(other.ptr, state.ptr, &raw const a, &raw mut b) })
    }

    fn synchronize(&self, key: Key<'_>) -> Result<()> {
        self.state(key).wait();
        Ok(())
    }

    fn compute(&self, key: Key<'_>, program: &Program<'_>) -> Result<()> {
        self.state(key).compute(program)
    }

    fn event_record(&self, key: Key<'_>, event: Key<'_>) -> Result<()> {
        let state = self.state(key);
        let f =
            state.fns.common.event_record.ok_or(Error::NotOffered { function: "event_record" })?;
        // SAFETY: the stream's own function on an event of its device.
        unsafe { f(state.ptr, event.pointer()) };
        Ok(())
    }

    fn event_wait(&self, key: Key<'_>, event: Key<'_>) -> Result<()> {
        let state = self.state(key);
        let f = state.fns.common.event_wait.ok_or(Error::NotOffered { function: "event_wait" })?;
        // SAFETY: the stream's own function on an event of its device.
        unsafe { f(state.ptr, event.pointer()) };
        Ok(())
    }
}
