//! What was called how often. Not part of what a backend needs.

use core::sync::atomic::{AtomicUsize, Ordering};

/// A number that goes up.
#[derive(Debug)]
pub struct Counter(AtomicUsize);

impl Counter {
    const fn new() -> Self {
        Self(AtomicUsize::new(0))
    }

    /// The number.
    pub fn count(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }

    pub(crate) fn add(&self, n: usize) {
        // Plain load and store where the target has no more: only one context calls a backend there.
        #[cfg(target_has_atomic = "ptr")]
        self.0.fetch_add(n, Ordering::Relaxed);
        #[cfg(not(target_has_atomic = "ptr"))]
        self.0.store(self.count().wrapping_add(n), Ordering::Relaxed);
    }
}

/// Counters of a backend's functions.
#[derive(Debug)]
pub struct Calls {
    /// Streams opened.
    pub open: Counter,
    /// Buffers allocated.
    pub alloc: Counter,
    /// Writes to buffers.
    pub set: Counter,
    /// Reads of buffers.
    pub get: Counter,
    /// Programs computed.
    pub compute: Counter,
    /// Nodes in them, without those that only are views.
    pub nodes: Counter,
    /// Waits for a stream.
    pub synchronize: Counter,
    /// Questions whether a node is supported.
    pub supports: Counter,
    /// Events recorded.
    pub record: Counter,
    /// Waits of streams for events.
    pub wait: Counter,
}

impl Calls {
    /// All zero.
    pub const fn new() -> Self {
        Self {
            open: Counter::new(),
            alloc: Counter::new(),
            set: Counter::new(),
            get: Counter::new(),
            compute: Counter::new(),
            nodes: Counter::new(),
            synchronize: Counter::new(),
            supports: Counter::new(),
            record: Counter::new(),
            wait: Counter::new(),
        }
    }
}

impl Default for Calls {
    fn default() -> Self {
        Self::new()
    }
}
