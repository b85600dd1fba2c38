//! Kinds of memory: the device's own, and pinned host memory.

use crate::context::Context;
use crate::device::Device;
use crate::memory::{Block, Place};
use ash::vk;
use dinrail_core::error::{Error, Result};
use dinrail_core::hal::{self, Allocation, Buffer, BufferType, Key, Raw, Rows, Span};
use dinrail_core::tensor::{DType, Desc};
use dinrail_wgsl::{Range, Room};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// What a buffer's raw word points to.
pub struct Piece {
    /// The memory.
    pub block: Block,
    /// A number that no other piece of memory has or will have.
    pub serial: u64,
}

impl Piece {
    /// A buffer's raw word.
    pub fn raw(block: Block) -> Raw {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let serial = NEXT.fetch_add(1, Ordering::Relaxed);
        Raw::pointer(Box::into_raw(Box::new(Self { block, serial })))
    }

    fn of<'a>(key: Key<'a>) -> &'a Self {
        // SAFETY: keys of these types are made by `raw` and are alive as long as the handle that they are borrowed from.
        unsafe { &*key.pointer::<Self>() }
    }

    /// What launches need to know.
    pub fn room(&self) -> Room<vk::Buffer> {
        let Block { buffer, size, skip, .. } = self.block;
        Room { handle: buffer, id: self.serial, skip, size }
    }

    /// Bytes of the buffer, for hazards.
    pub fn range(&self, offset: u64, len: u64) -> Range {
        let start = self.block.skip + offset;
        Range { buffer: self.serial, start, end: start + len }
    }
}

/// A buffer's memory, if it is of the device behind `context`.
pub fn piece<'a>(buffer: &'a Buffer<'_>, context: &Context) -> Result<&'a Piece> {
    // SAFETY: all of these are one backend, and the key is only looked into.
    let key = context.types.iter().find_map(|ty| unsafe { buffer.key_for(*ty) });
    key.map(Piece::of).ok_or(Error::ForeignObject { object: "buffer" })
}

/// Bytes that are copied at once from memory of another device.
const FOREIGN_PIECE: usize = 1 << 20;

/// A kind of memory of a device.
pub struct Memory {
    name: String,
    place: Place,
    device: OnceLock<&'static Device>,
}

impl Memory {
    /// A kind of memory whose device is told later.
    pub fn new(name: String, place: Place) -> Self {
        Self { name, place, device: OnceLock::new() }
    }

    /// Says which device it belongs to. The first call counts.
    pub fn attach(&self, device: &'static Device) {
        self.device.get_or_init(|| device);
    }

    fn owner(&self) -> Result<&'static Device> {
        self.device.get().copied().ok_or(Error::NotFound)
    }

    fn context(&self) -> Result<&'static Context> {
        self.owner()?.context()
    }
}

fn bytes(len: usize) -> Desc {
    Desc { ne: [len, 1, 1, 1], nb: [1, len, len, len], dtype: DType::I8 }
}

impl BufferType for Memory {
    fn name(&self) -> &str {
        &self.name
    }

