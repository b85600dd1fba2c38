//! Pieces of memory.

use crate::context::{Context, nothing};
use dinrail_core::error::{Error, Result};
use objc2::rc::Retained;
use objc2::runtime::ProtocolObject;
use objc2_metal::{MTLBuffer, MTLDevice, MTLResource, MTLResourceOptions, MTLStorageMode};
use std::ffi::c_void;
use std::ptr::NonNull;

/// A buffer, with what the host knows about it.
pub struct Block {
    buffer: Retained<ProtocolObject<dyn MTLBuffer>>,
    /// First byte in the buffer of what the caller asked for; not 0 for lent memory only.
    pub skip: usize,
    /// Bytes from there on.
    pub size: usize,
}

// SAFETY: Metal's buffers may be used from any thread; only their contents need care, which callers take.
unsafe impl Send for Block {}
// SAFETY: as above.
unsafe impl Sync for Block {}

/// Readable bytes behind every tensor, so that kernels may read whole words over its end.
const SLACK: usize = 16;

/// Size of a page, to which lent memory is widened.
const PAGE: usize = 16384;

impl Block {
    /// Takes `size` bytes: shared with the host, or the device's own.
    pub fn take(context: &Context, size: usize, shared: bool) -> Result<Self> {
        let options = if shared {
            MTLResourceOptions::StorageModeShared
        } else {
            MTLResourceOptions::StorageModePrivate
        };
        let length = size.checked_add(SLACK);
        let made = length.and_then(|n| context.hardware.newBufferWithLength_options(n, options));
        let buffer = made.ok_or_else(|| Error::OutOfMemory {
            requested: size,
            available: (context.hardware.recommendedMaxWorkingSetSize() as usize)
                .saturating_sub(context.hardware.currentAllocatedSize()),
        })?;
        Ok(Self { buffer, skip: 0, size })
    }

    /// Makes host memory a buffer, without copying it.
    ///
    /// # Safety
    /// * The memory stays readable, and is not written, until the block is dropped and the queue is done with it.
    pub unsafe fn lend(context: &Context, bytes: &[u8]) -> Result<Self> {
        let skip = bytes.as_ptr().addr() % PAGE;
        let base = NonNull::new(bytes.as_ptr().wrapping_sub(skip).cast_mut().cast::<c_void>());
        let base = base.ok_or(Error::NotOffered { function: "buffer_from_host" })?;
        let overflow = Error::Size(dinrail_core::tensor::size::SizeError::Overflow);
        let length = skip.checked_add(bytes.len()).and_then(|n| n.checked_next_multiple_of(PAGE));
        let length = length.ok_or(overflow)?;
        // SAFETY: whole pages that hold the bytes, which can be read wherever the bytes can; nothing is to be
        // called when the buffer goes.
        let made = unsafe {
            context.hardware.newBufferWithBytesNoCopy_length_options_deallocator(
                base,
                length,
                MTLResourceOptions::StorageModeShared,
                None,
            )
        };
        let buffer = made.ok_or(nothing("newBufferWithBytesNoCopy"))?;
        Ok(Self { buffer, skip, size: bytes.len() })
    }

    /// The buffer.
    pub fn buffer(&self) -> &Retained<ProtocolObject<dyn MTLBuffer>> {
        &self.buffer
    }

    /// The host's address of the first byte, where the host can reach it.
    pub fn mapped(&self) -> Option<NonNull<u8>> {
        let shared = self.buffer.storageMode() == MTLStorageMode::Shared;
        shared.then(|| {
            let base = self.buffer.contents().cast::<u8>().as_ptr();
            NonNull::new(base.wrapping_add(self.skip)).unwrap_or(NonNull::dangling())
        })
    }

    fn at(&self, offset: usize, len: usize) -> Option<*mut u8> {
        let end = offset.checked_add(len)?;
        let base = self.mapped().filter(|_| end <= self.size)?;
        Some(base.as_ptr().wrapping_add(offset))
    }

    /// Copies bytes in; `false` where the host can't or they don't fit.
    pub fn write(&self, offset: usize, data: &[u8]) -> bool {
        let Some(to) = self.at(offset, data.len()) else { return false };
        // SAFETY: `at` checked the range, and no reference points into a buffer's memory.
        unsafe { std::ptr::copy_nonoverlapping(data.as_ptr(), to, data.len()) };
        true
    }

    /// Copies bytes out; `false` where the host can't or they aren't there.
    ///
    /// # Safety
    /// `out` can be written for `len` bytes.
    pub unsafe fn read(&self, offset: usize, out: *mut u8, len: usize) -> bool {
        let Some(from) = self.at(offset, len) else { return false };
        // SAFETY: `at` checked the range, and the caller's promise.
        unsafe { std::ptr::copy_nonoverlapping(from, out, len) };
        true
    }

    /// Fills bytes; `false` where the host can't or they aren't there.
    pub fn fill(&self, offset: usize, len: usize, value: u8) -> bool {
        let Some(to) = self.at(offset, len) else { return false };
        // SAFETY: `at` checked the range.
        unsafe { to.write_bytes(value, len) };
        true
    }
}
