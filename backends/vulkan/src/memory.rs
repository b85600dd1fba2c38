//! Pieces of memory: a buffer with memory of its own.

use crate::context::Context;
use ash::vk;
use dinrail_core::error::{Error, Result};
use std::ptr::NonNull;

/// Where a piece lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Where kernels reach it fastest; mapped where that is the host's memory too.
    Device,
    /// In host memory that the device reaches, always mapped.
    Host,
    /// Written by the host and read by kernels: device memory that the host reaches, where there is some. Always mapped.
    Shared,
}

/// Readable and writable bytes behind every tensor, so that kernels may read whole words over its end.
const SLACK: u64 = 16;

/// A piece of memory. Plain data: whoever holds it gives it back with [`Context::release`].
#[derive(Debug)]
pub struct Block {
    /// The buffer.
    pub buffer: vk::Buffer,
    memory: vk::DeviceMemory,
    /// Bytes of the buffer, slack included.
    pub size: u64,
    /// The host's address of what the caller asked for, where it is mapped.
    pub mapped: Option<NonNull<u8>>,
    /// First byte in the buffer of what the caller asked for; not 0 for imported memory only.
    pub skip: u64,
}

// SAFETY: handles may go to any thread, and so may the address of mapped memory, which has no owner but the block.
unsafe impl Send for Block {}
// SAFETY: a shared block only tells its handles and its address.
unsafe impl Sync for Block {}

impl Block {
    /// Copies bytes to mapped memory; `false` where it isn't mapped or they don't fit.
    pub fn write(&self, offset: u64, data: &[u8]) -> bool {
        let Some(base) = self.mapped.filter(|_| self.holds(offset, data.len())) else {
            return false;
        };
        // SAFETY: the range lies inside the mapped memory.
        let to = unsafe { base.as_ptr().add(offset as usize) };
        // SAFETY: as above; the slice is the caller's, so it doesn't overlap memory that no reference points to.
        unsafe { std::ptr::copy_nonoverlapping(data.as_ptr(), to, data.len()) };
        true
    }

    /// Copies bytes from mapped memory to `out`; `false` where it isn't mapped or they aren't there.
    ///
    /// # Safety
    /// `out` can be written for `len` bytes.
    pub unsafe fn read(&self, offset: u64, out: *mut u8, len: usize) -> bool {
        let Some(base) = self.mapped.filter(|_| self.holds(offset, len)) else {
            return false;
        };
        // SAFETY: the range lies inside the mapped memory.
        let from = unsafe { base.as_ptr().add(offset as usize) };
        // SAFETY: as above, and the caller's promise.
        unsafe { std::ptr::copy_nonoverlapping(from, out, len) };
        true
    }

    /// Fills mapped memory; `false` where it isn't mapped or too short.
    pub fn fill(&self, offset: u64, len: usize, value: u8) -> bool {
        let Some(base) = self.mapped.filter(|_| self.holds(offset, len)) else {
            return false;
        };
        // SAFETY: the range lies inside the mapped memory.
        let to = unsafe { base.as_ptr().add(offset as usize) };
        // SAFETY: as above.
        unsafe { to.write_bytes(value, len) };
        true
    }

    fn holds(&self, offset: u64, len: usize) -> bool {
        offset.checked_add(len as u64).is_some_and(|end| end <= self.size - self.skip)
    }
}

impl Context {
    fn usage() -> vk::BufferUsageFlags {
        vk::BufferUsageFlags::STORAGE_BUFFER
            | vk::BufferUsageFlags::UNIFORM_BUFFER
            | vk::BufferUsageFlags::TRANSFER_SRC
            | vk::BufferUsageFlags::TRANSFER_DST
    }

    /// Number of a memory type among `bits`, by the first wish that one fulfils.
    fn memory_type(&self, bits: u32, wishes: &[vk::MemoryPropertyFlags]) -> Option<u32> {
        let types = self.physical.memory.memory_types_as_slice();
        wishes
            .iter()
            .find_map(|wish| {
                (0..types.len()).find(|&i| {
                    bits & 1 << i != 0
                        && types.get(i).is_some_and(|t| t.property_flags.contains(*wish))
                })
            })
            .map(|i| i as u32)
    }

