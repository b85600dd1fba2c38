//! A device: a processor with its kinds of memory.

use crate::{Config, Memory, Ops};
use dinrail_core::error::{Error, Result};
use dinrail_core::hal::{
    self, Buffer, BufferType, Caps, DeviceKind, Key, Live, Params, Query, Raw, Stream,
};

/// The device. It holds its kind of memory and the functions of its streams, because it hands out `'static` references to
/// both: its functions that do so take `&'static self`.
#[derive(Debug)]
pub struct Device {
    config: Config,
    memory: Memory,
    stream: Ops,
}

impl Device {
    pub(crate) const fn new(config: Config) -> Self {
        Self { config, memory: Memory::new(config), stream: Ops::new(config) }
    }
}

impl hal::Device for Device {
    // Unique in a registry, such as `CUDA0`.
    fn name(&self) -> &str {
        self.config.name
    }

    // For people: the model of the hardware, read from the driver where there is one.
    fn description(&self) -> &str {
        "computes nothing"
    }

    // At this moment, in bytes; 0 where unknown.
    fn memory(&self) -> hal::Memory {
        hal::Memory::default()
    }

    fn kind(&self) -> DeviceKind {
        self.config.kind
    }

    // The instruction set or architecture that the kernels in use were made for; empty if that says nothing.
    fn level(&self) -> &str {
        ""
    }

    // Each `true` is a promise about other functions: `events` about event_*, `buffer_from_host` about that function,
    // `host_buffer` about host_buffer_type, `asynchronous` about work being queued rather than done.
    fn caps(&self) -> Caps {
        Caps { events: true, ..Caps::default() }
    }

    // The hardware's own identity (PCI address), so that a device that two backends drive is used once.
    fn id(&self) -> Option<&str> {
        None
    }

    // Counters of living handles, which core keeps up to date. Needed where the backend can be unloaded, and then the same
    // ones for all its devices and kinds of memory.
    fn live(&self) -> Option<&'static Live> {
        self.config.live
    }

    // Open what a stream needs (queue, worker threads, working memory) and put a pointer or an index to it into a
    // `Raw` for `Stream::new`; every function of `StreamOps` gets it back as a `Key`. Refuse parameters that you can't honour.
    fn open(&'static self, params: &Params<'_>) -> Result<Stream> {
        if params.threads == Some(0) {
            return Err(Error::Invalid { what: "number of threads", value: 0 });
        }
        self.config.count(|c| &c.open);
        Ok(Stream::stateless(&self.stream, self))
    }

    // The kind of memory that kernels use unless told otherwise.
    fn buffer_type(&'static self) -> &'static dyn BufferType {
        &self.memory
    }

    // Host memory from which transfers are fast, where there is such a thing (pinned memory).
    fn host_buffer_type(&'static self) -> Option<&'static dyn BufferType> {
        None
    }

    // Other kinds that kernels can use, best first: weights in another order.
    fn extra_buffer_type(&'static self, _i: usize) -> Option<&'static dyn BufferType> {
        None
    }

    // Where the device can read host memory in place. `Buffer::from_bytes` if there is nothing to free,
    // `Buffer::adopt` if there is.
    fn buffer_from_host<'m>(&'static self, _bytes: &'m [u8], _max: usize) -> Result<Buffer<'m>> {
        Err(Error::NotOffered { function: "buffer_from_host" })
    }

    // The most important answer: `true` is a promise that `compute` succeeds for this operation on these types, shapes
    // and strides. Ask the table that `compute` takes its kernels from, so that the two can't drift apart.
    fn supports(&self, _query: &Query<'_>) -> bool {
        self.config.count(|c| &c.supports);
        self.config.supports
    }

    // By identity for memory of your own; by property (`is_host`) where kernels can use any memory of a kind.
    fn supports_buffer_type(&self, ty: &dyn BufferType) -> bool {
        core::ptr::addr_eq(ty, &self.memory)
    }

    // `true` for nodes so heavy that computing them here is worth a copy of their weights.
    fn offload(&self, _query: &Query<'_>) -> bool {
        false
    }

    // As for streams: make it, hand out a word for it.
    fn event_new(&self) -> Result<Raw> {
        Ok(Raw::NONE)
    }

    fn event_free(&self, _key: Key<'_>) {}

    // Everything queued before the mark is done when this returns. Nothing is queued here.
    fn event_synchronize(&self, _key: Key<'_>) -> Result<()> {
        Ok(())
    }
}
