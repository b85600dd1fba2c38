//! Tells what is called.

use crate::{Call, Hook, Kind};
use core::sync::atomic::{AtomicUsize, Ordering};
use dinrail_core::error::Result;

/// Where calls are told.
pub trait Sink: Sync {
    /// A call and how it went. Called from whatever thread made the call.
    fn call(&self, call: &Call, result: Result<()>);
}

impl<F: Fn(&Call, Result<()>) + Sync> Sink for F {
    fn call(&self, call: &Call, result: Result<()>) {
        self(call, result);
    }
}

/// Tells a [`Sink`] about every call, after it.
pub struct Trace {
    sink: &'static dyn Sink,
}

impl Trace {
    /// Tells `sink`: a [`Recorder`], or a function such as one that writes to a log.
    pub const fn new(sink: &'static dyn Sink) -> Self {
        Self { sink }
    }
}

impl Hook for Trace {
    fn after(&self, call: &Call, result: Result<()>) {
        self.sink.call(call, result);
    }
}

impl core::fmt::Debug for Trace {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Trace").finish_non_exhaustive()
    }
}

/// Remembers the first `N` calls, in storage of its own, and counts them all.
#[derive(Debug)]
pub struct Recorder<const N: usize> {
    len: AtomicUsize,
    entries: [Entry; N],
}

/// A call in atomics: its kind and outcome in one word, and three numbers. The word is stored last; 0 is unused.
#[derive(Debug)]
struct Entry {
    word: AtomicUsize,
    numbers: [AtomicUsize; 3],
}

impl<const N: usize> Recorder<N> {
    /// Nothing yet.
    pub const fn new() -> Self {
        Self {
            len: AtomicUsize::new(0),
            entries: [const {
                Entry { word: AtomicUsize::new(0), numbers: [const { AtomicUsize::new(0) }; 3] }
            }; N],
        }
    }

    /// How many calls there were, also those that had no room.
    pub fn count(&self) -> usize {
        self.len.load(Ordering::Acquire)
    }

    /// The calls that had room, in order.
    pub fn calls(&self) -> impl Iterator<Item = Call> + '_ {
        self.entries.iter().filter_map(|e| e.load()).map(|(call, _)| call)
    }

    /// How many of the recorded calls are of a kind.
    pub fn count_of(&self, kind: Kind) -> usize {
        self.calls().filter(|c| c.kind == kind).count()
    }

    /// How many of the recorded calls failed.
    pub fn failed(&self) -> usize {
        self.entries.iter().filter_map(|e| e.load()).filter(|(_, ok)| !ok).count()
    }
}

impl<const N: usize> Default for Recorder<N> {
    fn default() -> Self {
        Self::new()
    }
}

impl Entry {
    fn load(&self) -> Option<(Call, bool)> {
        let word = self.word.load(Ordering::Acquire);
        let kind = *Kind::ALL.get((word >> 1).checked_sub(1)?)?;
        let [bytes, at, nodes] = self.numbers.each_ref().map(|n| n.load(Ordering::Relaxed));
        Some((Call { kind, bytes, at, nodes }, word & 1 == 1))
    }
}

impl<const N: usize> Sink for Recorder<N> {
    fn call(&self, call: &Call, result: Result<()>) {
        let Some(entry) = self.entries.get(self.len.fetch_add(1, Ordering::AcqRel)) else { return };
        for (to, from) in entry.numbers.iter().zip([call.bytes, call.at, call.nodes]) {
            to.store(from, Ordering::Relaxed);
        }
        let word = (call.kind as usize + 1) << 1 | usize::from(result.is_ok());
        entry.word.store(word, Ordering::Release);
    }
}
