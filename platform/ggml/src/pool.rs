//! Threads of a CPU library that live as long as their stream.
//!
//! ggml's CPU backend starts its threads anew for every graph unless it is given a pool, which costs more than a small
//! model's token. Pool and functions are the library's own.

use crate::abi;
use crate::backend::Loaded;
use crate::dl;
use core::ffi::c_void;

type Init = unsafe extern "C" fn(*mut c_void, i32);
type New = unsafe extern "C" fn(*mut c_void) -> *mut c_void;
type Free = unsafe extern "C" fn(*mut c_void);
type Set = unsafe extern "C" fn(*mut abi::Stream, *mut c_void);

/// What makes pools.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pools {
    init: Init,
    new: New,
    free: Free,
    set: Set,
}

/// A pool. Freed when dropped, which must not be before its stream is freed or has got another one.
#[derive(Debug)]
pub(crate) struct Pool {
    ptr: *mut c_void,
    free: Free,
}

// SAFETY: the pool is only handed to the library, which locks it.
unsafe impl Send for Pool {}

impl Drop for Pool {
    fn drop(&mut self) {
        // SAFETY: `Pools::make` made it, and no stream refers to it any more.
        unsafe { (self.free)(self.ptr) };
    }
}

/// The parameters as ggml has laid them out since October 2024, and room behind for what is added.
#[repr(C)]
struct Params {
    mask: [u8; 512],
    threads: i32,
    priority: i32,
    poll: u32,
    room: [u64; 64],
}

impl Pools {
    /// `None` for a library without.
    pub(crate) fn of(l: &Loaded) -> Option<Self> {
        let (new, free) = (l.proc(c"ggml_threadpool_new")?, l.proc(c"ggml_threadpool_free")?);
        let set = l.proc(c"ggml_backend_cpu_set_threadpool")?;
        let init = l.fns?.pool_params?;
        // SAFETY: this is the type that goes with the name.
        let new = unsafe { dl::function::<New>(new) };
        // SAFETY: as above.
        let free = unsafe { dl::function::<Free>(free) };
        // SAFETY: as above.
        let set = unsafe { dl::function::<Set>(set) };
        Some(Self { init, new, free, set })
    }

    fn make(&self, threads: i32) -> Option<Pool> {
        const POLL: u32 = 50;
        let mut params = Params { mask: [0; 512], threads: 0, priority: 0, poll: 0, room: [0; 64] };
        // SAFETY: more room than any release writes.
        unsafe { (self.init)((&raw mut params).cast(), threads) };
        // Between two tokens a thread waits awake for some milliseconds; as many as ggml wants would keep a core busy for
        // a tenth of a second.
        if params.threads == threads && params.poll == POLL {
            params.poll = 1;
        }
        // SAFETY: what the function wants, filled by the library itself.
        let ptr = unsafe { (self.new)((&raw mut params).cast()) };
        (!ptr.is_null()).then_some(Pool { ptr, free: self.free })
    }

    /// Gives a stream a pool of so many threads, which the caller keeps; `None` for one thread, which needs none, and
    /// where it can't be had.
    ///
    /// # Safety
    /// `stream` is a living stream of the library's that computes nothing now.
    pub(crate) unsafe fn give(&self, stream: *mut abi::Stream, threads: i32) -> Option<Pool> {
        let pool = if threads > 1 { self.make(threads) } else { None };
        let ptr = pool.as_ref().map_or(core::ptr::null_mut(), |p| p.ptr);
        // SAFETY: the caller's promise; the pool outlives its use by the stream.
        unsafe { (self.set)(stream, ptr) };
        pool
    }
}
