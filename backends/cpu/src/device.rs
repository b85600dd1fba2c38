//! The processor.

use crate::buffer_type::{self, HostMemory};
use crate::stream::Ops;
use crate::{Level, Services, detect, kernels};
use dinrail_core::error::{Error, Result};
use dinrail_core::hal::host::Threads;
use dinrail_core::hal::{self, Buffer, Caps, DeviceKind, Memory, Params, Query, Stream};

const LEVELS: usize = Level::ALL.len();

/// The processor that the program runs on.
pub struct Device {
    threads: Option<&'static dyn Threads>,
    memory: HostMemory,
    /// Functions of streams of one worker, by level. They need no word of their own.
    alone: [Ops; LEVELS],
    /// Functions of streams with a team of workers, by level; the stream's word is the team's.
    team: [Ops; LEVELS],
}

const fn ops(threads: Option<&'static dyn Threads>) -> [Ops; LEVELS] {
    let mut all = [Ops::new(Level::Scalar, threads); LEVELS];
    let mut i = 0;
    while i < LEVELS {
        all[i] = Ops::new(Level::ALL[i], threads);
        i += 1;
    }
    all
}

impl Device {
    /// The device with what the platform lends it.
    pub const fn new(services: Services) -> Self {
        Self {
            threads: services.threads,
            memory: HostMemory::new(buffer_type::NAME, services.heap),
            alone: ops(None),
            team: ops(services.threads),
        }
    }
}

/// The level that the text of [`Params`] asks for: `level=NAME`.
fn forced(text: Option<&str>) -> Result<Option<Level>> {
    let mut level = None;
    let words = text.unwrap_or("").split([' ', ',']).filter(|w| !w.is_empty());
    for (i, word) in words.enumerate() {
        let Some(("level", name)) = word.split_once('=') else {
            return Err(Error::Invalid {
                what: "stream parameters: only level=NAME is known, word",
                value: i as i64 + 1,
            });
        };
        let known = Level::parse(name).ok_or(Error::Invalid {
            what: "stream parameter level=NAME: no level has this name, word",
            value: i as i64 + 1,
        })?;
        detect::check(known)?;
        level = Some(known);
    }
    Ok(level)
}

impl hal::Device for Device {
    fn name(&self) -> &str {
        "CPU"
    }

    fn description(&self) -> &str {
        crate::brand::brand()
    }

    fn memory(&self) -> Memory {
        self.memory.memory()
    }

    fn kind(&self) -> DeviceKind {
        DeviceKind::Cpu
    }

    fn level(&self) -> &str {
        crate::level().name()
    }

    fn caps(&self) -> Caps {
        Caps { buffer_from_host: true, ..Caps::default() }
    }

    /// Opens a stream. [`Params::text`] may hold `level=NAME` to force the instruction level down.
    ///
    /// # Errors
    /// [`Error::Invalid`] for 0 threads, for several where the platform lends none, or for a level that can't run.
    fn open(&'static self, params: &Params<'_>) -> Result<Stream> {
        let level = forced(params.text)?.unwrap_or_else(crate::level) as usize;
        let threads = self.threads.filter(|_| Ops::CAN_SHARE);
        let count = match params.threads {
            Some(n) => n,
            None => threads.map_or(1, |t| t.default_count()),
        };
        let raw = match (count, threads) {
            (0, _) => return Err(Error::Invalid { what: "number of threads", value: 0 }),
            (1, _) => return Ok(Stream::stateless(&self.alone[level], self)),
            (_, Some(t)) => t.open(count)?,
            (_, None) => {
                return Err(Error::Invalid {
                    what: "number of threads, where the platform has no threads,",
                    value: count as i64,
                });
            }
        };
        // SAFETY: `team` takes the word of a team, and closes it.
        Ok(unsafe { Stream::new(&self.team[level], self, raw) })
    }

    fn buffer_type(&'static self) -> &'static dyn hal::BufferType {
        &self.memory
    }

    /// The lent memory itself.
    fn buffer_from_host<'m>(
        &'static self,
        bytes: &'m [u8],
        _max_tensor: usize,
    ) -> Result<Buffer<'m>> {
        Ok(Buffer::from_bytes(self.buffer_type(), bytes))
    }

    fn supports(&self, query: &Query<'_>) -> bool {
        query.op.is_view() || kernels::resolve(crate::level(), query).is_some()
    }

    fn supports_buffer_type(&self, ty: &dyn hal::BufferType) -> bool {
        ty.is_host() && !ty.is_repacked()
    }
}
