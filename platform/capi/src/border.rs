//! What every function does at the border between the languages.

use crate::dinrail_error;
use crate::error::{DINRAIL_OK, Fault, dinrail_status};
use core::ffi::c_char;
use core::mem::MaybeUninit;

/// Where a function puts a result: NULL, or memory whose contents don't matter.
pub type Out<'a, T> = Option<&'a mut MaybeUninit<T>>;

/// Runs `f`; a panic becomes `otherwise`.
#[cfg(feature = "std")]
pub(crate) fn guard<R>(otherwise: R, f: impl FnOnce() -> R) -> R {
    // What a function was changing when it panicked is the caller's to close or to drop; nothing of ours is shared.
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(f)).unwrap_or(otherwise)
}

/// Runs `f`. Panics stop the processor.
#[cfg(not(feature = "std"))]
pub(crate) fn guard<R>(_otherwise: R, f: impl FnOnce() -> R) -> R {
    f()
}

/// Stops for good.
#[cfg(all(feature = "trap", not(any(test, feature = "std")), panic = "abort"))]
pub(crate) fn trap() -> ! {
    #[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
    // SAFETY: an instruction that raises an exception touches no memory.
    unsafe {
        core::arch::asm!("ud2", options(noreturn, nomem, nostack));
    }
    #[cfg(any(target_arch = "arm", target_arch = "aarch64"))]
    // SAFETY: as above.
    unsafe {
        core::arch::asm!("udf #0", options(noreturn, nomem, nostack));
    }
    #[cfg(any(target_arch = "riscv32", target_arch = "riscv64"))]
    // SAFETY: as above.
    unsafe {
        core::arch::asm!("unimp", options(noreturn, nomem, nostack));
    }
    #[cfg(not(any(
        target_arch = "x86_64",
        target_arch = "x86",
        target_arch = "arm",
        target_arch = "aarch64",
        target_arch = "riscv32",
        target_arch = "riscv64"
    )))]
    loop {
        core::hint::spin_loop();
    }
}

/// Runs `f` and reports how it went.
pub(crate) fn answer(
    error: Out<'_, dinrail_error>,
    f: impl FnOnce() -> Result<(), Fault>,
) -> dinrail_status {
    match guard(Err(Fault::Panic), f) {
        Ok(()) => {
            if let Some(error) = error {
                error.write(dinrail_error::NONE);
            }
            DINRAIL_OK
        }
        Err(fault) => {
            let value = dinrail_error::of(fault);
            let code = value.code;
            if let Some(error) = error {
                error.write(value);
            }
            code
        }
    }
}

/// A pointer that may not be NULL.
pub(crate) fn some<T>(pointer: Option<T>, name: &'static str) -> Result<T, Fault> {
    pointer.ok_or(Fault::Null(name))
}

/// A string of the caller's.
///
/// # Safety
/// * `p` is NULL or points to bytes of which one is 0, which don't change during `'a`.
pub(crate) unsafe fn string<'a>(
    p: *const c_char,
    name: &'static str,
) -> Result<Option<&'a str>, Fault> {
    if p.is_null() {
        return Ok(None);
    }
    let first = p.cast::<u8>();
    let mut len = 0;
    // Volatile, lest the compiler make it a call of the C library's strlen, which may not be there.
    // SAFETY: the bytes up to the one that is 0 can be read.
    while unsafe { first.wrapping_add(len).read_volatile() } != 0 {
        len += 1;
    }
    // SAFETY: `len` bytes were just read there.
    let bytes = unsafe { core::slice::from_raw_parts(first, len) };
    core::str::from_utf8(bytes).map(Some).map_err(|_| Fault::NotUtf8(name))
}

/// Bytes of the caller's, to be read. NULL is fine for none.
///
/// # Safety
/// * `p` is NULL, or `size` bytes there can be read and don't change during `'a`.
pub(crate) unsafe fn bytes<'a>(
    p: *const u8,
    size: usize,
    name: &'static str,
) -> Result<&'a [u8], Fault> {
    match (p.is_null(), size) {
        (_, 0) => Ok(&[]),
        (true, _) => Err(Fault::Null(name)),
        (false, n) if n > isize::MAX as usize => Err(Fault::TooLarge(name, n)),
        // SAFETY: the caller promises it.
        (false, _) => Ok(unsafe { core::slice::from_raw_parts(p, size) }),
    }
}

/// Items of the caller's, to be written. NULL is fine for none.
///
/// # Safety
/// * `p` is NULL, or `count` initialised items there can be read and written, by nobody else during `'a`.
pub(crate) unsafe fn items_mut<'a, T>(
    p: *mut T,
    count: usize,
    name: &'static str,
) -> Result<&'a mut [T], Fault> {
    if count == 0 {
        return Ok(&mut []);
    }
    aligned(p, count, name)?;
    // SAFETY: the caller promises it; NULL, alignment and size were looked at.
    Ok(unsafe { core::slice::from_raw_parts_mut(p, count) })
}

/// `count` values in memory of the caller's that has room for as many entries of its own type, which are no smaller.
///
/// # Safety
/// * `p` is NULL, or `count` entries there can be written, and are used by nobody else during `'a`.
pub(crate) unsafe fn filled<'a, C, T: Copy>(
    p: *mut C,
    count: usize,
    value: T,
    name: &'static str,
) -> Result<&'a mut [T], Fault> {
    const { assert!(size_of::<T>() <= size_of::<C>() && align_of::<T>() <= align_of::<C>()) }
    if count == 0 {
        return Ok(&mut []);
    }
    aligned(p, count, name)?;
    let first: *mut T = p.cast();
    for i in 0..count {
        // SAFETY: the entry is inside the caller's memory.
        unsafe { first.wrapping_add(i).write(value) };
    }
    // SAFETY: the caller lends the memory alone; all values were just written.
    Ok(unsafe { core::slice::from_raw_parts_mut(first, count) })
}

