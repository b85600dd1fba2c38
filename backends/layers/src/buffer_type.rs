//! A layer as a kind of memory. Its buffers hold the wrapped device's, with margins on both sides.

use crate::handle::{end, inner, keep};
use crate::{Call, Hook, Kind, Layer};
use core::ptr::NonNull;
use dinrail_core::error::{Error, Result};
use dinrail_core::hal::{Allocation, Buffer, BufferType, Device, Key, Rows, Span, Usage};
use dinrail_core::tensor::{DType, Desc};

/// The wrapped device's buffer.
fn buffer<'a>(key: Key<'a>) -> &'a Buffer<'static> {
    // SAFETY: `alloc` made the word of a `Buffer`, which is alive while there is a key.
    unsafe { inner::<Buffer<'static>>(key) }
}

impl<H: Hook> Layer<H> {
    /// The memory that is wrapped.
    fn memory(&self) -> &'static dyn BufferType {
        self.device.buffer_type()
    }

    /// The place of a tensor in the wrapped buffer.
    fn inside<'a>(&self, at: Span<'a>) -> Span<'a> {
        Span { offset: at.offset + self.hook.margin(), ..at }
    }
}

impl<H: Hook> BufferType for Layer<H> {
    fn name(&self) -> &str {
        self.memory().name()
    }

    fn device(&self) -> Option<&'static dyn Device> {
        self.memory().device()
    }

    fn alignment(&self) -> usize {
        self.memory().alignment()
    }

    fn max_size(&self) -> usize {
        self.memory().max_size().saturating_sub(2 * self.hook.margin())
    }

    fn alloc_size(&self, desc: &Desc) -> usize {
        self.memory().alloc_size(desc)
    }

    /// `false`, so that core sends every transfer through the layer.
    fn is_host(&self) -> bool {
        false
    }

    fn is_repacked(&self) -> bool {
        self.memory().is_repacked()
    }

    fn alloc(&'static self, size: usize) -> Result<Allocation> {
        let call = Call::transfer(Kind::Alloc, 0, size);
        let margin = self.hook.margin();
        let inner = self.around(call, || {
            let none = Error::OutOfMemory { requested: size, available: usize::MAX };
            let all = margin.checked_mul(2).and_then(|m| m.checked_add(size)).ok_or(none)?;
            let buffer = Buffer::new(self.memory(), all)?;
            self.hook.allocated(&buffer)?;
            Ok(buffer)
        })?;
        let host = inner.host().and_then(|p| NonNull::new(p.as_ptr().wrapping_add(margin)));
        // SAFETY: a part of the inner buffer's memory, whose margins are this layer's own.
        Ok(unsafe { Allocation::new(keep(inner)).on_host(host) })
    }

    fn free(&self, key: Key<'_>, size: usize) {
        self.round(Call::transfer(Kind::Free, 0, size), || {
            self.hook.freed(buffer(key));
            // SAFETY: `alloc` made the word of a `Buffer`, and core frees it once.
            unsafe { end::<Buffer<'static>>(key) };
        });
    }

    fn set(&self, key: Key<'_>, at: Span<'_>, offset: usize, data: &[u8]) -> Result<()> {
        let call = Call::transfer(Kind::Set, at.offset + offset, data.len());
        self.around(call, || buffer(key).set(self.inside(at), offset, data))
    }

    fn get(&self, key: Key<'_>, at: Span<'_>, offset: usize, data: &mut [u8]) -> Result<()> {
        let call = Call::transfer(Kind::Get, at.offset + offset, data.len());
        self.around(call, || buffer(key).get(self.inside(at), offset, data))
    }

    fn set_2d(
        &self,
        key: Key<'_>,
        at: Span<'_>,
        offset: usize,
        rows: Rows,
        data: &[u8],
    ) -> Result<()> {
        let call = Call::transfer(Kind::Set, at.offset + offset, rows.len * rows.count);
        self.around(call, || buffer(key).set_2d(self.inside(at), offset, rows, data))
    }

    fn get_2d(
        &self,
        key: Key<'_>,
        at: Span<'_>,
        offset: usize,
        rows: Rows,
        data: &mut [u8],
    ) -> Result<()> {
        let call = Call::transfer(Kind::Get, at.offset + offset, rows.len * rows.count);
        self.around(call, || buffer(key).get_2d(self.inside(at), offset, rows, data))
    }

    fn memset(
        &self,
        key: Key<'_>,
        at: Span<'_>,
        offset: usize,
        len: usize,
        value: u8,
    ) -> Result<()> {
        let call = Call::transfer(Kind::Memset, at.offset + offset, len);
        self.around(call, || buffer(key).memset(self.inside(at), offset, len, value))
    }

    fn init(&self, key: Key<'_>, at: Span<'_>) -> Result<()> {
        let call = Call::transfer(Kind::Init, at.offset, at.desc.bytes());
        self.around(call, || buffer(key).init(self.inside(at)))
    }

    fn copy_from(
        &self,
        key: Key<'_>,
        to: Span<'_>,
        from: &Buffer<'_>,
        from_at: Span<'_>,
    ) -> Result<bool> {
        // SAFETY: the key is only looked into.
        let (from, from_at) = match unsafe { from.key_for(self) } {
            Some(key) => (buffer(key), self.inside(from_at)),
            None => (from, from_at),
        };
        let call = Call::transfer(Kind::Copy, to.offset, to.desc.bytes());
        self.around(call, || buffer(key).copy_from(self.inside(to), from, from_at))?;
        Ok(true)
    }

    fn clear(&self, key: Key<'_>, size: usize, value: u8) -> Result<()> {
        let all = Desc { ne: [size, 1, 1, 1], nb: [1, size, size, size], dtype: DType::I8 };
        let at = self.inside(Span { desc: &all, offset: 0 });
        let call = Call::transfer(Kind::Clear, 0, size);
        self.around(call, || buffer(key).memset(at, 0, size, value))
    }

    fn reset(&self, key: Key<'_>) {
        self.round(Call::new(Kind::Reset), || buffer(key).reset());
    }

    fn set_usage(&self, key: Key<'_>, usage: Usage) {
        buffer(key).set_usage(usage);
    }
}
