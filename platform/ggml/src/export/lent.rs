//! Host memory that belongs to somebody else.

use core::ptr::NonNull;
use dinrail_core::hal::{Allocation, Buffer, HostMemory, Raw};

/// The kind of all memory of other backends that the host processor can reach. Nothing is allocated of it.
pub(crate) static LENT: HostMemory = HostMemory::new("lent", None);

/// A handle for memory of the host's.
///
/// # Safety
/// * `base` is valid for reads and writes of `size` bytes while the handle is used.
pub(crate) unsafe fn lend(base: NonNull<u8>, size: usize) -> Buffer<'static> {
    // SAFETY: the caller promises it.
    let allocation = unsafe { Allocation::new(Raw::pointer(base.as_ptr())).on_host(Some(base)) };
    // SAFETY: this kind of memory has no heap to give anything back to.
    unsafe { Buffer::adopt(&LENT, allocation, size, true) }
}