/// That `count` (at least one) items can lie at `p`.
pub(crate) fn aligned<T>(p: *const T, count: usize, name: &'static str) -> Result<(), Fault> {
    if p.is_null() {
        return Err(Fault::Null(name));
    }
    if !p.is_aligned() {
        let (address, align) = (p.addr(), align_of::<T>());
        return Err(dinrail::Error::Misaligned { address, align }.into());
    }
    match count.checked_mul(size_of::<T>()) {
        Some(n) if n <= isize::MAX as usize => Ok(()),
        _ => Err(Fault::TooLarge(name, count)),
    }
}

/// That two pieces of memory have no byte in common.
pub(crate) fn apart(
    a: *const u8,
    b: *const u8,
    size: usize,
    name: &'static str,
) -> Result<(), Fault> {
    match a.addr().abs_diff(b.addr()) < size {
        true => Err(Fault::Overlap(name)),
        false => Ok(()),
    }
}

/// A reference that outlives what the compiler knows of it.
///
/// # Safety
/// * What it refers to lives, and stays where it is, as long as the result is used.
pub(crate) unsafe fn forever<T: ?Sized>(reference: &T) -> &'static T {
    let pointer: *const T = reference;
    // SAFETY: the caller promises it.
    unsafe { &*pointer }
}

/// The Rust value inside an object of the caller's, and a mark that says that it is there.
#[repr(C)]
pub(crate) struct Held<T> {
    pub(crate) value: MaybeUninit<T>,
    mark: usize,
}

/// An object in the caller's memory that holds a Rust value.
///
/// # Safety
/// * `Self` is `repr(C)`, consists of integers in one `UnsafeCell`, and has room for a `Held<Value>` at its first byte.
pub(crate) unsafe trait Holder: Sized {
    /// What it holds.
    type Value: 'static;
    /// Its name in messages.
    const NAME: &'static str;
    /// Differs for each kind.
    const KIND: usize;

    /// The mark of an object at this address: a copy elsewhere has the wrong one.
    fn mark(at: *const Self) -> usize {
        // Never 0, which memory that was filled with zeros has.
        (at.addr() ^ Self::KIND.wrapping_mul(0x9E37_79B1) ^ 0x5A5A_D1A0) | 1
    }

    /// Where the value is.
    fn held(&self) -> *mut Held<Self::Value> {
        // All of `Self` is inside an `UnsafeCell`.
        core::ptr::from_ref(self).cast_mut().cast()
    }

    /// Whether there is a value.
    fn is_open(&self) -> bool {
        // SAFETY: `Held` lies inside `self`, whose bytes are initialised.
        let mark = unsafe { (*self.held()).mark };
        mark == Self::mark(self)
    }

    /// The value.
    fn value(&self) -> Result<&Self::Value, Fault> {
        if !self.is_open() {
            return Err(Fault::NotOpen(Self::NAME));
        }
        // SAFETY: it is inside `self`.
        let held = unsafe { &*self.held() };
        // SAFETY: the mark says that `put` wrote the value here.
        Ok(unsafe { held.value.assume_init_ref() })
    }

    /// The value, to be changed.
    fn value_mut(&mut self) -> Result<&mut Self::Value, Fault> {
        if !self.is_open() {
            return Err(Fault::NotOpen(Self::NAME));
        }
        // SAFETY: it is inside `self`, which is borrowed alone.
        let held = unsafe { &mut *self.held() };
        // SAFETY: the mark says that `put` wrote the value here.
        Ok(unsafe { held.value.assume_init_mut() })
    }

    /// Puts a value in, where there is none. What was there before is forgotten.
    fn put(&mut self, value: Self::Value) {
        let mark = Self::mark(self);
        // SAFETY: it has the room, by the trait's contract, and is borrowed alone.
        unsafe { self.held().write(Held { value: MaybeUninit::new(value), mark }) };
    }

    /// That there is no value yet, which would be lost.
    fn vacant(&self) -> Result<(), Fault> {
        if self.is_open() { Err(Fault::AlreadyOpen(Self::NAME)) } else { Ok(()) }
    }

    /// Takes the value out.
    fn take(&mut self) -> Option<Self::Value> {
        if !self.is_open() {
            return None;
        }
        // SAFETY: it is inside `self`, which is borrowed alone.
        let held = unsafe { &mut *self.held() };
        held.mark = 0;
        // SAFETY: the mark said that `put` wrote the value here, and it is gone now.
        Some(unsafe { held.value.assume_init_read() })
    }
}

/// Makes a C object the [`Holder`] of a Rust value, and has the compiler check that it fits.
macro_rules! holder {
    ($object:ident holds $value:ty, $kind:literal, $name:literal) => {
        // SAFETY: the object is an `UnsafeCell` of integers; the room is checked below.
        unsafe impl crate::border::Holder for $object {
            type Value = $value;
            const NAME: &'static str = $name;
            const KIND: usize = $kind;
        }
        const _: () = assert!(
            size_of::<crate::border::Held<$value>>() <= size_of::<$object>()
                && align_of::<crate::border::Held<$value>>() <= align_of::<$object>()
        );
    };
}
pub(crate) use holder;
