//! The wrapped device's handles, kept in boxes behind opaque words.
//!
//! Every `Raw` that a layer hands out is a pointer to a box with the wrapped device's handle. Core gives the word back only
//! while the outer handle is alive, and frees it once.

use alloc::boxed::Box;
use dinrail_core::hal::{Key, Raw};

/// Puts a handle into a box, and returns the word for it.
pub fn keep<T>(inner: T) -> Raw {
    Raw::pointer(Box::into_raw(Box::new(inner)))
}

/// The handle in a box.
///
/// # Safety
/// * The key is of a word that [`keep`] made of a `T`.
/// * It was not given to [`end`] yet, and isn't during `'a`.
pub unsafe fn inner<'a, T>(key: Key<'_>) -> &'a T {
    // SAFETY: the pointer is of a living box, as the caller promises; nobody makes `&mut` to what is inside.
    unsafe { &*key.pointer::<T>() }
}

/// The handle in a box, to be changed.
///
/// # Safety
/// * As [`inner`], and nobody else uses the handle during `'a`.
pub unsafe fn inner_mut<'a, T>(key: Key<'_>) -> &'a mut T {
    // SAFETY: as in `inner`, and the caller is alone.
    unsafe { &mut *key.pointer::<T>() }
}

/// Drops the handle and its box.
///
/// # Safety
/// * As [`inner`], and the key isn't used again.
pub unsafe fn end<T>(key: Key<'_>) {
    // SAFETY: the pointer came from `Box::into_raw` and is given back once, as the caller promises.
    drop(unsafe { Box::from_raw(key.pointer::<T>()) });
}
