//! Kinds of memory.

use super::{Buffer, Device, Key, Live, Raw, Usage};
use crate::error::{Error, Result};
use crate::tensor::Desc;
use core::ptr::NonNull;

/// What [`BufferType::alloc`] returns.
#[derive(Debug)]
pub struct Allocation {
    pub(super) raw: Raw,
    pub(super) host: Option<NonNull<u8>>,
}

impl Allocation {
    /// Memory that the host reaches by way of its device only. `raw` is the backend's word for it.
    pub const fn new(raw: Raw) -> Self {
        Self { raw, host: None }
    }

    /// The same memory, where the host may read and write it from `first` on; `None` for none.
    ///
    /// # Safety
    /// * From `first` on there are as many bytes as were asked for, all of them initialised, until the memory is freed.
    /// * Nobody else uses them meanwhile, but for what the device was told to do.
    #[allow(unsafe_code)]
    pub const unsafe fn on_host(self, first: Option<NonNull<u8>>) -> Self {
        Self { raw: self.raw, host: first }
    }
}

/// A tensor's place inside one buffer.
#[derive(Clone, Copy, Debug)]
pub struct Span<'a> {
    /// Type, lengths and strides.
    pub desc: &'a Desc,
    /// First byte of the tensor in the buffer.
    pub offset: usize,
}

/// Several pieces of equal length at equal distances, on both sides of a two-dimensional transfer. In bytes.
#[derive(Clone, Copy, Debug)]
pub struct Rows {
    /// Bytes of one piece.
    pub len: usize,
    /// Number of pieces.
    pub count: usize,
    /// Distance of the pieces in the buffer.
    pub stride: usize,
    /// Distance of the pieces in the host slice.
    pub host_stride: usize,
}

/// A kind of memory, and the functions on buffers of it.
///
/// For callers: use the methods of [`Buffer`], which check ranges and keep track of life. For implementors: only
/// [`name`](Self::name), [`alloc`](Self::alloc), [`free`](Self::free), [`set`](Self::set) and [`get`](Self::get) are
/// required; every other default is correct, if not always fast.
pub trait BufferType: Sync {
    /// Short name, unique within its device.
    fn name(&self) -> &str;

