//! Fails on purpose.

use crate::{Call, Hook, Kind};
use core::sync::atomic::{AtomicUsize, Ordering};
use dinrail_core::error::{Error, Result};

/// Fails the n-th call of a kind with an error; all others go through. To find out whether a program survives every
/// failure, arm it with 1, 2, … until [`fired`](Self::fired) stays `false`.
#[derive(Debug)]
pub struct Fault {
    error: Error,
    kind: AtomicUsize,
    /// Calls left until the one that fails; 0 for none.
    left: AtomicUsize,
    fired: AtomicUsize,
}

impl Fault {
    /// Fails nothing before it is armed.
    pub const fn new(error: Error) -> Self {
        Self {
            error,
            kind: AtomicUsize::new(0),
            left: AtomicUsize::new(0),
            fired: AtomicUsize::new(0),
        }
    }

    /// Fails the `n`-th call of `kind` from here on (1 is the next one), once. 0 disarms.
    pub fn arm(&self, kind: Kind, n: usize) {
        self.left.store(0, Ordering::Release);
        self.kind.store(kind as usize, Ordering::Release);
        self.fired.store(0, Ordering::Release);
        self.left.store(n, Ordering::Release);
    }

    /// Whether a call was failed since it was last armed.
    pub fn fired(&self) -> bool {
        self.fired.load(Ordering::Acquire) != 0
    }
}

impl Hook for Fault {
    fn before(&self, call: &Call) -> Result<()> {
        let armed = self.kind.load(Ordering::Acquire) == call.kind as usize;
        if !armed || !call.kind.is_fallible() {
            return Ok(());
        }
        let down = |n: usize| n.checked_sub(1);
        match self.left.fetch_update(Ordering::AcqRel, Ordering::Acquire, down) {
            Ok(1) => {
                self.fired.store(1, Ordering::Release);
                Err(self.error)
            }
            _ => Ok(()),
        }
    }
}
