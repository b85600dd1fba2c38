//! Kinds of memory: the device's own, and memory shared with the host.

use crate::context::Context;
use crate::device::Device;
use crate::memory::Block;
use dinrail_core::error::{Error, Result};
use dinrail_core::hal::{self, Allocation, Buffer, BufferType, Key, Raw, Span};
use dinrail_core::tensor::{DType, Desc};
use dinrail_wgsl::Room;
use objc2::rc::Retained;
use objc2_metal::MTLBuffer;
use std::sync::OnceLock;

/// What a buffer's raw word points to.
pub struct Piece {
    /// The memory.
    pub block: Block,
}

impl Piece {
    /// A buffer's raw word.
    pub fn raw(block: Block) -> Raw {
        Raw::pointer(Box::into_raw(Box::new(Self { block })))
    }

    fn of<'a>(key: Key<'a>) -> &'a Self {
        // SAFETY: keys of these types are made by `raw` and are alive as long as the handle that they are borrowed from.
        unsafe { &*key.pointer::<Self>() }
    }

    /// What launches need to know.
    pub fn room(&self) -> Room<Option<&Self>> {
        let id = Retained::as_ptr(self.block.buffer()).cast::<()>().addr() as u64;
        let (skip, size) = (self.block.skip as u64, self.block.buffer().length() as u64);
        Room { handle: Some(self), id, skip, size }
    }
}

/// A buffer's memory, if it is of the device behind `context`.
pub fn piece<'a>(buffer: &'a Buffer<'_>, context: &Context) -> Result<&'a Piece> {
    // SAFETY: all of these are one backend, and the key is only looked into.
    let key = context.types.iter().find_map(|ty| unsafe { buffer.key_for(*ty) });
    key.map(Piece::of).ok_or(Error::ForeignObject { object: "buffer" })
}

/// A kind of memory of a device.
pub struct Memory {
    name: String,
    /// In ggml's terms a host buffer: the caller may use its address.
    host: bool,
    device: OnceLock<&'static Device>,
}

impl Memory {
    /// A kind of memory whose device is told later.
    pub fn new(name: String, host: bool) -> Self {
        Self { name, host, device: OnceLock::new() }
    }

    /// Says which device it belongs to. The first call counts.
    pub fn attach(&self, device: &'static Device) {
        self.device.get_or_init(|| device);
    }

    fn owner(&self) -> Result<&'static Device> {
        self.device.get().copied().ok_or(Error::NotFound)
    }
}

impl BufferType for Memory {
    fn name(&self) -> &str {
        &self.name
    }

    fn device(&self) -> Option<&'static dyn hal::Device> {
        self.device.get().map(|d| *d as &dyn hal::Device)
    }

    fn max_size(&self) -> usize {
        self.device.get().map_or(0, |d| d.limits().binding.saturating_sub(64))
    }

    fn is_host(&self) -> bool {
        self.host
    }

    fn alloc(&'static self, size: usize) -> Result<Allocation> {
        let device = self.owner()?;
        let block = Block::take(device.context()?, size, self.host || device.unified())?;
        let host = block.mapped().filter(|_| self.host);
        // SAFETY: the block is mapped as long as it is there, and the host zeroed or wrote it.
        Ok(unsafe { Allocation::new(Piece::raw(block)).on_host(host) })
    }

    fn free(&self, key: Key<'_>, _size: usize) {
        // Command buffers hold what they use, but lent memory must not be read any more.
        if let Ok(device) = self.owner() {
            let _ = device.quiesce();
        }
        // SAFETY: made by `Piece::raw`, and given back once.
        drop(unsafe { Box::from_raw(key.pointer::<Piece>()) });
    }

    fn set(&self, key: Key<'_>, at: Span<'_>, offset: usize, data: &[u8]) -> Result<()> {
        let (device, piece) = (self.owner()?, Piece::of(key));
        let to = at.offset + offset;
        device.quiesce()?;
        if piece.block.write(to, data) {
            return Ok(());
        }
        let staging = Block::take(device.context()?, data.len(), true)?;
        if !staging.write(0, data) {
            return Err(Error::NotHost);
        }
        device.copy((&staging, 0), (&piece.block, to), data.len())
    }

    fn get(&self, key: Key<'_>, at: Span<'_>, offset: usize, data: &mut [u8]) -> Result<()> {
        let (device, piece) = (self.owner()?, Piece::of(key));
        let from = at.offset + offset;
        let (out, len) = (data.as_mut_ptr(), data.len());
        device.quiesce()?;
        // SAFETY: `data` may be written.
        if unsafe { piece.block.read(from, out, len) } {
            return Ok(());
        }
        let staging = Block::take(device.context()?, len, true)?;
        device.copy((&piece.block, from), (&staging, 0), len)?;
        // SAFETY: `data` may be written.
        if unsafe { staging.read(0, out, len) } { Ok(()) } else { Err(Error::NotHost) }
    }

    fn memset(
        &self,
        key: Key<'_>,
        at: Span<'_>,
        offset: usize,
        len: usize,
        value: u8,
    ) -> Result<()> {
        let (device, piece) = (self.owner()?, Piece::of(key));
        device.quiesce()?;
        if piece.block.fill(at.offset + offset, len, value) {
            return Ok(());
        }
        self.set(key, at, offset, &vec![value; len])
    }

    fn copy_from(
        &self,
        key: Key<'_>,
        to: Span<'_>,
        from: &Buffer<'_>,
        from_at: Span<'_>,
    ) -> Result<bool> {
        let (device, target) = (self.owner()?, Piece::of(key));
        let len = to.desc.bytes();
        let Ok(source) = piece(from, device.context()?) else {
            let mut bytes = vec![0; len];
            from.get(from_at, 0, &mut bytes)?;
            self.set(key, to, 0, &bytes)?;
            return Ok(true);
        };
        let same = source.block.buffer() == target.block.buffer();
        if same && from_at.offset.abs_diff(to.offset) < len {
            return Ok(false);
        }
        device.quiesce()?;
        device.copy((&source.block, from_at.offset), (&target.block, to.offset), len)?;
        Ok(true)
    }

    fn clear(&self, key: Key<'_>, size: usize, value: u8) -> Result<()> {
        let bytes = Desc { ne: [size, 1, 1, 1], nb: [1, size, size, size], dtype: DType::I8 };
        self.memset(key, Span { desc: &bytes, offset: 0 }, 0, size, value)
    }
}
