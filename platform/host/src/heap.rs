//! Memory for buffers, from the system's allocator.

use core::alloc::Layout;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicUsize, Ordering};
use dinrail_core::hal::host;
use dinrail_core::{Error, Result};

/// The system's allocator, with a count of what is taken from it.
#[derive(Debug)]
pub struct Heap {
    live: AtomicUsize,
    peak: AtomicUsize,
}

/// The system's allocator.
pub static HEAP: Heap = Heap { live: AtomicUsize::new(0), peak: AtomicUsize::new(0) };

/// From this size on, a request is first held against what the system says it has. Where memory is promised freely and
/// only taken when it is touched, the alternative is a program that gets killed while it computes.
const LARGE: usize = 64 << 20;
/// What a block needs beside its own bytes and its alignment: the address that the system gave.
const HEADER: usize = size_of::<usize>();

impl Heap {
    /// Bytes that are taken at this moment.
    pub fn live(&self) -> usize {
        self.live.load(Ordering::Relaxed)
    }

    /// The most that was ever taken at one moment, or since [`reset_peak`](Self::reset_peak).
    pub fn peak(&self) -> usize {
        self.peak.load(Ordering::Relaxed)
    }

    /// Forgets the peak.
    pub fn reset_peak(&self) {
        self.peak.store(self.live(), Ordering::Relaxed);
    }

    /// The block that is asked of the system for `bytes` at a multiple of `align`: unaligned, with room to align inside.
    /// Asking for an alignment would make the system's allocator write every byte of zeroed memory, where fresh pages
    /// are zero anyway.
    fn layout(bytes: usize, align: usize) -> Option<Layout> {
        let align = align.max(HEADER);
        let size = bytes.checked_add(align)?.checked_add(HEADER)?;
        Layout::from_size_align(size, align_of::<usize>()).ok()
    }
}

fn out_of_memory(requested: usize) -> Error {
    let available = match crate::memory() {
        crate::Memory { total: 0, .. } => usize::MAX,
        m => m.free,
    };
    Error::OutOfMemory { requested, available }
}

// SAFETY: each piece is the caller's alone until it is freed, and its bytes are set.
unsafe impl host::Heap for Heap {
    fn alloc(&self, bytes: usize, align: usize) -> Result<NonNull<u8>> {
        let layout = Self::layout(bytes, align).ok_or_else(|| out_of_memory(bytes))?;
        if bytes >= LARGE {
            let memory = crate::memory();
            if memory.total > 0 && bytes > memory.free {
                return Err(Error::OutOfMemory { requested: bytes, available: memory.free });
            }
        }
        // SAFETY: the layout's size isn't 0.
        let base = unsafe { std::alloc::alloc_zeroed(layout) };
        if base.is_null() {
            return Err(out_of_memory(bytes));
        }
        let align = align.max(HEADER);
        let offset = (base.addr() + HEADER).next_multiple_of(align) - base.addr();
        // SAFETY: the offset is below HEADER + align, and the block has that many bytes beside the caller's.
        let block = unsafe { base.add(offset) };
        // SAFETY: the offset is at least HEADER.
        let header = unsafe { block.sub(HEADER) }.cast::<*mut u8>();
        // SAFETY: the header lies in the block, in front of the caller's bytes, and is aligned as they are.
        unsafe { header.write(base) };
        let live = self.live.fetch_add(bytes, Ordering::Relaxed) + bytes;
        self.peak.fetch_max(live, Ordering::Relaxed);
        NonNull::new(block).ok_or_else(|| out_of_memory(bytes))
    }

    unsafe fn free(&self, ptr: NonNull<u8>, bytes: usize, align: usize) {
        let Some(layout) = Self::layout(bytes, align) else { return };
        // SAFETY: the caller gives a block of `alloc`, which has a header in front.
        let header = unsafe { ptr.as_ptr().sub(HEADER) }.cast::<*mut u8>();
        // SAFETY: `alloc` wrote the header, and the block's users stay behind it.
        let base = unsafe { header.read() };
        // SAFETY: this is what the system gave for this layout, and the caller frees it once.
        unsafe { std::alloc::dealloc(base, layout) };
        self.live.fetch_sub(bytes, Ordering::Relaxed);
    }

    fn memory(&self) -> (usize, usize) {
        let m = crate::memory();
        (m.free, m.total)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dinrail_core::hal::host::Heap as _;

    #[test]
    fn aligned_zeroed_and_counted() {
        let heap = Heap { live: AtomicUsize::new(0), peak: AtomicUsize::new(0) };
        for align in [1, 8, 64, 4096] {
            for bytes in [1, 63, 64, 65, 100_000] {
                let p = heap.alloc(bytes, align).unwrap();
                assert_eq!(p.addr().get() % align, 0);
                // SAFETY: the heap has just given that many initialised bytes.
                let block = unsafe { core::slice::from_raw_parts_mut(p.as_ptr(), bytes) };
                assert!(block.iter().all(|b| *b == 0));
                block.fill(0xa5);
                assert_eq!(heap.live(), bytes);
                // SAFETY: from `alloc` above, with the same numbers.
                unsafe { heap.free(p, bytes, align) };
                assert_eq!(heap.live(), 0);
            }
        }
        assert_eq!(heap.peak(), 100_000);
        heap.reset_peak();
        assert_eq!(heap.peak(), 0);
    }

    #[test]
    fn too_much_is_an_error_with_numbers() {
        for bytes in [usize::MAX, usize::MAX / 2, isize::MAX as usize - 100, 1 << 46] {
            match HEAP.alloc(bytes, 64) {
                Err(Error::OutOfMemory { requested, .. }) => assert_eq!(requested, bytes),
                other => panic!("{bytes}: {other:?}"),
            }
        }
        let (free, total) = HEAP.memory();
        if total > 0 {
            let Err(e) = HEAP.alloc(total + LARGE, 64) else { panic!("more than there is") };
            assert!(matches!(e, Error::OutOfMemory { available, .. } if available <= total), "{e}");
        }
        assert!(free <= total);
    }
}
