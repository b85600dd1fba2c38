//! A kind of memory: here one that gives any amount, keeps nothing and reads as zeros.
//!
//! A backend that computes on host memory needs none of this: it holds a `hal::HostMemory`.

use crate::Config;
use dinrail_core::error::Result;
use dinrail_core::hal::{Allocation, Buffer, BufferType, Key, Live, Raw, Span, Usage};
use dinrail_core::tensor::Desc;

/// The memory.
#[derive(Debug)]
pub struct Memory {
    config: Config,
}

impl Memory {
    pub(crate) const fn new(config: Config) -> Self {
        Self { config }
    }
}

impl BufferType for Memory {
    // Unique within the device.
    fn name(&self) -> &str {
        "Null"
    }

    // Offsets of tensors in a buffer are multiples of it. What your kernels' loads need.
    fn alignment(&self) -> usize {
        64
    }

    // Larger requests are refused by core, before they get here.
    fn max_size(&self) -> usize {
        self.config.max_size
    }

    // More than the tensor's own bytes if kernels read past the end of rows.
    fn alloc_size(&self, desc: &Desc) -> usize {
        desc.bytes()
    }

    // `true` only if host code can follow the address that `alloc` gives, in ggml's layout.
    fn is_host(&self) -> bool {
        false
    }

    // `true` if bytes are stored in another order than ggml's, so that tensors can only be set whole.
    fn is_repacked(&self) -> bool {
        false
    }

    // The same counters as the device's, if there are any.
    fn live(&self) -> Option<&'static Live> {
        self.config.live
    }

    // Take the memory and put a pointer or an index to it into the `Raw`. `size` is never 0. Fail with
    // `Error::OutOfMemory` and take nothing. `Allocation::on_host` adds the address of memory that the host may read and write.
    fn alloc(&'static self, _size: usize) -> Result<Allocation> {
        self.config.count(|c| &c.alloc);
        Ok(Allocation::new(Raw::NONE))
    }

    // Called once for each `alloc`, with its word. Nothing that uses the memory is queued any more.
    fn free(&self, _key: Key<'_>, _size: usize) {}

    // Copy to byte `at.offset + offset` of the buffer; done on return. Core has checked that it lies inside.
    fn set(&self, _key: Key<'_>, _at: Span<'_>, _offset: usize, _data: &[u8]) -> Result<()> {
        self.config.count(|c| &c.set);
        Ok(())
    }

    // The other way.
    fn get(&self, _key: Key<'_>, _at: Span<'_>, _offset: usize, data: &mut [u8]) -> Result<()> {
        self.config.count(|c| &c.get);
        data.fill(0);
        Ok(())
    }

    // From here on every default is right. Yours should replace those that the device has a faster way for: `set_2d` and
    // `get_2d` (copies with strides), `memset` and `clear` (fills), `copy_from` (device to device).

    fn memset(
        &self,
        _key: Key<'_>,
        _at: Span<'_>,
        _offset: usize,
        _len: usize,
        _value: u8,
    ) -> Result<()> {
        self.config.count(|c| &c.set);
        Ok(())
    }

    // Room for what the device keeps beside a tensor's bytes. Called before the tensor's first `set`.
    fn init(&self, _key: Key<'_>, _at: Span<'_>) -> Result<()> {
        Ok(())
    }

    // `Ok(true)` if the copy was done, `Ok(false)` to let core go through the host. `from` may be of any device: where it is
    // yours, `from.key_for(self)` gives its word.
    fn copy_from(
        &self,
        _key: Key<'_>,
        _to: Span<'_>,
        from: &Buffer<'_>,
        _from_at: Span<'_>,
    ) -> Result<bool> {
        Ok(from.is_of(self))
    }

    fn clear(&self, _key: Key<'_>, _size: usize, _value: u8) -> Result<()> {
        self.config.count(|c| &c.set);
        Ok(())
    }

    // What `init` prepared is no longer needed.
    fn reset(&self, _key: Key<'_>) {}

    // A hint: weights are read often and written once.
    fn set_usage(&self, _key: Key<'_>, _usage: Usage) {}
}
