//! Ordinary host memory, for every backend that computes on it.
#![allow(unsafe_code)]

use super::host::Heap;
use super::{Allocation, Buffer, BufferType, Device, Key, Raw, Span};
use crate::error::{Error, Result};
use core::ptr::NonNull;

/// Alignment of every buffer: a cache line, and the widest vector of any processor.
const ALIGN: usize = 64;

/// A buffer type over a [`Heap`]. A backend holds one in its own `static`, made in a `const`.
///
/// Without a heap, as on most microcontrollers, nothing can be allocated, and buffers are made from memory that the
/// program owns: [`Buffer::from_bytes`] and [`Buffer::from_bytes_mut`].
pub struct HostMemory {
    name: &'static str,
    heap: Option<&'static dyn Heap>,
    device: Option<&'static dyn Device>,
}

impl core::fmt::Debug for HostMemory {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("HostMemory").field("name", &self.name).finish_non_exhaustive()
    }
}

impl HostMemory {
    /// Memory from `heap`, under a name for lists.
    pub const fn new(name: &'static str, heap: Option<&'static dyn Heap>) -> Self {
        Self { name, heap, device: None }
    }

    /// Says which device it belongs to. Only where device and memory are two `static`s; a backend that holds both in
    /// one value leaves it out.
    #[must_use]
    pub const fn of(mut self, device: &'static dyn Device) -> Self {
        self.device = Some(device);
        self
    }

    /// Free and total bytes of the heap, 0 where unknown.
    pub fn memory(&self) -> super::Memory {
        let (free, total) = self.heap.map_or((0, 0), Heap::memory);
        super::Memory { free, total }
    }
}

impl BufferType for HostMemory {
    fn name(&self) -> &str {
        self.name
    }

