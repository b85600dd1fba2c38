//! A layer as a device: everything but the main kind of memory and the streams is the wrapped device's own.

use crate::handle::{end, inner, keep};
use crate::{Call, Hook, Kind, Layer};
use dinrail_core::error::{Error, Result};
use dinrail_core::hal::{
    Buffer, BufferType, Caps, Device, DeviceKind, Event, Key, Memory, Params, Query, Raw, Stream,
};

impl<H: Hook> Device for Layer<H> {
    fn name(&self) -> &str {
        self.device.name()
    }

    fn description(&self) -> &str {
        self.device.description()
    }

    fn memory(&self) -> Memory {
        self.device.memory()
    }

    fn kind(&self) -> DeviceKind {
        self.device.kind()
    }

    fn level(&self) -> &str {
        self.device.level()
    }

    /// Transfers wait for the queue: core's defaults for them are what a layer uses.
    fn caps(&self) -> Caps {
        let caps = self.device.caps();
        let walled = self.hook.is_walled();
        Caps {
            host_buffer: caps.host_buffer && !walled,
            buffer_from_host: caps.buffer_from_host && !walled,
            ..caps
        }
    }

    fn id(&self) -> Option<&str> {
        self.device.id()
    }

    fn open(&'static self, params: &Params<'_>) -> Result<Stream> {
        let raw = self.around(Call::new(Kind::Open), || self.device.open(params).map(keep))?;
        // SAFETY: `keep` made the word, of a stream of the inner device.
        Ok(unsafe { Stream::new(self, self, raw) })
    }

    fn buffer_type(&'static self) -> &'static dyn BufferType {
        self
    }

    fn host_buffer_type(&'static self) -> Option<&'static dyn BufferType> {
        self.device.host_buffer_type().filter(|_| !self.hook.is_walled())
    }

    fn extra_buffer_type(&'static self, i: usize) -> Option<&'static dyn BufferType> {
        self.device.extra_buffer_type(i).filter(|_| !self.hook.is_walled())
    }

    fn buffer_from_host<'m>(
        &'static self,
        bytes: &'m [u8],
        max_tensor: usize,
    ) -> Result<Buffer<'m>> {
        if self.hook.is_walled() {
            return Err(Error::NotOffered { function: "buffer_from_host" });
        }
        let call = Call::transfer(Kind::FromHost, 0, bytes.len());
        self.around(call, || self.device.buffer_from_host(bytes, max_tensor))
    }

    fn supports(&self, query: &Query<'_>) -> bool {
        self.device.supports(query)
    }

    fn supports_weights(&self, query: &Query<'_>, ty: &'static dyn BufferType) -> bool {
        match core::ptr::addr_eq(ty, self) {
            true => self.device.supports(query),
            false => self.device.supports_weights(query, ty),
        }
    }

    fn supports_buffer_type(&self, ty: &dyn BufferType) -> bool {
        core::ptr::addr_eq(ty, self)
            || !self.hook.is_walled() && self.device.supports_buffer_type(ty)
    }

    fn offload(&self, query: &Query<'_>) -> bool {
        self.device.offload(query)
    }

    fn event_new(&self) -> Result<Raw> {
        self.around(Call::new(Kind::EventNew), || Event::new(self.device).map(keep))
    }

    fn event_free(&self, key: Key<'_>) {
        // SAFETY: `event_new` made the word of an `Event`, and core frees it once.
        self.round(Call::new(Kind::EventFree), || unsafe { end::<Event>(key) });
    }

    fn event_synchronize(&self, key: Key<'_>) -> Result<()> {
        // SAFETY: `event_new` made the word of an `Event`, which is alive while there is a key.
        let event = unsafe { inner::<Event>(key) };
        self.around(Call::new(Kind::EventSynchronize), || event.synchronize())
    }
}
