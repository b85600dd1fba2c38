//! A word that several contexts change.

use core::sync::atomic::{AtomicUsize, Ordering};

/// A number that is replaced by a function of itself, in one step that nothing can come between.
#[derive(Debug)]
pub(crate) struct Word(AtomicUsize);

impl Word {
    pub(crate) const fn new(value: usize) -> Self {
        Self(AtomicUsize::new(value))
    }

    pub(crate) fn value(&self) -> usize {
        self.0.load(Ordering::Acquire)
    }

    /// Replaces the value by `f` of it, unless that is `None`; gives the value from before. `f` may be called again if
    /// another context came first.
    pub(crate) fn update(&self, f: impl Fn(usize) -> Option<usize>) -> Option<usize> {
        cfg_if::cfg_if! {
            if #[cfg(target_has_atomic = "ptr")] {
                self.0.fetch_update(Ordering::AcqRel, Ordering::Acquire, f).ok()
            } else {
                critical_section::with(|_| {
                    let old = self.0.load(Ordering::Acquire);
                    self.0.store(f(old)?, Ordering::Release);
                    Some(old)
                })
            }
        }
    }
}
