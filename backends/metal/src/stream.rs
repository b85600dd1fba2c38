//! Streams: command buffers on the device's one queue, where the order of committing is the order of work.
//!
//! Buffers are tracked by Metal, which orders encoders and command buffers that touch the same one; within an encoder,
//! which launches concurrently, barriers come where `Hazards` says so.

use crate::buffer_type::piece;
use crate::context::{Context, lock};
use crate::device::Device;
use crate::event::Mark;
use crate::memory::Block;
use crate::recorder::{Recorder, Step};
use dinrail_core::error::{Error, Result};
use dinrail_core::hal::{self, Buffer, Key, Raw, Span, StreamOps};
use dinrail_core::program::Program;
use objc2::rc::autoreleasepool;
use std::sync::{Arc, Mutex};

/// A stream's state.
pub struct Stream {
    device: &'static Device,
    context: &'static Context,
    inner: Mutex<Recorder>,
}

impl Stream {
    /// An empty stream.
    pub fn new(device: &'static Device, context: &'static Context) -> Self {
        Self { device, context, inner: Mutex::new(Recorder::new()) }
    }

    fn of<'a>(key: Key<'a>) -> &'a Self {
        // SAFETY: streams' keys point to what `Device::open` made, alive as long as the handle.
        unsafe { &*key.pointer::<Self>() }
    }

    fn run<R>(&self, work: impl FnOnce(&Context, &mut Recorder) -> Result<R>) -> Result<R> {
        let mut inner = lock(&self.inner);
        autoreleasepool(|_| work(self.context, &mut inner))
    }

    /// Waits for the stream's work. An error is also kept for the stream's own user.
    pub fn settle(&self) -> Result<()> {
        self.run(|_, inner| inner.settle().inspect_err(|e| inner.failed = Some(*e)))
    }
}

/// A prepared program: its launches. Behind a lock, for an update changes them.
struct Plan(Mutex<Vec<Step>>);

// SAFETY: pipelines and buffers may be used from any thread.
unsafe impl Send for Plan {}
// SAFETY: as above; the list is behind a lock.
unsafe impl Sync for Plan {}

impl Plan {
    fn of<'a>(key: Key<'a>) -> &'a Self {
        // SAFETY: plans' keys point to what `plan_create` made, alive as long as the handle.
        unsafe { &*key.pointer::<Self>() }
    }
}

/// The functions of the device's streams.
pub struct Ops {
    /// Gives the value an address of its own: handles are told apart by it.
    _place: u8,
}

impl Ops {
    pub(crate) const fn new() -> Self {
        Self { _place: 0 }
    }
}

impl StreamOps for Ops {
    fn name(&self) -> &str {
        "Metal"
    }

    fn guid(&self) -> [u8; 16] {
        *b"dinrail-metal\0\0\0"
    }

    fn free(&self, key: Key<'_>) {
        // SAFETY: made by `Device::open`, and given back once.
        let stream = unsafe { Arc::from_raw(key.pointer::<Stream>().cast_const()) };
        let _ = stream.settle();
        lock(&stream.device.streams).retain(|s| !Arc::ptr_eq(s, &stream));
    }

    fn set_async(
        &self,
        key: Key<'_>,
        buffer: &Buffer<'_>,
        at: Span<'_>,
        offset: usize,
        data: &[u8],
    ) -> Result<()> {
        Stream::of(key).run(|context, inner| {
            let to = piece(buffer, context)?;
            let staging = Block::take(context, data.len(), true)?;
            if !staging.write(0, data) {
                return Err(Error::NotHost);
            }
            // The command buffer holds the staging memory.
            inner.copy(context, (&staging, 0), (&to.block, at.offset + offset), data.len())
        })
    }

    fn get_async(
        &self,
        key: Key<'_>,
        buffer: &Buffer<'_>,
        at: Span<'_>,
        offset: usize,
        data: &mut [u8],
    ) -> Result<()> {
        let (target, len) = (data.as_mut_ptr(), data.len());
        Stream::of(key).run(|context, inner| {
            let from = piece(buffer, context)?;
            inner.fetch(context, (&from.block, at.offset + offset), target, len)?;
            inner.commit();
            Ok(())
        })
    }

    fn copy_async(
        &self,
        key: Key<'_>,
        from: &hal::Stream,
        source: (&Buffer<'_>, Span<'_>),
        target: (&Buffer<'_>, Span<'_>),
    ) -> Result<bool> {
        let stream = Stream::of(key);
        // SAFETY: the key is only looked into.
        let other = unsafe { from.key_for(self) };
        let Some(other) = other.map(Stream::of) else { return Ok(false) };
        let pieces = (piece(source.0, stream.context), piece(target.0, stream.context));
        let (Ok(a), Ok(b)) = pieces else { return Ok(false) };
        let len = target.1.desc.bytes();
        let (at, to) = (source.1.offset, target.1.offset);
        if a.block.buffer() == b.block.buffer() && at.abs_diff(to) < len {
            return Ok(false);
        }
        other.run(|_, inner| {
            inner.commit();
            Ok(())
        })?;
        stream.run(|context, inner| {
            inner.copy(context, (&a.block, at), (&b.block, to), len)?;
            // Committed at once, so that later work of the other stream is behind it.
            inner.commit();
            Ok(true)
        })
    }

    fn synchronize(&self, key: Key<'_>) -> Result<()> {
        Stream::of(key).run(|_, inner| {
            let result = inner.settle();
            result.and(inner.failed.take().map_or(Ok(()), Err))
        })
    }

    fn plan_create(&self, key: Key<'_>, program: &Program<'_>) -> Result<Raw> {
        let steps = Stream::of(key).run(|context, _| Step::all(context, program))?;
        Ok(Raw::pointer(Box::into_raw(Box::new(Plan(Mutex::new(steps))))))
    }

    fn plan_free(&self, _key: Key<'_>, plan: Key<'_>) {
        // SAFETY: made by `plan_create`, and given back once.
        drop(unsafe { Box::from_raw(plan.pointer::<Plan>()) });
    }

    fn plan_update(&self, key: Key<'_>, plan: Key<'_>, program: &Program<'_>) -> Result<()> {
        let steps = Stream::of(key).run(|context, _| Step::all(context, program))?;
        // Command buffers hold what they use of the old ones.
        *lock(&Plan::of(plan).0) = steps;
        Ok(())
    }

    fn plan_compute(&self, key: Key<'_>, plan: Key<'_>) -> Result<()> {
        let steps = lock(&Plan::of(plan).0);
        Stream::of(key).run(|context, inner| {
            steps.iter().try_for_each(|step| inner.launch(context, step))?;
            inner.commit();
            Ok(())
        })
    }

    fn compute(&self, key: Key<'_>, program: &Program<'_>) -> Result<()> {
        Stream::of(key).run(|context, inner| {
            for (id, node) in program.nodes() {
                if let Some(step) = Step::new(context, program, id, node)? {
                    inner.launch(context, &step)?;
                }
            }
            inner.commit();
            Ok(())
        })
    }

    fn event_record(&self, key: Key<'_>, event: Key<'_>) -> Result<()> {
        Stream::of(key).run(|context, inner| Mark::of(event).record(context, inner))
    }

    fn event_wait(&self, key: Key<'_>, event: Key<'_>) -> Result<()> {
        Stream::of(key).run(|context, inner| Mark::of(event).await_in(context, inner))
    }
}
