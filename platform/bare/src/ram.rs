//! Memory that is taken once.

use crate::model::Aligned;
use crate::word::Word;
use core::cell::UnsafeCell;
use dinrail_core::error::What;
use dinrail_core::{Error, Result};

/// So many bytes, zeroed at start, at an address that is a multiple of 64, to be taken once: an arena or a cache whose size
/// the compiler knows.
///
/// ```
/// use dinrail_bare::Ram;
///
/// static ARENA: Ram<1024> = Ram::new();
/// let bytes = ARENA.take().expect("nobody has it yet");
/// assert_eq!(bytes.len(), 1024);
/// assert!(ARENA.take().is_none());
/// ```
///
/// # Concurrency
/// Any core and any interrupt may ask; one gets it. On cores without compare-and-swap that takes a critical section of some
/// instructions, for which the program names an implementation (see the crate `critical-section`).
#[derive(Debug)]
pub struct Ram<const N: usize> {
    taken: Word,
    bytes: UnsafeCell<Aligned<[u8; N]>>,
}

// SAFETY: the bytes are only reached through the one reference that `take` gives out.
unsafe impl<const N: usize> Sync for Ram<N> {}

impl<const N: usize> Ram<N> {
    /// Zeroes, to be put into a `static`.
    pub const fn new() -> Self {
        Self { taken: Word::new(0), bytes: UnsafeCell::new(Aligned([0; N])) }
    }

    /// The bytes, the first time; `None` ever after.
    // Once: that is what the flag is for.
    #[allow(clippy::mut_from_ref)]
    pub fn take(&'static self) -> Option<&'static mut [u8]> {
        self.taken.update(|taken| (taken == 0).then_some(1))?;
        // SAFETY: nobody has had a reference before, and nobody gets another.
        Some(unsafe { &mut (*self.bytes.get()).0 })
    }

    /// As [`take`](Self::take).
    ///
    /// # Errors
    /// [`Error::Full`] after the first time.
    #[allow(clippy::mut_from_ref)]
    pub fn try_take(&'static self) -> Result<&'static mut [u8]> {
        self.take().ok_or(Error::Full { what: What::Pool, need: 2, have: 1 })
    }
}

impl<const N: usize> Default for Ram<N> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_of_many_threads_gets_it() {
        static RAM: Ram<100> = Ram::new();
        let had: usize = std::thread::scope(|s| {
            let all: [_; 4] =
                core::array::from_fn(|_| s.spawn(|| RAM.take().map_or(0, |b| b.len())));
            all.into_iter().map(|t| t.join().unwrap()).sum()
        });
        assert_eq!(had, 100);
        let e = RAM.try_take().unwrap_err();
        assert_eq!(e, Error::Full { what: What::Pool, need: 2, have: 1 });
    }
}
