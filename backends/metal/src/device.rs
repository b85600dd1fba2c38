//! A device: a graphics processor.

use crate::buffer_type::{Memory, Piece};
use crate::context::{Context, Hardware, lock, nothing};
use crate::event::Mark;
use crate::memory::Block;
use crate::recorder::{blit, finish};
use crate::stream::{Ops, Stream};
use dinrail_core::error::{Error, Result};
use dinrail_core::hal::{
    self, Allocation, Buffer, BufferType, Caps, DeviceKind, Key, Params, Query, Raw,
};
use dinrail_wgsl::{Limits, launch, worth_copying};
use objc2_metal::{MTLCommandBuffer, MTLCommandEncoder, MTLDevice};
use std::sync::{Arc, Mutex, OnceLock};

/// A Metal device.
pub struct Device {
    name: String,
    description: String,
    hardware: Hardware,
    limits: Limits,
    unified: bool,
    ops: Ops,
    memory: Memory,
    shared: Memory,
    making: Mutex<()>,
    context: OnceLock<Context>,
    pub(crate) streams: Mutex<Vec<Arc<Stream>>>,
    this: OnceLock<&'static Device>,
}

impl core::fmt::Debug for Device {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Device").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Device {
    pub(crate) fn new(i: usize, hardware: Hardware, limits: Limits) -> Self {
        Self {
            name: format!("Metal{i}"),
            description: hardware.name().to_string(),
            limits,
            unified: hardware.hasUnifiedMemory(),
            hardware,
            ops: Ops::new(),
            memory: Memory::new(format!("Metal{i}"), false),
            shared: Memory::new(format!("Metal{i}_Host"), true),
            making: Mutex::new(()),
            context: OnceLock::new(),
            streams: Mutex::new(Vec::new()),
            this: OnceLock::new(),
        }
    }

    /// Lets what the device hands out refer to it.
    pub(crate) fn attach(&'static self) -> &'static Self {
        self.memory.attach(self);
        self.shared.attach(self);
        self.this.get_or_init(|| self)
    }

    /// Queue and pipelines, made when first needed. A failure isn't remembered.
    pub(crate) fn context(&self) -> Result<&'static Context> {
        let this = *self.this.get().ok_or(Error::NotFound)?;
        if let Some(c) = this.context.get() {
            return Ok(c);
        }
        let _alone = lock(&this.making);
        if this.context.get().is_none() {
            let types: [&'static dyn BufferType; 2] = [&this.memory, &this.shared];
            let _ = this.context.set(Context::new(&this.hardware, this.limits, types)?);
        }
        this.context.get().ok_or(Error::NotFound)
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Whether the device has no memory of its own.
    pub(crate) fn unified(&self) -> bool {
        self.unified
    }

    /// Waits until nothing is queued, for all streams, also where one of them failed. The first error counts.
    pub(crate) fn quiesce(&self) -> Result<()> {
        let mut all = Ok(());
        for s in &*lock(&self.streams) {
            all = all.and(s.settle());
        }
        all
    }

    /// Copies between blocks and waits.
    pub(crate) fn copy(
        &self,
        from: (&Block, usize),
        to: (&Block, usize),
        len: usize,
    ) -> Result<()> {
        let commands = self.context()?.commands()?;
        let encoder = commands.blitCommandEncoder().ok_or(nothing("blitCommandEncoder"))?;
        blit(&encoder, from, to, len);
        encoder.endEncoding();
        commands.commit();
        finish(&commands)
    }
}

impl hal::Device for Device {
    fn name(&self) -> &str {
        &self.name
    }

    fn description(&self) -> &str {
        &self.description
    }

    fn memory(&self) -> hal::Memory {
        let total = self.hardware.recommendedMaxWorkingSetSize() as usize;
        hal::Memory { free: total.saturating_sub(self.hardware.currentAllocatedSize()), total }
    }

    fn kind(&self) -> DeviceKind {
        if self.unified { DeviceKind::IntegratedGpu } else { DeviceKind::Gpu }
    }

    fn caps(&self) -> Caps {
        Caps { asynchronous: true, host_buffer: true, buffer_from_host: self.unified, events: true }
    }

    fn open(&'static self, _params: &Params<'_>) -> Result<hal::Stream> {
        let stream = Arc::new(Stream::new(self.attach(), self.context()?));
        lock(&self.streams).push(stream.clone());
        let raw = Raw::pointer(Arc::into_raw(stream).cast_mut());
        // SAFETY: the operations take back what was counted here.
        Ok(unsafe { hal::Stream::new(&self.ops, self, raw) })
    }

    fn buffer_type(&'static self) -> &'static dyn BufferType {
        self.attach();
        &self.memory
    }

    fn host_buffer_type(&'static self) -> Option<&'static dyn BufferType> {
        self.attach();
        Some(&self.shared)
    }

    fn buffer_from_host<'m>(&'static self, bytes: &'m [u8], _max: usize) -> Result<Buffer<'m>> {
        if !self.unified || bytes.is_empty() {
            return Err(Error::NotOffered { function: "buffer_from_host" });
        }
        self.attach();
        // SAFETY: the buffer borrows the bytes for its life, and waits for the queue when it ends.
        let block = unsafe { Block::lend(self.context()?, bytes) }?;
        let allocation = Allocation::new(Piece::raw(block));
        // SAFETY: a block of this device's, for the memory that frees such; the bytes are borrowed for as long.
        Ok(unsafe { Buffer::adopt(&self.memory, allocation, bytes.len(), false) })
    }

    fn supports(&self, query: &Query<'_>) -> bool {
        query.op.is_view() || launch(query, &self.limits).is_some()
    }

    fn supports_buffer_type(&self, ty: &dyn BufferType) -> bool {
        let (own, shared): (&dyn BufferType, &dyn BufferType) = (&self.memory, &self.shared);
        core::ptr::addr_eq(ty, own) || self.unified && core::ptr::addr_eq(ty, shared)
    }

    fn offload(&self, query: &Query<'_>) -> bool {
        worth_copying(query) && self.supports(query)
    }

    fn event_new(&self) -> Result<Raw> {
        Ok(Raw::pointer(Box::into_raw(Box::new(Mark::new(self.context()?)?))))
    }

    fn event_free(&self, key: Key<'_>) {
        // SAFETY: made by `event_new`, and given back once.
        drop(unsafe { Box::from_raw(key.pointer::<Mark>()) });
    }

    fn event_synchronize(&self, key: Key<'_>) -> Result<()> {
        Mark::of(key).wait()
    }
}
