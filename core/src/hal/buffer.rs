//! A piece of memory, owned.
#![allow(unsafe_code)]

use super::{Allocation, BufferType, HostView, Key, Raw, Rows, Span};
use crate::error::{Error, Result, What};
use crate::tensor::{DType, Desc};
use core::cell::Cell;
use core::marker::PhantomData;
use core::ptr::NonNull;

/// Bytes that a copy between devices passes through the host at a time. Each piece may be a submission to a device, and
/// lies on the stack.
pub(super) const PIECE: usize = if cfg!(target_os = "none") { 256 } else { 16 * 1024 };

/// What a buffer is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Usage {
    /// Anything.
    #[default]
    Any,
    /// Weights.
    Weights,
    /// Intermediate results.
    Compute,
}

/// Memory of one kind, given back when dropped.
///
/// `'m` is the life of the memory behind it: `'static` for what a device allocated, the life of the borrow for
/// memory that the caller lent (a model in flash, a mapped file).
///
/// A buffer can move to another thread but is not shared between threads: host memory has no lock. Two threads that
/// read the same weights make a buffer each from the same borrowed bytes.
pub struct Buffer<'m> {
    ty: &'static dyn BufferType,
    raw: Raw,
    host: Option<NonNull<u8>>,
    size: usize,
    writable: bool,
    lent: bool,
    usage: Cell<Usage>,
    memory: PhantomData<&'m Cell<u8>>,
}

// SAFETY: the raw word may go to any thread (see `Raw`), the host pointer is to memory that this handle owns or borrows,
// and access goes through `&self` on one thread at a time because `Buffer` is not `Sync`.
unsafe impl Send for Buffer<'_> {}

impl core::fmt::Debug for Buffer<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Buffer")
            .field("type", &self.ty.name())
            .field("size", &self.size)
            .field("usage", &self.usage.get())
            .finish_non_exhaustive()
    }
}

impl Buffer<'static> {
    /// Takes `size` bytes of a kind of memory. A size of 0 gives an empty buffer without asking the device.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`]; [`Error::Full`] above the kind's largest size.
    pub fn new(ty: &'static dyn BufferType, size: usize) -> Result<Self> {
        let max = ty.max_size();
        if size > max {
            return Err(Error::Full { what: What::Buffer, need: size, have: max });
        }
        let allocation = match size {
            0 => Allocation { raw: Raw::NONE, host: None },
            _ => ty.alloc(size)?,
        };
        // `lent` buffers aren't freed: neither is an empty one, which the device has never seen.
        Ok(Self::from_parts(ty, allocation, size, true, size == 0))
    }
}

impl<'m> Buffer<'m> {
    fn from_parts(
        ty: &'static dyn BufferType,
        allocation: Allocation,
        size: usize,
        writable: bool,
        lent: bool,
    ) -> Self {
        if let Some(live) = ty.live() {
            live.buffers.add();
        }
        Self {
            ty,
            raw: allocation.raw,
            host: allocation.host,
            size,
            writable,
            lent,
            usage: Cell::new(Usage::Any),
            memory: PhantomData,
        }
    }

    /// Memory that may only be read: a model in flash or in a mapped file. For devices that compute on host memory.
    pub fn from_bytes(ty: &'static dyn BufferType, bytes: &'m [u8]) -> Self {
        let host = NonNull::from(bytes).cast();
        Self::from_parts(
            ty,
            Allocation { raw: Raw::NONE, host: Some(host) },
            bytes.len(),
            false,
            true,
        )
    }

    /// Memory of the caller's own, to be read and written: a static arena.
    pub fn from_bytes_mut(ty: &'static dyn BufferType, bytes: &'m mut [u8]) -> Self {
        let size = bytes.len();
        let host = NonNull::from(bytes).cast();
        Self::from_parts(ty, Allocation { raw: Raw::NONE, host: Some(host) }, size, true, true)
    }

