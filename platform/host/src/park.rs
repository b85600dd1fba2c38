//! Waiting: a little by looking again and again, then asleep.

use crate::sync::{AtomicU32, Condvar, Mutex, Ordering, fence, lock};

/// How long to look before going to sleep.
///
/// Looking costs processor time that another thread may need; sleeping costs the tens of microseconds that the system
/// takes to wake a thread. Both are bounded, so that more threads than cores get slower by a factor and not by the
/// length of a time slice, and a pool without work takes no processor time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patience {
    /// Microseconds of looking without giving the processor away.
    pub spin_us: u32,
    /// How often to give the processor to another thread, looking in between.
    pub yields: u32,
}

impl Patience {
    /// Looks until `ready` or out of patience; says whether it was ready.
    #[inline]
    fn look(self, ready: impl Fn() -> bool) -> bool {
        if cfg!(loom) {
            return ready();
        }
        // Most waits are shorter than it takes to ask for the time.
        let looks = if self.spin_us > 0 { 64 } else { 1 };
        for _ in 0..looks {
            if ready() {
                return true;
            }
            core::hint::spin_loop();
        }
        self.look_longer(ready)
    }

    #[cold]
    fn look_longer(self, ready: impl Fn() -> bool) -> bool {
        let limit = std::time::Duration::from_micros(u64::from(self.spin_us));
        let start = std::time::Instant::now();
        while start.elapsed() < limit {
            for _ in 0..64 {
                if ready() {
                    return true;
                }
                core::hint::spin_loop();
            }
        }
        for _ in 0..self.yields {
            std::thread::yield_now();
            if ready() {
                return true;
            }
        }
        false
    }
}

/// A place where threads sleep until something that they look at has changed.
#[derive(Debug)]
pub(crate) struct Bed {
    sleepers: AtomicU32,
    lock: Mutex<()>,
    bell: Condvar,
}

impl Bed {
    pub(crate) fn new() -> Self {
        Self { sleepers: AtomicU32::new(0), lock: Mutex::new(()), bell: Condvar::new() }
    }

    /// Returns when `ready` says so. `ready` loads with acquire order what the waker stores before
    /// [`wake`](Self::wake).
    #[inline]
    pub(crate) fn wait(&self, patience: Patience, ready: impl Fn() -> bool) {
        if !patience.look(&ready) {
            self.sleep(ready);
        }
    }

    #[cold]
    fn sleep(&self, ready: impl Fn() -> bool) {
        let mut guard = lock(&self.lock);
        self.sleepers.fetch_add(1, Ordering::Relaxed);
        // Pairs with the fence in `wake`: either this thread sees the change, or the waker sees this sleeper.
        fence(Ordering::SeqCst);
        while !ready() {
            guard = self.bell.wait(guard).unwrap_or_else(|poisoned| poisoned.into_inner());
        }
        self.sleepers.fetch_sub(1, Ordering::Relaxed);
        drop(guard);
    }

    /// Wakes all sleepers. To be called after the change that they wait for.
    #[inline]
    pub(crate) fn wake(&self) {
        fence(Ordering::SeqCst);
        if self.sleepers.load(Ordering::Relaxed) > 0 {
            self.ring();
        }
    }

    #[cold]
    fn ring(&self) {
        // A sleeper holds the lock from its announcement until it sleeps, so the bell can't ring between its last look
        // and its sleep.
        drop(lock(&self.lock));
        self.bell.notify_all();
    }
}
