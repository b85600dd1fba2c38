//! The locks and atomics of the pool: those of `std`, or of the model checker.

cfg_if::cfg_if! {
    if #[cfg(loom)] {
        pub(crate) use loom::cell::UnsafeCell;
        pub(crate) use loom::sync::atomic::{AtomicBool, AtomicU32, Ordering, fence};
        pub(crate) use loom::sync::{Condvar, Mutex};
    } else {
        pub(crate) use std::sync::atomic::{AtomicBool, AtomicU32, Ordering, fence};
        pub(crate) use std::sync::{Condvar, Mutex};

        /// The model checker's shape of `std::cell::UnsafeCell`.
        #[derive(Debug)]
        pub(crate) struct UnsafeCell<T>(std::cell::UnsafeCell<T>);

        impl<T> UnsafeCell<T> {
            pub(crate) const fn new(value: T) -> Self {
                Self(std::cell::UnsafeCell::new(value))
            }

            pub(crate) fn with<R>(&self, f: impl FnOnce(*const T) -> R) -> R {
                f(self.0.get())
            }

            pub(crate) fn with_mut<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
                f(self.0.get())
            }
        }
    }
}

/// The guard of a mutex, also if a thread has panicked with it: nothing here is left half done under a lock.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> Guard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

#[cfg(loom)]
pub(crate) type Guard<'a, T> = loom::sync::MutexGuard<'a, T>;
#[cfg(not(loom))]
pub(crate) type Guard<'a, T> = std::sync::MutexGuard<'a, T>;