    /// What [`Device::buffer_from_host`](super::Device::buffer_from_host) made of memory that the caller lent; freed
    /// through its type when dropped. For backends.
    ///
    /// # Safety
    /// * `ty` takes the allocation for one of its own, of `size` bytes, and nobody else frees it.
    /// * What it is made of stays there for `'m`.
    pub unsafe fn adopt(
        ty: &'static dyn BufferType,
        allocation: Allocation,
        size: usize,
        writable: bool,
    ) -> Self {
        Self::from_parts(ty, allocation, size, writable, false)
    }

    /// The kind of memory.
    #[inline]
    pub fn buffer_type(&self) -> &'static dyn BufferType {
        self.ty
    }

    /// Number of bytes.
    #[inline]
    pub fn size(&self) -> usize {
        self.size
    }

    /// Whether it may be written.
    #[inline]
    pub fn is_writable(&self) -> bool {
        self.writable
    }

    /// What it is used for.
    pub fn usage(&self) -> Usage {
        self.usage.get()
    }

    /// Says what it is used for.
    pub fn set_usage(&self, usage: Usage) {
        self.usage.set(usage);
        if self.is_devices() {
            self.ty.set_usage(self.key(), usage);
        }
    }

    /// First byte, where the host can reach it. Reading or writing through it is the caller's own risk.
    #[inline]
    pub fn host(&self) -> Option<NonNull<u8>> {
        self.host
    }

    /// Whether `ty` made this memory. Borrowed host memory that no backend ever saw is nobody's.
    pub fn is_of(&self, ty: &dyn BufferType) -> bool {
        core::ptr::addr_eq(self.ty, ty) && self.is_devices()
    }

    /// The backend's word, for the backend itself: `None` unless the buffer [is of](Self::is_of) `ty`.
    ///
    /// # Safety
    /// The key is given to functions of `ty`'s own backend only, and to none that ends the buffer.
    pub unsafe fn key_for(&self, ty: &dyn BufferType) -> Option<Key<'_>> {
        self.is_of(ty).then(|| self.key())
    }

    fn is_devices(&self) -> bool {
        !self.lent
    }

    fn key(&self) -> Key<'_> {
        Key::of(&self.raw)
    }

    /// Host access to a range of bytes.
    ///
    /// # Errors
    /// [`Error::NotHost`], [`Error::Range`].
    pub fn view(&self, offset: usize, len: usize) -> Result<HostView<'_>> {
        self.inside(offset, len)?;
        if len == 0 {
            return Ok(HostView::of(&mut []));
        }
        let base = self.host.ok_or(Error::NotHost)?;
        // SAFETY: the range is inside the memory, which lives as long as the buffer.
        let ptr = unsafe { base.as_ptr().add(offset) };
        // SAFETY: `'m` outlives the borrow of self; the buffer isn't `Sync`, so no other thread uses it meanwhile.
        Ok(unsafe { HostView::new(ptr, len, self.writable) })
    }

    fn inside(&self, offset: usize, len: usize) -> Result<()> {
        if offset > self.size || len > self.size - offset {
            return Err(Error::Range { offset, len, size: self.size });
        }
        Ok(())
    }

    /// Checks a transfer and says whether there is anything to do.
    fn check(&self, at: &Span<'_>, offset: usize, len: usize) -> Result<bool> {
        let whole = at.desc.checked_span()?;
        if offset > whole || len > whole - offset {
            return Err(Error::Range { offset, len, size: whole });
        }
        self.inside(at.offset, whole)?;
        Ok(len > 0)
    }

    pub(super) fn check_transfer(
        &self,
        at: &Span<'_>,
        offset: usize,
        len: usize,
        write: bool,
    ) -> Result<bool> {
        let any = self.check(at, offset, len)?;
        if any && write && !self.writable {
            return Err(Error::ReadOnly);
        }
        Ok(any)
    }

    /// Checks a copy of a whole tensor and says how many bytes it has; 0 if there is nothing to do.
    pub(super) fn check_copy(
        &self,
        to: &Span<'_>,
        from: &Buffer<'_>,
        from_at: &Span<'_>,
    ) -> Result<usize> {
        if !to.desc.same_layout(from_at.desc) {
            return Err(Error::Invalid { what: "layout of the two tensors of a copy", value: 0 });
        }
        let len = to.desc.checked_span()?;
        let any = from.check(from_at, 0, len)? && self.check_transfer(to, 0, len, true)?;
        Ok(if any { len } else { 0 })
    }

    /// Copies `data` to byte `offset` of the tensor `at`. Done on return.
    ///
    /// # Errors
    /// [`Error::Range`], [`Error::ReadOnly`], or what the device reports.
    pub fn set(&self, at: Span<'_>, offset: usize, data: &[u8]) -> Result<()> {
        if !self.check(&at, offset, data.len())? {
            return Ok(());
        }
        if !self.writable {
            return Err(Error::ReadOnly);
        }
        if self.host.is_some() && (self.lent || self.ty.is_host()) {
            self.view(at.offset + offset, data.len())?.write(0, data);
            return Ok(());
        }
        self.ty.set(self.key(), at, offset, data)
    }

    /// Copies bytes from byte `offset` of the tensor `at`. Done on return.
    ///
    /// # Errors
    /// [`Error::Range`], or what the device reports.
    pub fn get(&self, at: Span<'_>, offset: usize, data: &mut [u8]) -> Result<()> {
        if !self.check(&at, offset, data.len())? {
            return Ok(());
        }
        if self.host.is_some() && (self.lent || self.ty.is_host()) {
            self.view(at.offset + offset, data.len())?.copy_to(0, data);
            return Ok(());
        }
        self.ty.get(self.key(), at, offset, data)
    }

    pub(super) fn check_2d(
        &self,
        at: &Span<'_>,
        offset: usize,
        rows: Rows,
        host: usize,
    ) -> Result<bool> {
        if rows.count == 0 || rows.len == 0 {
            return Ok(false);
        }
        let reach = |stride: usize| {
            stride.checked_mul(rows.count - 1).and_then(|n| n.checked_add(rows.len))
        };
        let overflow = Error::Size(crate::tensor::size::SizeError::Overflow);
        let (there, here) =
            (reach(rows.stride).ok_or(overflow)?, reach(rows.host_stride).ok_or(overflow)?);
        if here > host {
            return Err(Error::Range { offset: 0, len: here, size: host });
        }
        self.check(at, offset, there)
    }

    /// [`set`](Self::set) for pieces of equal length at equal distances.
    ///
    /// # Errors
    /// As `set`.
    pub fn set_2d(&self, at: Span<'_>, offset: usize, rows: Rows, data: &[u8]) -> Result<()> {
        if !self.check_2d(&at, offset, rows, data.len())? {
            return Ok(());
        }
        if !self.writable {
            return Err(Error::ReadOnly);
        }
        if self.lent {
            for i in 0..rows.count {
                let piece = data.get(i * rows.host_stride..).and_then(|d| d.get(..rows.len));
                self.set(at, offset + i * rows.stride, piece.unwrap_or(&[]))?;
            }
            return Ok(());
        }
        self.ty.set_2d(self.key(), at, offset, rows, data)
    }

    /// [`get`](Self::get) for pieces of equal length at equal distances.
    ///
    /// # Errors
    /// As `get`.
    pub fn get_2d(&self, at: Span<'_>, offset: usize, rows: Rows, data: &mut [u8]) -> Result<()> {
        if !self.check_2d(&at, offset, rows, data.len())? {
            return Ok(());
        }
        if self.lent {
            for i in 0..rows.count {
                if let Some(piece) =
                    data.get_mut(i * rows.host_stride..).and_then(|d| d.get_mut(..rows.len))
                {
                    self.get(at, offset + i * rows.stride, piece)?;
                }
            }
            return Ok(());
        }
        self.ty.get_2d(self.key(), at, offset, rows, data)
    }

    /// Fills bytes of a tensor with a value.
    ///
    /// # Errors
    /// As [`set`](Self::set).
    pub fn memset(&self, at: Span<'_>, offset: usize, len: usize, value: u8) -> Result<()> {
        if !self.check(&at, offset, len)? {
            return Ok(());
        }
        if !self.writable {
            return Err(Error::ReadOnly);
        }
        if self.lent {
            let view = self.view(at.offset + offset, len)?;
            (0..len).for_each(|i| view.set_u8(i, value));
            return Ok(());
        }
        self.ty.memset(self.key(), at, offset, len, value)
    }

    /// Fills the whole buffer with a value.
    ///
    /// # Errors
    /// As [`set`](Self::set).
    pub fn clear(&self, value: u8) -> Result<()> {
        if self.size == 0 {
            return Ok(());
        }
        if self.lent {
            let bytes = Desc {
                ne: [self.size, 1, 1, 1],
                nb: [1, self.size, self.size, self.size],
                dtype: DType::I8,
            };
            return self.memset(Span { desc: &bytes, offset: 0 }, 0, self.size, value);
        }
        if !self.writable {
            return Err(Error::ReadOnly);
        }
        self.ty.clear(self.key(), self.size, value)
    }

    /// Writes bytes at an offset of the buffer, of whatever tensor.
    ///
    /// # Errors
    /// As [`set`](Self::set).
    pub fn write(&self, offset: usize, data: &[u8]) -> Result<()> {
        let n = data.len();
        let bytes = Desc { ne: [n, 1, 1, 1], nb: [1, n, n, n], dtype: DType::I8 };
        self.set(Span { desc: &bytes, offset }, 0, data)
    }

    /// Reads bytes at an offset of the buffer, of whatever tensor.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub fn read(&self, offset: usize, data: &mut [u8]) -> Result<()> {
        let n = data.len();
        let bytes = Desc { ne: [n, 1, 1, 1], nb: [1, n, n, n], dtype: DType::I8 };
        self.get(Span { desc: &bytes, offset }, 0, data)
    }

    /// Tells the device that a tensor was placed here.
    ///
    /// # Errors
    /// [`Error::Range`], or what the device reports.
    pub fn init(&self, at: Span<'_>) -> Result<()> {
        self.check(&at, 0, 0)?;
        if self.is_devices() { self.ty.init(self.key(), at) } else { Ok(()) }
    }

    /// Forgets what [`init`](Self::init) prepared.
    pub fn reset(&self) {
        if self.is_devices() {
            self.ty.reset(self.key());
        }
    }

    /// Copies a whole tensor from another buffer, of any device, or from a place of the same buffer, which may overlap.
    /// Done on return.
    ///
    /// # Errors
    /// [`Error::Invalid`] for two tensors of different layout.
    /// Otherwise as [`set`](Self::set) and [`get`](Self::get).
    pub fn copy_from(&self, to: Span<'_>, from: &Buffer<'_>, from_at: Span<'_>) -> Result<()> {
        let len = self.check_copy(&to, from, &from_at)?;
        if len == 0 {
            return Ok(());
        }
        if self.is_devices() && self.ty.copy_from(self.key(), to, from, from_at)? {
            return Ok(());
        }
        // Through the host, piece by piece; from the end where the target may overlap the rest of the source.
        let backwards = to.offset > from_at.offset;
        let mut piece = [0u8; PIECE];
        let mut done = 0;
        while done < len {
            let n = (len - done).min(piece.len());
            let Some(part) = piece.get_mut(..n) else { break };
            let at = if backwards { len - done - n } else { done };
            from.get(from_at, at, part)?;
            self.set(to, at, part)?;
            done += n;
        }
        Ok(())
    }
}

impl Drop for Buffer<'_> {
    fn drop(&mut self) {
        if self.is_devices() {
            self.ty.free(Key::of(&self.raw), self.size);
        }
        if let Some(live) = self.ty.live() {
            live.buffers.remove();
        }
    }
}