    fn device(&self) -> Option<&'static dyn hal::Device> {
        self.device.get().map(|d| *d as &dyn hal::Device)
    }

    fn alignment(&self) -> usize {
        self.device.get().map_or(64, |d| d.physical.limits.alignment.max(32))
    }

    fn max_size(&self) -> usize {
        let max = self.device.get().map_or(0, |d| d.physical.max_allocation);
        usize::try_from(max.saturating_sub(64)).unwrap_or(usize::MAX)
    }

    fn is_host(&self) -> bool {
        self.place == Place::Host
    }

    fn alloc(&'static self, size: usize) -> Result<Allocation> {
        let block = self.context()?.take(size as u64, self.place).map_err(|e| match e {
            Error::OutOfMemory { requested, .. } => {
                let available = self.owner().map_or(usize::MAX, |d| hal::Device::memory(d).free);
                Error::OutOfMemory { requested, available }
            }
            e => e,
        })?;
        let host = block.mapped.filter(|_| self.is_host());
        // SAFETY: the block is mapped as long as it is there, and the host zeroed or wrote it.
        Ok(unsafe { Allocation::new(Piece::raw(block)).on_host(host) })
    }

    fn free(&self, key: Key<'_>, _size: usize) {
        // SAFETY: made by `Piece::raw`, and given back once.
        let piece = unsafe { Box::from_raw(key.pointer::<Piece>()) };
        if let Ok(device) = self.owner()
            && let Ok(context) = device.context()
        {
            device.forget(piece.serial);
            context.release(piece.block);
        }
    }

    fn set(&self, key: Key<'_>, at: Span<'_>, offset: usize, data: &[u8]) -> Result<()> {
        let (device, block) = (self.owner()?, &Piece::of(key).block);
        let to = (at.offset + offset) as u64;
        if block.mapped.is_some() {
            device.quiesce()?;
            if block.write(to, data) {
                return Ok(());
            }
        }
        device.flush()?;
        device.context()?.upload(block, to, data)
    }

    fn get(&self, key: Key<'_>, at: Span<'_>, offset: usize, data: &mut [u8]) -> Result<()> {
        let (device, block) = (self.owner()?, &Piece::of(key).block);
        let from = (at.offset + offset) as u64;
        if block.mapped.is_some() {
            device.quiesce()?;
            // SAFETY: `data` may be written.
            if unsafe { block.read(from, data.as_mut_ptr(), data.len()) } {
                return Ok(());
            }
        }
        device.flush()?;
        device.context()?.download(block, from, data)
    }

    fn set_2d(
        &self,
        key: Key<'_>,
        at: Span<'_>,
        offset: usize,
        rows: Rows,
        data: &[u8],
    ) -> Result<()> {
        // Rows that follow each other on both sides are one piece.
        if rows.stride == rows.len && rows.host_stride == rows.len {
            return self.set(key, at, offset, data.get(..rows.len * rows.count).unwrap_or(data));
        }
        let (device, block) = (self.owner()?, &Piece::of(key).block);
        let to = (at.offset + offset) as u64;
        if block.mapped.is_none() {
            device.flush()?;
            return device.context()?.upload_rows(block, to, rows, data);
        }
        for i in 0..rows.count {
            let piece = data.get(i * rows.host_stride..).and_then(|d| d.get(..rows.len));
            self.set(key, at, offset + i * rows.stride, piece.unwrap_or(&[]))?;
        }
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
        let (device, block) = (self.owner()?, &Piece::of(key).block);
        let to = (at.offset + offset) as u64;
        if block.mapped.is_some() {
            device.quiesce()?;
            if block.fill(to, len, value) {
                return Ok(());
            }
        }
        device.flush()?;
        device.context()?.fill_bytes(block, to, len as u64, value)
    }

    fn copy_from(
        &self,
        key: Key<'_>,
        to: Span<'_>,
        from: &Buffer<'_>,
        from_at: Span<'_>,
    ) -> Result<bool> {
        let (device, block) = (self.owner()?, &Piece::of(key).block);
        let context = device.context()?;
        let len = to.desc.bytes();
        let Ok(source) = piece(from, context) else {
            // Another device's: in large pieces, for each one costs a submission.
            let mut part = vec![0; FOREIGN_PIECE.min(len)];
            let mut done = 0;
            while done < len {
                let n = (len - done).min(part.len());
                let part = part.get_mut(..n).unwrap_or(&mut []);
                from.get(from_at, done, part)?;
                self.set(key, to, done, part)?;
                done += n;
            }
            return Ok(true);
        };
        let (a, b) = (from_at.offset as u64, to.offset as u64);
        let overlap = a.abs_diff(b) < len as u64;
        if source.block.buffer == block.buffer && overlap {
            return Ok(false);
        }
        device.flush()?;
        context.copy_blocks((&source.block, a), (block, b), len as u64)?;
        Ok(true)
    }

    fn clear(&self, key: Key<'_>, size: usize, value: u8) -> Result<()> {
        self.memset(key, Span { desc: &bytes(size), offset: 0 }, 0, size, value)
    }
}