    fn device(&self) -> Option<&'static dyn Device> {
        self.device
    }

    fn alignment(&self) -> usize {
        ALIGN
    }

    /// `isize::MAX` rounded down: what Rust can address in one piece.
    fn max_size(&self) -> usize {
        isize::MAX as usize & !(ALIGN - 1)
    }

    fn is_host(&self) -> bool {
        true
    }

    fn alloc(&'static self, size: usize) -> Result<Allocation> {
        let heap = self.heap.ok_or(Error::OutOfMemory { requested: size, available: 0 })?;
        let ptr = heap.alloc(size, ALIGN)?;
        // SAFETY: heaps promise it.
        Ok(unsafe { Allocation::new(Raw::pointer(ptr.as_ptr())).on_host(Some(ptr)) })
    }

    fn free(&self, key: Key<'_>, size: usize) {
        if let (Some(heap), Some(ptr)) = (self.heap, NonNull::new(key.pointer())) {
            // SAFETY: the key is one that `alloc` made, from this heap with this size and alignment; it is freed once,
            // by its handle, and views of the memory borrow the handle.
            unsafe { heap.free(ptr, size, ALIGN) };
        }
    }

    fn set(&self, key: Key<'_>, at: Span<'_>, offset: usize, data: &[u8]) -> Result<()> {
        let to = key.pointer::<u8>().wrapping_add(at.offset + offset);
        // SAFETY: callers have checked that the range lies inside the buffer. `copy` allows `data` to be part of it.
        unsafe { core::ptr::copy(data.as_ptr(), to, data.len()) };
        Ok(())
    }

    fn get(&self, key: Key<'_>, at: Span<'_>, offset: usize, data: &mut [u8]) -> Result<()> {
        let from = key.pointer::<u8>().wrapping_add(at.offset + offset);
        // SAFETY: as in `set`; a heap's bytes are initialised.
        unsafe { core::ptr::copy(from, data.as_mut_ptr(), data.len()) };
        Ok(())
    }

    fn memset(
        &self,
        key: Key<'_>,
        at: Span<'_>,
        offset: usize,
        len: usize,
        value: u8,
    ) -> Result<()> {
        let to = key.pointer::<u8>().wrapping_add(at.offset + offset);
        // SAFETY: callers have checked that the range lies inside the buffer.
        unsafe { core::ptr::write_bytes(to, value, len) };
        Ok(())
    }

    fn copy_from(
        &self,
        key: Key<'_>,
        to: Span<'_>,
        from: &Buffer<'_>,
        from_at: Span<'_>,
    ) -> Result<bool> {
        let (true, Some(source)) = (from.buffer_type().is_host(), from.host()) else {
            return Ok(false);
        };
        let target = key.pointer::<u8>().wrapping_add(to.offset);
        let source = source.as_ptr().wrapping_add(from_at.offset);
        // SAFETY: callers have checked both ranges, and the type says that the other one is host memory in the same
        // layout. `copy` allows both to be the same buffer.
        unsafe { core::ptr::copy(source, target, to.desc.bytes()) };
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::{DType, Desc};
    use core::alloc::Layout;
    use core::sync::atomic::{AtomicUsize, Ordering};

    struct Counting(AtomicUsize);

    // SAFETY: the system's own memory, zeroed.
    unsafe impl Heap for Counting {
        fn alloc(&self, bytes: usize, align: usize) -> Result<NonNull<u8>> {
            let none = Error::OutOfMemory { requested: bytes, available: usize::MAX };
            if bytes > 1 << 20 {
                return Err(none);
            }
            let layout = Layout::from_size_align(bytes, align).map_err(|_| none)?;
            self.0.fetch_add(1, Ordering::Relaxed);
            // SAFETY: core asks for at least one byte.
            NonNull::new(unsafe { std::alloc::alloc_zeroed(layout) }).ok_or(none)
        }

        unsafe fn free(&self, ptr: NonNull<u8>, bytes: usize, align: usize) {
            self.0.fetch_sub(1, Ordering::Relaxed);
            let layout = Layout::from_size_align(bytes, align).unwrap();
            // SAFETY: the caller promises that this is what `alloc` gave.
            unsafe { std::alloc::dealloc(ptr.as_ptr(), layout) };
        }
    }

    #[test]
    fn memory_comes_and_goes() {
        static HEAP: Counting = Counting(AtomicUsize::new(0));
        static MEMORY: HostMemory = HostMemory::new("host", Some(&HEAP));
        let d = Desc::d1(DType::I8, 100).unwrap();
        {
            let one = Buffer::new(&MEMORY, 200).unwrap();
            let two = Buffer::new(&MEMORY, 100).unwrap();
            assert_eq!(HEAP.0.load(Ordering::Relaxed), 2);
            assert!(one.host().unwrap().as_ptr().addr().is_multiple_of(64));
            one.clear(7).unwrap();
            one.memset(Span { desc: &d, offset: 100 }, 1, 98, 9).unwrap();
            two.copy_from(Span { desc: &d, offset: 0 }, &one, Span { desc: &d, offset: 100 })
                .unwrap();
            let mut back = [0; 100];
            two.read(0, &mut back).unwrap();
            assert_eq!((back[0], back[1], back[98], back[99]), (7, 9, 9, 7));
            // An empty buffer isn't asked for and isn't freed.
            assert_eq!(Buffer::new(&MEMORY, 0).unwrap().size(), 0);
            assert_eq!(
                Buffer::new(&MEMORY, 2 << 20).unwrap_err(),
                Error::OutOfMemory { requested: 2 << 20, available: usize::MAX }
            );
        }
        assert_eq!(HEAP.0.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn without_a_heap_only_lent_memory() {
        static MEMORY: HostMemory = HostMemory::new("host", None);
        assert_eq!(
            Buffer::new(&MEMORY, 8).unwrap_err(),
            Error::OutOfMemory { requested: 8, available: 0 }
        );
        let mut bytes = [0u8; 8];
        let buffer = Buffer::from_bytes_mut(&MEMORY, &mut bytes);
        buffer.write(4, &[1, 2]).unwrap();
        drop(buffer);
        assert_eq!(bytes, [0, 0, 0, 0, 1, 2, 0, 0]);
    }
}
