//! A device: a physical one, with the logical one that is made when it is first used.

use crate::backend::Options;
use crate::buffer_type::{Memory, Piece};
use crate::context::{Context, lock};
use crate::instance::Instance;
use crate::memory::Place;
use crate::physical::Physical;
use crate::stream::{Ops, Stream};
use dinrail_core::error::{Error, Result};
use dinrail_core::hal::{
    self, Allocation, Buffer, BufferType, Caps, DeviceKind, Key, Params, Query, Raw,
};
use dinrail_wgsl::{Features, Limits, launch, worth_copying};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

/// A Vulkan device.
pub struct Device {
    name: String,
    pub(crate) physical: Arc<Physical>,
    features: Features,
    map: bool,
    /// Programs that a stream keeps.
    pub(crate) keep: usize,
    pub(crate) ops: Ops,
    memory: Memory,
    pinned: Memory,
    making: Mutex<()>,
    context: OnceLock<Context>,
    pub(crate) streams: Mutex<Vec<Arc<Stream>>>,
    this: OnceLock<&'static Device>,
    /// Dropped after the logical device.
    instance: Arc<Instance>,
}

impl core::fmt::Debug for Device {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Device")
            .field("name", &self.name)
            .field("physical", &self.physical)
            .finish()
    }
}

impl Device {
    pub(crate) fn new(i: usize, physical: Physical, instance: &Arc<Instance>, o: &Options) -> Self {
        Self {
            name: format!("Vulkan{i}"),
            features: Features(physical.limits.features.0 & o.features.0),
            map: o.map,
            keep: o.keep,
            physical: Arc::new(physical),
            ops: Ops::new(),
            memory: Memory::new(format!("Vulkan{i}"), Place::Device),
            pinned: Memory::new(format!("Vulkan{i}_Host"), Place::Host),
            making: Mutex::new(()),
            context: OnceLock::new(),
            streams: Mutex::new(Vec::new()),
            this: OnceLock::new(),
            instance: instance.clone(),
        }
    }

    /// Lets what the device hands out refer to it.
    pub(crate) fn attach(&'static self) -> &'static Self {
        self.memory.attach(self);
        self.pinned.attach(self);
        self.this.get_or_init(|| self)
    }

    /// The logical device, made when first needed. A failure isn't remembered.
    pub(crate) fn context(&self) -> Result<&'static Context> {
        let this = *self.this.get().ok_or(Error::NotFound)?;
        if let Some(c) = this.context.get() {
            return Ok(c);
        }
        let _alone = lock(&this.making);
        if this.context.get().is_none() {
            let types: [&'static dyn BufferType; 2] = [&this.memory, &this.pinned];
            let made =
                Context::new(&self.instance, &this.physical, this.features, this.map, types)?;
            let _ = this.context.set(made);
        }
        this.context.get().ok_or(Error::NotFound)
    }

    fn limits(&self) -> Limits {
        Limits { features: self.features, ..self.physical.limits }
    }

    /// Submits what streams have recorded: of all of them, also where one of them can't. The first error counts.
    pub(crate) fn flush(&self) -> Result<()> {
        let mut all = Ok(());
        for s in &*lock(&self.streams) {
            all = all.and(s.flush());
        }
        all
    }

    /// Waits until nothing is queued.
    pub(crate) fn quiesce(&self) -> Result<()> {
        self.flush()?;
        let context = self.context()?;
        context.wait(context.submitted())
    }

    /// A buffer is given back: nothing may use it any more.
    pub(crate) fn forget(&self, serial: u64) {
        // What fails here fails again where the stream is used next.
        let _ = self.flush();
        if let Ok(context) = self.context() {
            context.settle(context.submitted());
        }
        lock(&self.streams).iter().for_each(|s| s.forget(serial));
    }
}

impl hal::Device for Device {
    fn name(&self) -> &str {
        &self.name
    }

    fn description(&self) -> &str {
        &self.physical.description
    }

    fn memory(&self) -> hal::Memory {
        self.physical.free(&self.instance.api)
    }

    fn kind(&self) -> DeviceKind {
        self.physical.kind
    }

    fn level(&self) -> &str {
        match (self.features.has(Features::SUBGROUP), self.features.has(Features::F16)) {
            (true, true) => "subgroup f16",
            (true, false) => "subgroup",
            (false, true) => "f16",
            (false, false) => "",
        }
    }

    fn caps(&self) -> Caps {
        Caps {
            asynchronous: true,
            host_buffer: true,
            buffer_from_host: self.physical.host_alignment > 0,
            events: true,
        }
    }

    fn id(&self) -> Option<&str> {
        self.physical.id.as_deref()
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
        Some(&self.pinned)
    }

    fn buffer_from_host<'m>(&'static self, bytes: &'m [u8], _max: usize) -> Result<Buffer<'m>> {
        self.attach();
        // SAFETY: the buffer borrows the bytes for its life, and releases the block when it ends.
        let block = unsafe { self.context()?.import(bytes) }?;
        let allocation = Allocation::new(Piece::raw(block));
        // SAFETY: a block of this device's, for the memory that frees such; the bytes are borrowed for as long.
        Ok(unsafe { Buffer::adopt(&self.memory, allocation, bytes.len(), false) })
    }

    fn supports(&self, query: &Query<'_>) -> bool {
        query.op.is_view() || launch(query, &self.limits()).is_some()
    }

    fn supports_buffer_type(&self, ty: &dyn BufferType) -> bool {
        let pinned: &dyn BufferType = &self.pinned;
        let memory: &dyn BufferType = &self.memory;
        core::ptr::addr_eq(ty, memory) || self.physical.unified() && core::ptr::addr_eq(ty, pinned)
    }

    fn offload(&self, query: &Query<'_>) -> bool {
        // In software there is nothing to gain.
        !self.physical.software && worth_copying(query) && self.supports(query)
    }

    fn event_new(&self) -> Result<Raw> {
        Ok(Raw::pointer(Box::into_raw(Box::new(AtomicU64::new(0)))))
    }

    fn event_free(&self, key: Key<'_>) {
        // SAFETY: made by `event_new`, and given back once.
        drop(unsafe { Box::from_raw(key.pointer::<AtomicU64>()) });
    }

    fn event_synchronize(&self, key: Key<'_>) -> Result<()> {
        self.context()?.wait(event(key).load(Ordering::Acquire))
    }
}

/// An event: the submission that it waits for, 0 for none.
pub(crate) fn event<'a>(key: Key<'a>) -> &'a AtomicU64 {
    // SAFETY: events' keys point to what `event_new` made, alive as long as the handle.
    unsafe { &*key.pointer::<AtomicU64>() }
}
