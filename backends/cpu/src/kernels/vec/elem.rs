//! Element types that vectors can be loaded from.

use super::{LANES, Lanes, Simd};
use dinrail_core::tensor::float;

/// An element type.
pub(crate) trait Elem: Copy {
    /// Bytes of an element.
    const SIZE: usize;

    /// Reads a vector.
    ///
    /// # Safety
    /// `p` is readable for all lanes; any alignment.
    unsafe fn load<S: Simd>(s: S, p: *const u8) -> S::F;

    /// Writes a vector, rounded to nearest even.
    ///
    /// # Safety
    /// `p` is writable for all lanes; any alignment.
    unsafe fn store<S: Simd>(s: S, p: *mut u8, v: S::F);

    /// Reads the first `n` lanes, fewer than a vector has; the others are 0.
    ///
    /// # Safety
    /// `p` is readable for `n` elements; any alignment.
    #[inline(always)]
    unsafe fn load_part<S: Simd>(s: S, p: *const u8, n: usize) -> S::F {
        let mut pad = [0u32; LANES];
        let n = n.min(S::F::N);
        // SAFETY: the caller's promise; the array is large enough for any element type.
        unsafe { copy(p, pad.as_mut_ptr().cast(), n * Self::SIZE) };
        // SAFETY: the array has the bytes of a vector.
        unsafe { Self::load(s, pad.as_ptr().cast()) }
    }

    /// Writes the first `n` lanes, fewer than a vector has.
    ///
    /// # Safety
    /// `p` is writable for `n` elements; any alignment.
    #[inline(always)]
    unsafe fn store_part<S: Simd>(s: S, p: *mut u8, v: S::F, n: usize) {
        let mut pad = [0u32; LANES];
        let n = n.min(S::F::N);
        // SAFETY: the array has the bytes of a vector.
        unsafe { Self::store(s, pad.as_mut_ptr().cast(), v) };
        // SAFETY: the caller's promise.
        unsafe { copy(pad.as_ptr().cast(), p, n * Self::SIZE) };
    }
}

/// Copies a few bytes. A loop of its own, because a call would cost more than the copy.
///
/// # Safety
/// `from` is readable and `to` writable for `n` bytes, a multiple of 2.
#[inline(always)]
unsafe fn copy(from: *const u8, to: *mut u8, n: usize) {
    let (from, to) = (from.cast::<u16>(), to.cast::<u16>());
    for i in 0..n / 2 {
        // SAFETY: inside the promised bytes.
        let x = unsafe { from.wrapping_add(i).read_unaligned() };
        // SAFETY: inside the promised bytes.
        unsafe { to.wrapping_add(i).write_unaligned(x) };
    }
}

/// Binary32.
#[derive(Clone, Copy)]
pub(crate) struct F32;

/// Binary16.
#[derive(Clone, Copy)]
pub(crate) struct F16;

/// The upper half of binary32.
#[derive(Clone, Copy)]
pub(crate) struct Bf16;

impl Elem for F32 {
    const SIZE: usize = 4;

    #[inline(always)]
    unsafe fn load<S: Simd>(s: S, p: *const u8) -> S::F {
        // SAFETY: the caller's promise.
        unsafe { s.load(p.cast()) }
    }

    #[inline(always)]
    unsafe fn store<S: Simd>(s: S, p: *mut u8, v: S::F) {
        // SAFETY: the caller's promise.
        unsafe { s.store(p.cast(), v) }
    }
}

impl Elem for F16 {
    const SIZE: usize = 2;

    #[inline(always)]
    unsafe fn load<S: Simd>(s: S, p: *const u8) -> S::F {
        // SAFETY: the caller's promise.
        unsafe { s.load_f16(p.cast()) }
    }

    #[inline(always)]
    unsafe fn store<S: Simd>(s: S, p: *mut u8, v: S::F) {
        // SAFETY: the caller's promise.
        unsafe { s.store_f16(p.cast(), v) }
    }
}

impl Elem for Bf16 {
    const SIZE: usize = 2;

    #[inline(always)]
    unsafe fn load<S: Simd>(s: S, p: *const u8) -> S::F {
        // SAFETY: the caller's promise.
        unsafe { s.load_bf16(p.cast()) }
    }

    #[inline(always)]
    unsafe fn store<S: Simd>(s: S, p: *mut u8, v: S::F) {
        let mut wide = [0f32; LANES];
        // SAFETY: the array has as many elements as the widest vector.
        unsafe { s.store(wide.as_mut_ptr(), v) };
        let narrow = wide.map(float::f32_to_bf16);
        // SAFETY: the caller's promise; the source has at least as many elements.
        unsafe { copy(narrow.as_ptr().cast(), p, S::F::N * 2) };
    }
}
