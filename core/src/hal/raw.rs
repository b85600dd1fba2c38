//! The opaque word inside a handle.
#![allow(unsafe_code)]

use core::marker::PhantomData;
use core::sync::atomic::{AtomicUsize, Ordering};

/// What a backend makes of a stream, buffer or event: a pointer, an index, a driver's handle. Only the backend
/// understands it.
#[derive(Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct Raw(*mut ());

impl Raw {
    /// Nothing to remember.
    pub const NONE: Self = Self(core::ptr::null_mut());

    /// A pointer.
    pub const fn pointer<T>(p: *mut T) -> Self {
        Self(p.cast())
    }

    /// A number.
    pub const fn index(i: usize) -> Self {
        Self(core::ptr::without_provenance_mut(i))
    }
}

// SAFETY: the word itself is plain data. What it stands for is the backend's business, whose traits are `Sync` and
// whose documentation says that calls may come from any thread, one at a time for each handle.
unsafe impl Send for Raw {}

/// A backend's own [`Raw`], given back to it. Only handles of this crate make one, from a `Raw` that is still alive.
#[derive(Clone, Copy, Debug)]
pub struct Key<'a> {
    raw: *mut (),
    alive: PhantomData<&'a Raw>,
}

impl<'a> Key<'a> {
    pub(crate) const fn of(raw: &'a Raw) -> Self {
        Self { raw: raw.0, alive: PhantomData }
    }

    /// The pointer that [`Raw::pointer`] was given.
    #[inline]
    pub const fn pointer<T>(self) -> *mut T {
        self.raw.cast()
    }

    /// The number that [`Raw::index`] was given.
    #[inline]
    pub fn index(self) -> usize {
        self.raw.addr()
    }
}

/// Counts the handles of a backend that can be unloaded. Compiled-in backends have none.
#[derive(Debug)]
pub struct Live {
    /// Streams that are open.
    pub streams: Count,
    /// Buffers that are alive.
    pub buffers: Count,
    /// Events that are alive.
    pub events: Count,
}

impl Live {
    /// Nothing alive.
    pub const fn new() -> Self {
        Self { streams: Count::new(), buffers: Count::new(), events: Count::new() }
    }
}

impl Default for Live {
    fn default() -> Self {
        Self::new()
    }
}

/// A number of living handles.
#[derive(Debug)]
pub struct Count(AtomicUsize);

impl Count {
    /// Zero.
    pub const fn new() -> Self {
        Self(AtomicUsize::new(0))
    }

    /// How many are alive.
    pub fn count(&self) -> usize {
        self.0.load(Ordering::Acquire)
    }

    pub(crate) fn add(&self) {
        step(&self.0, 1);
    }

    pub(crate) fn remove(&self) {
        step(&self.0, usize::MAX);
    }
}

impl Default for Count {
    fn default() -> Self {
        Self::new()
    }
}

cfg_if::cfg_if! {
    if #[cfg(target_has_atomic = "ptr")] {
        fn step(n: &AtomicUsize, by: usize) {
            n.fetch_add(by, Ordering::AcqRel);
        }
    } else {
        /// Targets without compare-and-swap load no backends at run time, and only one context opens and drops
        /// handles there.
        fn step(n: &AtomicUsize, by: usize) {
            n.store(n.load(Ordering::Acquire).wrapping_add(by), Ordering::Release);
        }
    }
}
