//! Streams: command buffers in order, recorded and submitted.
//!
//! A device has one queue. Every command buffer begins with a barrier for all that was submitted before, so the order of
//! submission is the order of work, within a stream and between streams. An event is the number of a submission.

use crate::buffer_type::piece;
use crate::context::{Context, lock};
use crate::device::{Device, event};
use crate::kept::{Kept, Plan};
use crate::recorder::Recorder;
use dinrail_core::error::{Error, Result};
use dinrail_core::hal::{self, Buffer, Key, Raw, Rows, Span, StreamOps};
use dinrail_core::program::Program;
use std::collections::VecDeque;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

/// Submitted command buffers that a stream lets pile up before it waits for the oldest.
const FLYING: usize = 16;

/// Bytes of staging memory that are recorded before they are submitted, and that are in use before the oldest is waited for.
const STAGED: u64 = 32 << 20;

/// A stream's state.
pub struct Stream {
    device: &'static Device,
    context: &'static Context,
    inner: Mutex<Inner>,
}

struct Inner {
    work: Work,
    /// Programs that may come again.
    kept: Kept,
    /// What went wrong since the last `synchronize`, where nobody was told.
    failed: Option<Error>,
}

/// What was recorded and submitted.
#[derive(Default)]
struct Work {
    /// Being recorded.
    current: Option<Recorder>,
    /// Submitted, oldest first.
    flying: VecDeque<Recorder>,
    /// Done with.
    idle: Vec<Recorder>,
    /// The last submission.
    last: u64,
}

impl Work {
    /// The recorder to write to.
    fn recorder(&mut self, context: &'static Context) -> Result<&mut Recorder> {
        if self.current.as_ref().is_some_and(|r| !r.has_room() || r.staged() > STAGED) {
            self.flush(context)?;
        }
        if self.current.is_none() {
            let new = || Recorder::new(context, false);
            self.current = Some(self.idle.pop().map_or_else(new, Ok)?);
        }
        self.current.as_mut().ok_or(Error::NotFound)
    }

    /// Submits what was recorded.
    fn flush(&mut self, context: &'static Context) -> Result<()> {
        let Some(mut recorder) = self.current.take() else { return Ok(()) };
        let value = match recorder.end() {
            Ok(true) => context.submit(&[recorder.commands()]),
            Ok(false) => Ok(0),
            Err(e) => Err(e),
        };
        match value {
            Ok(0) => self.idle.push(recorder),
            Ok(value) => {
                recorder.value = value;
                self.last = value;
                self.flying.push_back(recorder);
                while self.flying.len() > FLYING
                    || self.flying.len() > 1 && self.staged() > 2 * STAGED
                {
                    let oldest = self.flying.front().map_or(0, |r| r.value);
                    context.wait(oldest)?;
                    self.reap(oldest);
                }
            }
            Err(e) => {
                recorder.clear();
                self.idle.push(recorder);
                return Err(e);
            }
        }
        Ok(())
    }

    /// Bytes of staging memory that submissions use.
    fn staged(&self) -> u64 {
        self.flying.iter().map(Recorder::staged).sum()
    }

    /// Submits a program behind what was recorded.
    fn submit(&mut self, context: &'static Context, plan: &mut Plan) -> Result<()> {
        if plan.commands.is_empty() {
            return Ok(());
        }
        self.flush(context)?;
        plan.last = context.submit(&plan.commands)?;
        self.last = plan.last;
        Ok(())
    }

    /// Waits for everything.
    fn synchronize(&mut self, context: &'static Context) -> Result<()> {
        let flushed = self.flush(context);
        let waited = context.wait(self.last);
        if waited.is_ok() {
            self.reap(self.last);
        } else {
            // What was to be fetched is lost; its targets are not written later, when they may be gone.
            context.settle(self.last);
            while let Some(mut r) = self.flying.pop_front() {
                r.clear();
                self.idle.push(r);
            }
        }
        flushed.and(waited)
    }

    /// Takes back what is done.
    fn reap(&mut self, done: u64) {
        while self.flying.front().is_some_and(|r| r.value <= done) {
            if let Some(mut r) = self.flying.pop_front() {
                r.deliver();
                r.clear();
                self.idle.push(r);
            }
        }
    }
}

impl Stream {
    /// An empty stream.
    pub fn new(device: &'static Device, context: &'static Context) -> Self {
        let kept = Kept::new(device.keep);
        let inner = Inner { work: Work::default(), kept, failed: None };
        Self { device, context, inner: Mutex::new(inner) }
    }

    /// Memory is given back: nothing of it is kept.
    pub fn forget(&self, serial: u64) {
        lock(&self.inner).kept.forget(self.context, serial);
    }

    fn of<'a>(key: Key<'a>) -> &'a Self {
        // SAFETY: streams' keys point to what `Device::open` made, alive as long as the handle.
        unsafe { &*key.pointer::<Self>() }
    }

    /// Submits what was recorded. An error is also kept for the stream's own user.
    pub fn flush(&self) -> Result<()> {
        let mut inner = lock(&self.inner);
        inner.work.flush(self.context).inspect_err(|e| inner.failed = Some(*e))
    }

    fn record(&self, work: impl FnOnce(&mut Recorder) -> Result<()>) -> Result<()> {
        let mut inner = lock(&self.inner);
        work(inner.work.recorder(self.context)?)
    }

    fn synchronize(&self) -> Result<()> {
        let mut inner = lock(&self.inner);
        let done = inner.work.synchronize(self.context);
        let failed = inner.failed.take();
        done.and(failed.map_or(Ok(()), Err))
    }
}

