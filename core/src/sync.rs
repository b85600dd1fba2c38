//! The only door to atomics and locks.
//!
//! What an interrupt may call takes no lock at all: it loads. What changes a table takes a [`Gate`], and a gate that is
//! shut is an error (`Busy`), never a wait: an interrupt that met a spinning lock of the code it interrupted would
//! spin for ever.
#![allow(unsafe_code)]

use core::cell::UnsafeCell;
use core::mem::MaybeUninit;
use core::sync::atomic::{AtomicU32, Ordering};

cfg_if::cfg_if! {
    if #[cfg(target_has_atomic = "64")] {
        /// A number from 1 on that was not given before.
        pub fn serial() -> u64 {
            static LAST: core::sync::atomic::AtomicU64 = core::sync::atomic::AtomicU64::new(0);
            LAST.fetch_add(1, Ordering::Relaxed).wrapping_add(1)
        }
    } else {
        /// 0: this target can't count safely.
        pub const fn serial() -> u64 {
            0
        }
    }
}

/// Lets one party through at a time, and turns others away.
///
/// Cores without compare-and-swap (Cortex-M0, riscv32imc) look at the gate and shut it in a critical section of some
/// instructions, for which the program names an implementation (see the crate `critical-section`); what is done behind
/// the gate is never in one.
#[derive(Debug)]
pub struct Gate {
    #[cfg(target_has_atomic = "ptr")]
    lock: spin::mutex::SpinMutex<()>,
    #[cfg(not(target_has_atomic = "ptr"))]
    shut: core::sync::atomic::AtomicBool,
}

impl Gate {
    /// An open gate.
    pub const fn new() -> Self {
        Self {
            #[cfg(target_has_atomic = "ptr")]
            lock: spin::mutex::SpinMutex::new(()),
            #[cfg(not(target_has_atomic = "ptr"))]
            shut: core::sync::atomic::AtomicBool::new(false),
        }
    }

    /// Runs `f` alone; `None` if somebody else is inside.
    pub fn pass<R>(&self, f: impl FnOnce() -> R) -> Option<R> {
        #[cfg(target_has_atomic = "ptr")]
        let _inside = self.lock.try_lock()?;
        #[cfg(not(target_has_atomic = "ptr"))]
        let _inside = Inside::enter(&self.shut)?;
        Some(f())
    }
}

/// Opens the gate again when it is dropped.
#[cfg(not(target_has_atomic = "ptr"))]
struct Inside<'a>(&'a core::sync::atomic::AtomicBool);

#[cfg(not(target_has_atomic = "ptr"))]
impl<'a> Inside<'a> {
    fn enter(shut: &'a core::sync::atomic::AtomicBool) -> Option<Self> {
        let was_shut = critical_section::with(|_| {
            let was_shut = shut.load(Ordering::Acquire);
            shut.store(true, Ordering::Relaxed);
            was_shut
        });
        (!was_shut).then_some(Self(shut))
    }
}

#[cfg(not(target_has_atomic = "ptr"))]
impl Drop for Inside<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

impl Default for Gate {
    fn default() -> Self {
        Self::new()
    }
}

/// A cell that is written once, and then read without a lock for the life of the program. Beside the value it holds a
/// small number that changes: 0 is empty, odd is in use, even is out of use again.
pub struct Slot<T> {
    state: AtomicU32,
    value: UnsafeCell<MaybeUninit<T>>,
}

// SAFETY: the value is written once, before the state leaves 0 with release order, and only read afterwards.
unsafe impl<T: Sync + Send> Sync for Slot<T> {}

impl<T: Copy> Slot<T> {
    /// An empty slot.
    pub const fn new() -> Self {
        Self { state: AtomicU32::new(0), value: UnsafeCell::new(MaybeUninit::uninit()) }
    }

    /// The number and the value, if one was ever written.
    #[inline]
    pub fn read(&self) -> Option<(u32, T)> {
        let state = self.state.load(Ordering::Acquire);
        if state == 0 {
            return None;
        }
        // SAFETY: the state left 0 with release order after the value was written, and it is never written again.
        let value = unsafe { &*self.value.get() };
        // SAFETY: as above: it is initialised.
        Some((state, unsafe { value.assume_init_read() }))
    }

    /// Writes the value of an empty slot and puts it in use. `false` if it isn't empty.
    ///
    /// # Safety
    /// * No other call of this function runs at the same time (callers hold the table's [`Gate`] or `&mut`).
    pub unsafe fn fill(&self, value: T) -> bool {
        if self.state.load(Ordering::Acquire) != 0 {
            return false;
        }
        // SAFETY: readers don't look before the state changes, and writers are alone, so this is the only reference.
        let cell = unsafe { &mut *self.value.get() };
        cell.write(value);
        self.state.store(1, Ordering::Release);
        true
    }

    /// Moves the number of a filled slot on: in use becomes out of use, and back. Callers are alone, as for `fill`.
    pub fn turn(&self) {
        let state = self.state.load(Ordering::Acquire);
        if state != 0 {
            // Skips 0 when the number wraps, after two thousand million loads.
            let next = state.wrapping_add(1);
            self.state.store(if next == 0 { 2 } else { next }, Ordering::Release);
        }
    }
}

impl<T: Copy> Default for Slot<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> core::fmt::Debug for Slot<T> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Slot").field("state", &self.state).finish_non_exhaustive()
    }
}
