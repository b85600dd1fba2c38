//! The device: the host's processor, one element at a time.

use crate::buffer_type::{self, HostMemory};
use crate::stream::Ops;
use dinrail_core::error::{Error, Result};
use dinrail_core::hal::host::Heap;
use dinrail_core::hal::{self, Buffer, BufferType, Caps, DeviceKind, Memory, Params, Query};

/// The device `Reference`.
#[derive(Debug)]
pub struct Device {
    memory: HostMemory,
    stream: Ops,
}

impl Device {
    /// A device that takes its buffers from `heap`.
    pub const fn new(heap: Option<&'static dyn Heap>) -> Self {
        Self { memory: HostMemory::new(buffer_type::NAME, heap), stream: Ops::new() }
    }
}

impl hal::Device for Device {
    fn name(&self) -> &str {
        "Reference"
    }

    fn description(&self) -> &str {
        "plain loops with double precision, for comparison"
    }

    fn memory(&self) -> Memory {
        self.memory.memory()
    }

    fn kind(&self) -> DeviceKind {
        DeviceKind::Cpu
    }

    fn caps(&self) -> Caps {
        Caps { buffer_from_host: true, ..Caps::default() }
    }

    fn open(&'static self, params: &Params<'_>) -> Result<hal::Stream> {
        match params.threads {
            None | Some(1) => Ok(hal::Stream::stateless(&self.stream, self)),
            Some(n) => Err(Error::Invalid {
                what: "number of threads of the reference device, which has one,",
                value: i64::try_from(n).unwrap_or(i64::MAX),
            }),
        }
    }

    fn buffer_type(&'static self) -> &'static dyn BufferType {
        &self.memory
    }

    fn buffer_from_host<'m>(&'static self, bytes: &'m [u8], _max: usize) -> Result<Buffer<'m>> {
        Ok(Buffer::from_bytes(&self.memory, bytes))
    }

    fn supports(&self, query: &Query<'_>) -> bool {
        crate::ops::supports(query)
    }

    fn supports_buffer_type(&self, ty: &dyn BufferType) -> bool {
        ty.is_host() && !ty.is_repacked()
    }
}