/// A prepared program. It is borrowed as long as this lives, so its memory stays.
fn prepared<'a>(key: Key<'a>) -> &'a Mutex<Plan> {
    // SAFETY: plans' keys point to what `plan_create` made, alive as long as the handle.
    unsafe { &*key.pointer::<Mutex<Plan>>() }
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
        "Vulkan"
    }

    fn guid(&self) -> [u8; 16] {
        *b"dinrail-vulkan\0\0"
    }

    fn free(&self, key: Key<'_>) {
        // SAFETY: made by `Device::open`, and given back once.
        let stream = unsafe { Arc::from_raw(key.pointer::<Stream>().cast_const()) };
        let _ = stream.synchronize();
        lock(&stream.inner).kept.clear(stream.context);
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
        let stream = Stream::of(key);
        let to = piece(buffer, stream.context)?;
        stream.record(|r| r.set(to, (at.offset + offset) as u64, data))
    }

    /// Staged at once.
    fn upload(
        &self,
        key: Key<'_>,
        buffer: &Buffer<'_>,
        at: Span<'_>,
        offset: usize,
        data: &[u8],
    ) -> Result<bool> {
        self.set_async(key, buffer, at, offset, data)?;
        Ok(true)
    }

    fn get_async(
        &self,
        key: Key<'_>,
        buffer: &Buffer<'_>,
        at: Span<'_>,
        offset: usize,
        data: &mut [u8],
    ) -> Result<()> {
        let stream = Stream::of(key);
        let from = piece(buffer, stream.context)?;
        let (target, len) = (data.as_mut_ptr(), data.len());
        stream.record(|r| r.get(from, (at.offset + offset) as u64, target, len))?;
        // The device may as well begin.
        stream.flush()
    }

    fn set_2d_async(
        &self,
        key: Key<'_>,
        buffer: &Buffer<'_>,
        at: Span<'_>,
        offset: usize,
        rows: Rows,
        data: &[u8],
    ) -> Result<()> {
        for i in 0..rows.count {
            let piece = data.get(i * rows.host_stride..).and_then(|d| d.get(..rows.len));
            self.set_async(key, buffer, at, offset + i * rows.stride, piece.unwrap_or(&[]))?;
        }
        Ok(())
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
        let (Ok(a), Ok(b)) = (piece(source.0, stream.context), piece(target.0, stream.context))
        else {
            return Ok(false);
        };
        let len = target.1.desc.bytes() as u64;
        let (at, to) = (source.1.offset as u64, target.1.offset as u64);
        if a.block.buffer == b.block.buffer && at.abs_diff(to) < len {
            return Ok(false);
        }
        other.flush()?;
        stream.record(|r| r.copy((a, at), (b, to), len))?;
        // Submitted at once, so that later work of the other stream is behind it.
        stream.flush()?;
        Ok(true)
    }

    fn synchronize(&self, key: Key<'_>) -> Result<()> {
        Stream::of(key).synchronize()
    }

    fn plan_create(&self, key: Key<'_>, program: &Program<'_>) -> Result<Raw> {
        let mut plan = Plan::default();
        plan.record(Stream::of(key).context, program)?;
        Ok(Raw::pointer(Box::into_raw(Box::new(Mutex::new(plan)))))
    }

    fn plan_free(&self, key: Key<'_>, plan: Key<'_>) {
        // SAFETY: made by `plan_create`, and given back once.
        let plan = unsafe { Box::from_raw(plan.pointer::<Mutex<Plan>>()) };
        Stream::of(key).context.settle(lock(&plan).last);
    }

    fn plan_update(&self, key: Key<'_>, plan: Key<'_>, program: &Program<'_>) -> Result<()> {
        lock(prepared(plan)).record(Stream::of(key).context, program)
    }

    fn plan_compute(&self, key: Key<'_>, plan: Key<'_>) -> Result<()> {
        let stream = Stream::of(key);
        lock(&stream.inner).work.submit(stream.context, &mut lock(prepared(plan)))
    }

    fn compute(&self, key: Key<'_>, program: &Program<'_>) -> Result<()> {
        let stream = Stream::of(key);
        let inner = &mut *lock(&stream.inner);
        if let Some(plan) = inner.kept.meet(stream.context, program)? {
            return inner.work.submit(stream.context, plan);
        }
        for (id, node) in program.nodes() {
            inner.work.recorder(stream.context)?.node(program, id, node)?;
        }
        inner.work.flush(stream.context)
    }

    fn step(&self, key: Key<'_>, program: &Program<'_>, next: usize) -> Result<usize> {
        // The device computes on its own: one submission, and then only the question whether it is done.
        let (stream, range) = (Stream::of(key), program.range());
        if next == range.start && !range.is_empty() {
            self.compute(key, program)?;
            // Of a single node there is nothing left to ask for later.
            if range.len() > 1 {
                return Ok(range.start + 1);
            }
        }
        let last = lock(&stream.inner).work.last;
        if range.len() > 1 && stream.context.done()? < last {
            std::thread::yield_now();
            return Ok(next);
        }
        stream.synchronize()?;
        Ok(range.end)
    }

    fn event_record(&self, key: Key<'_>, mark: Key<'_>) -> Result<()> {
        let stream = Stream::of(key);
        let mut inner = lock(&stream.inner);
        inner.work.flush(stream.context)?;
        event(mark).store(inner.work.last, Ordering::Release);
        Ok(())
    }

    fn event_wait(&self, _key: Key<'_>, _mark: Key<'_>) -> Result<()> {
        // What was recorded is submitted, and what this stream submits from here on begins with a barrier behind it.
        Ok(())
    }
}
