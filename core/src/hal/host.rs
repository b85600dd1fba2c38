//! What the platform lends to backends that run on the host processor: memory and threads.
//!
//! Core never allocates and starts no thread. A backend that needs either is given these traits when it is put into
//! the table, in a `const`: on a desktop they come from `dinrail-host`, on bare metal from `dinrail-bare`.

use super::{Key, Raw};
use crate::error::Result;
use core::ptr::NonNull;

/// A source of host memory.
///
/// # Safety
/// What [`alloc`](Self::alloc) returns is as it says, and nobody else's until it is freed: safe code uses it.
#[allow(unsafe_code)]
pub unsafe trait Heap: Sync {
    /// `bytes` bytes at an address that is a multiple of `align` (a power of two). `bytes` is never 0.
    ///
    /// # Implementors
    /// The bytes MUST be initialised, to whatever: safe code can read a new buffer. A zeroed allocation costs nothing
    /// where the system hands out fresh pages.
    ///
    /// # Concurrency
    /// Any thread. Not from an interrupt.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory) with both numbers.
    fn alloc(&self, bytes: usize, align: usize) -> Result<NonNull<u8>>;

    /// Gives memory back.
    ///
    /// # Safety
    /// * `ptr`, `bytes` and `align` are those of one earlier [`alloc`](Self::alloc) of this heap.
    /// * Nothing refers to the memory any more, and it is not freed twice.
    #[allow(unsafe_code)]
    unsafe fn free(&self, ptr: NonNull<u8>, bytes: usize, align: usize);

    /// Free and total bytes, 0 where unknown.
    fn memory(&self) -> (usize, usize) {
        (0, 0)
    }
}

/// One of the workers that run a job together.
#[derive(Clone, Copy)]
pub struct Worker<'a> {
    index: usize,
    count: usize,
    barrier: Option<&'a dyn Barrier>,
}

impl<'a> Worker<'a> {
    /// The only worker.
    pub const ALONE: Worker<'static> = Worker { index: 0, count: 1, barrier: None };

    /// Worker `index` of `count`, which meet at `barrier`.
    pub const fn new(index: usize, count: usize, barrier: &'a dyn Barrier) -> Self {
        Self { index, count, barrier: Some(barrier) }
    }

    /// Which worker this is, from 0.
    #[inline]
    pub const fn index(&self) -> usize {
        self.index
    }

    /// How many there are.
    #[inline]
    pub const fn count(&self) -> usize {
        self.count
    }

    /// Waits until every worker is here. What each wrote before is visible to all afterwards.
    #[inline]
    pub fn wait(&self) {
        if let Some(b) = self.barrier {
            b.wait();
        }
    }

    /// This worker's share of `n` items: a contiguous range, the shares differing by at most one item.
    #[inline]
    pub const fn share(&self, n: usize) -> core::ops::Range<usize> {
        // Without this, each kernel would carry a panic for a count that nobody passes.
        let count = if self.count == 0 { 1 } else { self.count };
        let (each, extra) = (n / count, n % count);
        let before = if self.index < extra { self.index } else { extra };
        let start = self.index * each + before;
        let len = each + if self.index < extra { 1 } else { 0 };
        start..start + len
    }
}

impl core::fmt::Debug for Worker<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Worker").field("index", &self.index).field("count", &self.count).finish()
    }
}

/// Where the workers of a team meet.
///
/// # Safety
/// [`wait`](Self::wait) does what it says: what workers write at the same time without a lock depends on it.
#[allow(unsafe_code)]
pub unsafe trait Barrier: Sync {
    /// Returns when every worker of the team has called it. A full memory barrier.
    fn wait(&self);
}

/// A source of worker threads.
///
/// # Safety
/// [`run`](Self::run) gives each worker an index of its own, the same count and a barrier of just these workers, and nobody
/// uses `job` after its return: workers write to one result without a lock.
#[allow(unsafe_code)]
pub unsafe trait Threads: Sync {
    /// How many threads a team should have here: what affinity mask and quota allow, at least 1.
    fn default_count(&self) -> usize;

    /// A team of `count` workers (at least 1), the caller of [`run`](Self::run) being one of them. They sleep until
    /// there is work and use no processor time while they sleep.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) for 0 or far too many, [`Error::Device`](crate::Error::Device)
    /// when the system gives no thread.
    fn open(&self, count: usize) -> Result<Raw>;

    /// Ends a team. Its workers have exited on return.
    fn close(&self, team: Key<'_>);

    /// How many workers a team has.
    fn count(&self, team: Key<'_>) -> usize;

    /// Runs `job` once on every worker of the team, on the calling thread as worker 0; returns when all are done.
    /// The workers start and end together, so `job` may use the barrier of its [`Worker`]. Not re-entrant: a second
    /// thread that calls it for the same team waits.
    fn run(&self, team: Key<'_>, job: &(dyn Fn(&Worker<'_>) + Sync));
}

/// A team of workers, ended when dropped. What a stream keeps, instead of the [`Raw`] of [`Threads::open`].
pub struct Team {
    threads: &'static dyn Threads,
    raw: Raw,
}

impl Team {
    /// A team of `count` workers.
    ///
    /// # Errors
    /// Those of [`Threads::open`].
    pub fn open(threads: &'static dyn Threads, count: usize) -> Result<Self> {
        Ok(Self { threads, raw: threads.open(count)? })
    }

    /// How many workers there are.
    pub fn count(&self) -> usize {
        self.threads.count(Key::of(&self.raw))
    }

    /// Runs `job` once on every worker, as [`Threads::run`] does.
    #[inline]
    pub fn run(&self, job: &(dyn Fn(&Worker<'_>) + Sync)) {
        self.threads.run(Key::of(&self.raw), job);
    }
}

impl core::fmt::Debug for Team {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Team").field("count", &self.count()).finish_non_exhaustive()
    }
}

impl Drop for Team {
    fn drop(&mut self) {
        self.threads.close(Key::of(&self.raw));
    }
}