    /// Takes `size` bytes.
    pub fn take(&self, size: u64, place: Place) -> Result<Block> {
        use vk::MemoryPropertyFlags as F;
        let host = F::HOST_VISIBLE | F::HOST_COHERENT;
        let map = place != Place::Device || self.map;
        let wishes: &[F] = match place {
            Place::Host => &[host.union_with(F::HOST_CACHED), host],
            Place::Shared => &[host.union_with(F::DEVICE_LOCAL), host],
            Place::Device if map => &[host.union_with(F::DEVICE_LOCAL), host],
            Place::Device => &[F::DEVICE_LOCAL, F::empty()],
        };
        let padded = size.checked_next_multiple_of(16).and_then(|n| n.checked_add(SLACK));
        let padded = padded.ok_or(Error::Size(dinrail_core::tensor::size::SizeError::Overflow))?;
        let info = vk::BufferCreateInfo::default().size(padded).usage(Self::usage());
        let mut block = Block {
            buffer: self.api.create_buffer(&info)?,
            memory: vk::DeviceMemory::null(),
            size: padded,
            mapped: None,
            skip: 0,
        };
        let got = self.back(&mut block, wishes, map);
        if let Err(e) = got {
            self.release(block);
            return Err(match e {
                Error::Device { code, .. } if is_out_of_memory(code) => Error::OutOfMemory {
                    requested: usize::try_from(size).unwrap_or(usize::MAX),
                    available: usize::MAX,
                },
                e => e,
            });
        }
        Ok(block)
    }

    fn back(&self, block: &mut Block, wishes: &[vk::MemoryPropertyFlags], map: bool) -> Result<()> {
        let need = self.api.requirements(block.buffer);
        let ty = self
            .memory_type(need.memory_type_bits, wishes)
            .ok_or(Error::NotOffered { function: "memory of this kind" })?;
        let info =
            vk::MemoryAllocateInfo::default().allocation_size(need.size).memory_type_index(ty);
        block.memory = self.api.allocate_memory(&info)?;
        self.api.bind_buffer_memory(block.buffer, block.memory)?;
        if map {
            block.mapped = NonNull::new(self.api.map_memory(block.memory)?.cast());
        }
        Ok(())
    }

    /// Makes host memory a buffer, without copying it.
    ///
    /// # Errors
    /// [`Error::NotOffered`] where the device can't.
    ///
    /// # Safety
    /// * The memory stays readable, and is not written, until the block is released.
    pub unsafe fn import(&self, bytes: &[u8]) -> Result<Block> {
        const FUNCTION: &str = "buffer_from_host";
        let align = self.physical.host_alignment;
        if align == 0 || bytes.is_empty() {
            return Err(Error::NotOffered { function: FUNCTION });
        }
        // Whole pages: what lies beside the bytes on their first and last page can be read as well as they can.
        let skip = bytes.as_ptr().addr() % align;
        let base = bytes.as_ptr().wrapping_sub(skip);
        let overflow = Error::Size(dinrail_core::tensor::size::SizeError::Overflow);
        let size = skip.checked_add(bytes.len()).and_then(|n| n.checked_next_multiple_of(align));
        let size = size.ok_or(overflow)? as u64;
        // SAFETY: `base` is on the first byte's page.
        let types = unsafe { self.api.host_memory_types(base) }?;
        let handle = vk::ExternalMemoryHandleTypeFlags::HOST_ALLOCATION_EXT;
        let mut external = vk::ExternalMemoryBufferCreateInfo::default().handle_types(handle);
        let info = vk::BufferCreateInfo::default()
            .size(size)
            .usage(Self::usage())
            .push_next(&mut external);
        let mut block = Block {
            buffer: self.api.create_buffer(&info)?,
            memory: vk::DeviceMemory::null(),
            size,
            mapped: None,
            skip: skip as u64,
        };
        let bits = types & self.api.requirements(block.buffer).memory_type_bits;
        let mut done = || {
            let ty = self.memory_type(bits, &[vk::MemoryPropertyFlags::empty()]);
            let ty = ty.ok_or(Error::NotOffered { function: FUNCTION })?;
            let mut import = vk::ImportMemoryHostPointerInfoEXT::default()
                .handle_type(handle)
                .host_pointer(base.cast_mut().cast());
            let info = vk::MemoryAllocateInfo::default()
                .allocation_size(size)
                .memory_type_index(ty)
                .push_next(&mut import);
            block.memory = self.api.allocate_memory(&info)?;
            self.api.bind_buffer_memory(block.buffer, block.memory)
        };
        match done() {
            Ok(()) => Ok(block),
            Err(e) => {
                self.release(block);
                Err(e)
            }
        }
    }

    /// Gives a piece back. The queue doesn't use it any more.
    pub fn release(&self, block: Block) {
        self.api.destroy_buffer(block.buffer);
        self.api.free_memory(block.memory);
    }
}

fn is_out_of_memory(code: i64) -> bool {
    [vk::Result::ERROR_OUT_OF_DEVICE_MEMORY, vk::Result::ERROR_OUT_OF_HOST_MEMORY]
        .iter()
        .any(|e| i64::from(e.as_raw()) == code)
}

/// `|` in constants.
trait Union {
    fn union_with(self, other: Self) -> Self;
}

impl Union for vk::MemoryPropertyFlags {
    fn union_with(self, other: Self) -> Self {
        self | other
    }
}