    /// The device that this memory belongs to, if it belongs to one.
    fn device(&'static self) -> Option<&'static dyn Device> {
        None
    }

    /// What offsets of tensors must be multiples of, in bytes; a power of two.
    fn alignment(&self) -> usize {
        64
    }

    /// Largest size of one buffer, in bytes.
    fn max_size(&self) -> usize {
        usize::MAX
    }

    /// Bytes that a tensor takes in this memory, at least [`Desc::bytes`].
    fn alloc_size(&self, desc: &Desc) -> usize {
        desc.bytes()
    }

    /// Whether buffers lie in host memory in ggml's standard layout. If so, `alloc` gives a host address.
    fn is_host(&self) -> bool {
        false
    }

    /// Whether tensors of this memory are stored in another layout than ggml's (repacked weights), so that bytes can
    /// only be set for a whole tensor at a time.
    fn is_repacked(&self) -> bool {
        false
    }

    /// Counts living handles, for memory of a backend that can be unloaded.
    fn live(&'static self) -> Option<&'static Live> {
        None
    }

    /// Takes `size` bytes (never 0), contents unspecified.
    ///
    /// Done on return.
    ///
    /// # Implementors
    /// MUST align to [`alignment`](Self::alignment). MUST give a host address if [`is_host`](Self::is_host), and MUST
    /// NOT give one for memory that isn't at least readable and writable by the host.
    ///
    /// # Concurrency
    /// Any thread; not from an interrupt.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] with both numbers. Nothing is taken then.
    fn alloc(&'static self, size: usize) -> Result<Allocation>;

    /// Gives memory back. No work that uses it is queued any more: the handle's owner has seen to that.
    fn free(&self, key: Key<'_>, size: usize);

    /// Copies `data` to byte `offset` of the tensor `at`. Done on return, behind all work queued earlier by the
    /// same thread on streams of the same device.
    ///
    /// # Callers
    /// Core has checked that the bytes lie inside the tensor and the tensor inside the buffer.
    ///
    /// # Errors
    /// What the device reports; the bytes are unspecified then.
    fn set(&self, key: Key<'_>, at: Span<'_>, offset: usize, data: &[u8]) -> Result<()>;

    /// Copies bytes from byte `offset` of the tensor `at`. Otherwise as [`set`](Self::set).
    ///
    /// # Errors
    /// What the device reports.
    fn get(&self, key: Key<'_>, at: Span<'_>, offset: usize, data: &mut [u8]) -> Result<()>;

    /// [`set`](Self::set) for pieces of equal length.
    ///
    /// # Errors
    /// As `set`.
    fn set_2d(
        &self,
        key: Key<'_>,
        at: Span<'_>,
        offset: usize,
        rows: Rows,
        data: &[u8],
    ) -> Result<()> {
        for i in 0..rows.count {
            let piece = data.get(i * rows.host_stride..).and_then(|d| d.get(..rows.len)).ok_or(
                Error::Range { offset: i * rows.host_stride, len: rows.len, size: data.len() },
            )?;
            self.set(key, at, offset + i * rows.stride, piece)?;
        }
        Ok(())
    }

    /// [`get`](Self::get) for pieces of equal length.
    ///
    /// # Errors
    /// As `get`.
    fn get_2d(
        &self,
        key: Key<'_>,
        at: Span<'_>,
        offset: usize,
        rows: Rows,
        data: &mut [u8],
    ) -> Result<()> {
        let size = data.len();
        for i in 0..rows.count {
            let piece = data
                .get_mut(i * rows.host_stride..)
                .and_then(|d| d.get_mut(..rows.len))
                .ok_or(Error::Range { offset: i * rows.host_stride, len: rows.len, size })?;
            self.get(key, at, offset + i * rows.stride, piece)?;
        }
        Ok(())
    }

    /// Fills bytes of the tensor with a value.
    ///
    /// # Errors
    /// As [`set`](Self::set).
    fn memset(
        &self,
        key: Key<'_>,
        at: Span<'_>,
        offset: usize,
        len: usize,
        value: u8,
    ) -> Result<()> {
        let block = [value; 64];
        let mut done = 0;
        while done < len {
            let n = (len - done).min(block.len());
            self.set(key, at, offset + done, block.get(..n).unwrap_or(&[]))?;
            done += n;
        }
        Ok(())
    }

    /// Prepares a tensor that was placed in the buffer. Called once for each tensor, before its first `set`.
    ///
    /// # Errors
    /// What the device reports.
    fn init(&self, key: Key<'_>, at: Span<'_>) -> Result<()> {
        let _ = (key, at);
        Ok(())
    }

    /// Copies a whole tensor from another buffer, of any device, if there is a better way than through the host.
    /// `false` means: nothing was done, go through the host.
    ///
    /// # Callers
    /// Both tensors have the same layout, and lie inside their buffers.
    ///
    /// # Errors
    /// What the device reports.
    fn copy_from(
        &self,
        key: Key<'_>,
        to: Span<'_>,
        from: &Buffer<'_>,
        from_at: Span<'_>,
    ) -> Result<bool> {
        let _ = (key, to, from, from_at);
        Ok(false)
    }

    /// Fills the whole buffer of `size` bytes with a value.
    ///
    /// # Errors
    /// As [`set`](Self::set).
    fn clear(&self, key: Key<'_>, size: usize, value: u8) -> Result<()> {
        let bytes = Desc {
            ne: [size, 1, 1, 1],
            nb: [1, size, size, size],
            dtype: crate::tensor::DType::I8,
        };
        self.memset(key, Span { desc: &bytes, offset: 0 }, 0, size, value)
    }

    /// Forgets what [`init`](Self::init) prepared.
    fn reset(&self, key: Key<'_>) {
        let _ = key;
    }

    /// Tells what the buffer will be used for.
    fn set_usage(&self, key: Key<'_>, usage: Usage) {
        let _ = (key, usage);
    }
}
