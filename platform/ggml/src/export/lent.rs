//! Host memory that belongs to somebody else.

use core::ptr::NonNull;
use dinrail_core::hal::{Allocation, Buffer, BufferType, Key, Raw, Span};
use dinrail_core::{Error, Result};

/// The kind of all memory of other backends that the host processor can reach.
#[derive(Debug)]
pub(crate) struct Lent;

pub(crate) static LENT: Lent = Lent;

/// A handle for memory of the host's.
///
/// # Safety
/// * `base` is valid for reads and writes of `size` bytes while the handle is used.
pub(crate) unsafe fn lend(base: NonNull<u8>, size: usize) -> Buffer<'static> {
    let allocation = Allocation { raw: Raw::pointer(base.as_ptr()), host: Some(base) };
    Buffer::adopt(&LENT, allocation, size, true)
}

impl BufferType for Lent {
    fn name(&self) -> &str {
        "lent"
    }

    fn alignment(&self) -> usize {
        1
    }

    fn is_host(&self) -> bool {
        true
    }

    fn alloc(&'static self, size: usize) -> Result<Allocation> {
        Err(Error::OutOfMemory { requested: size, available: 0 })
    }

    fn free(&self, _key: Key<'_>, _size: usize) {}

    fn set(&self, key: Key<'_>, at: Span<'_>, offset: usize, data: &[u8]) -> Result<()> {
        let to = key.pointer::<u8>().wrapping_add(at.offset + offset);
        // SAFETY: callers have checked that the range lies inside the memory. `copy` allows `data` to be part of it.
        unsafe { core::ptr::copy(data.as_ptr(), to, data.len()) };
        Ok(())
    }

    fn get(&self, key: Key<'_>, at: Span<'_>, offset: usize, data: &mut [u8]) -> Result<()> {
        let from = key.pointer::<u8>().wrapping_add(at.offset + offset);
        // SAFETY: as in `set`.
        unsafe { core::ptr::copy(from, data.as_mut_ptr(), data.len()) };
        Ok(())
    }
}
