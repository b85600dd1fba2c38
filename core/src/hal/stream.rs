//! A queue of work.

use super::buffer::PIECE;
use super::{Buffer, Device, Event, Key, Raw, Rows, Scope, Span};
use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::program::Program;

/// The functions of a device's streams.
///
/// Work on one stream is done in the order in which it was queued. A stream is used by one thread at a time.
///
/// For implementors: [`name`](Self::name), [`free`](Self::free) and [`compute`](Self::compute) are required. A stream
/// that queues work MUST also give [`synchronize`](Self::synchronize); every other default is correct.
pub trait StreamOps: Sync {
    /// Short name of the kind of stream.
    fn name(&self) -> &str;

    /// Identity of the implementation, as in ggml.
    fn guid(&self) -> [u8; 16] {
        [0; 16]
    }

    /// Ends a stream. Queued work is finished first.
    fn free(&self, key: Key<'_>);

    /// Queues a copy of `data` to byte `offset` of a tensor.
    ///
    /// # Callers
    /// Ranges have been checked. `data` lives until the next `synchronize`.
    ///
    /// # Implementors
    /// The default waits for the queue and then copies.
    ///
    /// # Errors
    /// What the device reports; an error of queued work may also come from a later `synchronize`.
    fn set_async(
        &self,
        key: Key<'_>,
        buffer: &Buffer<'_>,
        at: Span<'_>,
        offset: usize,
        data: &[u8],
    ) -> Result<()> {
        self.synchronize(key)?;
        buffer.set(at, offset, data)
    }

    /// Queues a copy from byte `offset` of a tensor. Otherwise as [`set_async`](Self::set_async).
    ///
    /// # Errors
    /// As `set_async`.
    fn get_async(
        &self,
        key: Key<'_>,
        buffer: &Buffer<'_>,
        at: Span<'_>,
        offset: usize,
        data: &mut [u8],
    ) -> Result<()> {
        self.synchronize(key)?;
        buffer.get(at, offset, data)
    }

    /// [`set_async`](Self::set_async) for pieces of equal length.
    ///
    /// # Errors
    /// As `set_async`.
    fn set_2d_async(
        &self,
        key: Key<'_>,
        buffer: &Buffer<'_>,
        at: Span<'_>,
        offset: usize,
        rows: Rows,
        data: &[u8],
    ) -> Result<()> {
        self.synchronize(key)?;
        buffer.set_2d(at, offset, rows, data)
    }

    /// [`get_async`](Self::get_async) for pieces of equal length.
    ///
    /// # Errors
    /// As `set_async`.
    fn get_2d_async(
        &self,
        key: Key<'_>,
        buffer: &Buffer<'_>,
        at: Span<'_>,
        offset: usize,
        rows: Rows,
        data: &mut [u8],
    ) -> Result<()> {
        self.synchronize(key)?;
        buffer.get_2d(at, offset, rows, data)
    }

    /// Queues a copy of host bytes to byte `offset` of a tensor, having read them all before it returns, so that they may
    /// change at once. `false` means: nothing was queued.
    ///
    /// # Implementors
    /// The default is right for a device whose transfers don't wait for its queue. One with a queue SHOULD stage the bytes
    /// and return `true`: a scheduler then writes the inputs of the next run while this one is computed.
    ///
    /// # Errors
    /// As [`set_async`](Self::set_async).
    fn upload(
        &self,
        key: Key<'_>,
        buffer: &Buffer<'_>,
        at: Span<'_>,
        offset: usize,
        data: &[u8],
    ) -> Result<bool> {
        let _ = (key, buffer, at, offset, data);
        Ok(false)
    }

    /// Queues a copy of a tensor from a buffer that `from` works on to one that this stream works on, behind what both
    /// have queued so far, and before what both queue later. `false` means: nothing was queued, wait and copy.
    ///
    /// # Callers
    /// The two have the same layout and some bytes; ranges have been checked, and that the target may be written.
    ///
    /// # Implementors
    /// MUST NOT let later work of `from` overtake the copy: it may write to the source.
    ///
    /// # Errors
    /// As [`set_async`](Self::set_async).
    fn copy_async(
        &self,
        key: Key<'_>,
        from: &Stream,
        source: (&Buffer<'_>, Span<'_>),
        target: (&Buffer<'_>, Span<'_>),
    ) -> Result<bool> {
        let _ = (key, from, source, target);
        Ok(false)
    }

    /// Waits until everything queued is done.
    ///
    /// # Errors
    /// Whatever went wrong in the queue since the last call.
    fn synchronize(&self, key: Key<'_>) -> Result<()> {
        let _ = key;
        Ok(())
    }

    /// Prepares a program for being computed many times.
    ///
    /// # Errors
    /// [`Error::NotOffered`] where that gains nothing.
    fn plan_create(&self, key: Key<'_>, program: &Program<'_>) -> Result<Raw> {
        let _ = (key, program);
        Err(Error::NotOffered { function: "plan_create" })
    }

    /// Gives a prepared program back.
    fn plan_free(&self, key: Key<'_>, plan: Key<'_>) {
        let _ = (key, plan);
    }

    /// Changes a prepared program to another of the same operations, faster than preparing anew.
    ///
    /// # Errors
    /// [`Error::NotOffered`].
    fn plan_update(&self, key: Key<'_>, plan: Key<'_>, program: &Program<'_>) -> Result<()> {
        let _ = (key, plan, program);
        Err(Error::NotOffered { function: "plan_update" })
    }

    /// Queues a prepared program.
    ///
    /// # Errors
    /// As [`compute`](Self::compute).
    fn plan_compute(&self, key: Key<'_>, plan: Key<'_>) -> Result<()> {
        let _ = (key, plan);
        Err(Error::NotOffered { function: "plan_compute" })
    }

    /// Queues the computation of the program's nodes in [`Program::range`], in order.
    ///
    /// # Callers
    /// The program's memory stays bound until `synchronize`.
    ///
    /// # Errors
    /// [`Error::Unsupported`] with the first node that the device has no kernel for; nothing need have been computed.
    fn compute(&self, key: Key<'_>, program: &Program<'_>) -> Result<()>;

    /// Computes a piece of a program: some nodes of its range from `next` on, at least one, in bounded time. Returns the
    /// first node that is still to do; the end of the range when there is none.
    ///
    /// # Implementors
    /// The default computes everything at once.
    ///
    /// # Errors
    /// As [`compute`](Self::compute).
    fn step(&self, key: Key<'_>, program: &Program<'_>, next: usize) -> Result<usize> {
        let range = program.range();
        if next == range.start {
            self.compute(key, program)?;
        }
        self.synchronize(key)?;
        Ok(range.end)
    }

    /// Bytes of scratch memory that computing this graph needs. The same number whatever the bindings.
    fn scratch(&self, key: Key<'_>, graph: Graph<'_>) -> usize {
        let _ = (key, graph);
        0
    }

    /// Queues a mark.
    ///
    /// # Callers
    /// The event belongs to the stream's device.
    ///
    /// # Errors
    /// [`Error::NotOffered`] where there are no events.
    fn event_record(&self, key: Key<'_>, event: Key<'_>) -> Result<()> {
        let _ = (key, event);
        Err(Error::NotOffered { function: "event_record" })
    }

    /// Makes later work of this stream wait for a mark of another stream of the same backend.
    ///
    /// # Errors
    /// [`Error::NotOffered`] where there are no events.
    fn event_wait(&self, key: Key<'_>, event: Key<'_>) -> Result<()> {
        let _ = (key, event);
        Err(Error::NotOffered { function: "event_wait" })
    }
}

/// A queue of work of one device; finished and given back when dropped. ggml calls it a *backend*.
pub struct Stream {
    pub(super) ops: &'static dyn StreamOps,
    device: &'static dyn Device,
    raw: Raw,
}

impl Stream {
    /// For backends: the handle for a stream that [`Device::open`] made.
    ///
    /// # Safety
    /// `ops` takes `raw` for a word of its own, and frees what it stands for once, at the handle's end.
    #[allow(unsafe_code)] // As `key_for`.
    pub unsafe fn new(ops: &'static dyn StreamOps, device: &'static dyn Device, raw: Raw) -> Self {
        Self::of(ops, device, raw)
    }

    /// For backends: the handle for a stream that needs no state of its own. Its word is [`Raw::NONE`].
    pub fn stateless(ops: &'static dyn StreamOps, device: &'static dyn Device) -> Self {
        Self::of(ops, device, Raw::NONE)
    }

    fn of(ops: &'static dyn StreamOps, device: &'static dyn Device, raw: Raw) -> Self {
        if let Some(live) = device.live() {
            live.streams.add();
        }
        Self { ops, device, raw }
    }

    pub(super) fn key(&self) -> Key<'_> {
        Key::of(&self.raw)
    }

    /// The backend's word, for the backend itself: `None` if other functions than `ops` drive the stream.
    ///
    /// # Safety
    /// The key is given to functions of `ops`'s own backend only, and to none that ends the stream.
    #[allow(unsafe_code)] // It declares a promise of the caller's, and does nothing unsafe itself.
    pub unsafe fn key_for(&self, ops: &dyn StreamOps) -> Option<Key<'_>> {
        core::ptr::addr_eq(self.ops, ops).then(|| self.key())
    }

    /// Short name of the kind of stream.
    pub fn name(&self) -> &str {
        self.ops.name()
    }

    /// Identity of the implementation.
    pub fn guid(&self) -> [u8; 16] {
        self.ops.guid()
    }

    /// The device.
    pub fn device(&self) -> &'static dyn Device {
        self.device
    }

    /// Bytes of scratch memory that computing this graph needs; pass them to the planner.
    pub fn scratch(&self, graph: Graph<'_>) -> usize {
        self.ops.scratch(self.key(), graph)
    }

    /// Queues the computation of a program.
    ///
    /// # Errors
    /// [`Error::Unsupported`], or what the device reports.
    pub fn compute(&self, program: &Program<'_>) -> Result<()> {
        self.ops.compute(self.key(), program)
    }

    /// Waits until everything queued is done.
    ///
    /// # Errors
    /// Whatever went wrong since the last call.
    pub fn synchronize(&self) -> Result<()> {
        self.ops.synchronize(self.key())
    }

    /// Computes a piece of a program from node `next` on, and says where to go on. For devices that wrap another one;
    /// [`begin`](Self::begin) keeps count for everyone else.
    ///
    /// # Errors
    /// As [`compute`](Self::compute).
    pub fn step(&self, program: &Program<'_>, next: usize) -> Result<usize> {
        self.ops.step(self.key(), program, next)
    }

    /// Starts a computation that is taken in steps with [`Run::poll`].
    pub fn begin<'a>(&'a self, program: &'a Program<'a>) -> Run<'a> {
        Run { stream: self, program, next: program.range().start }
    }

    /// Queues transfers of host memory that stay valid until the scope ends; at its end the stream is waited for, also
    /// when `f` fails.
    ///
    /// # Errors
    /// Those of `f`, else those of the wait.
    pub fn scope<'env, R>(&'env self, f: impl FnOnce(&Scope<'env>) -> Result<R>) -> Result<R> {
        let result = f(&Scope::of(self));
        let end = self.synchronize();
        let value = result?;
        end.map(|()| value)
    }

    /// Transfers of memory that lives as long as the program, without an end at which they are waited for:
    /// [`synchronize`](Self::synchronize) does that. For plug-ins, whose callers answer for the memory.
    pub fn transfers(&'static self) -> Scope<'static> {
        Scope::of(self)
    }

    /// Copies a tensor from memory that `from` works on to memory that this stream works on, in order with what both
    /// have queued. Queued if the devices can, else done on return.
    ///
    /// # Errors
    /// [`Error::Invalid`] for two tensors of different layout; as [`Buffer::copy_from`].
    pub fn copy(
        &self,
        from: &Stream,
        source: (&Buffer<'_>, Span<'_>),
        target: (&Buffer<'_>, Span<'_>),
    ) -> Result<()> {
        let len = target.0.check_copy(&target.1, source.0, &source.1)?;
        if len == 0 || self.ops.copy_async(self.key(), from, source, target)? {
            return Ok(());
        }
        from.synchronize()?;
        if self.upload(source, target, len)? {
            return Ok(());
        }
        self.synchronize()?;
        target.0.copy_from(target.1, source.0, source.1)
    }

    /// Stages a tensor of host memory, where the device can. The copy has been checked.
    fn upload(
        &self,
        source: (&Buffer<'_>, Span<'_>),
        target: (&Buffer<'_>, Span<'_>),
        len: usize,
    ) -> Result<bool> {
        let ((from, at), (to, to_at)) = (source, target);
        if from.host().is_none() {
            return Ok(false);
        }
        let mut piece = [0u8; PIECE];
        let mut done = 0;
        while done < len {
            let Some(part) = piece.get_mut(..(len - done).min(PIECE)) else { break };
            from.get(at, done, part)?;
            if !self.ops.upload(self.key(), to, to_at, done, part)? {
                // What is staged already is written once more.
                return Ok(false);
            }
            done += part.len();
        }
        Ok(true)
    }

    /// Prepares a program for being computed many times.
    ///
    /// # Errors
    /// [`Error::NotOffered`] where that gains nothing: use [`compute`](Self::compute).
    pub fn plan<'p>(&'p self, program: &'p Program<'_>) -> Result<Prepared<'p>> {
        Ok(Prepared { stream: self, raw: self.ops.plan_create(self.key(), program)? })
    }

    /// Queues a mark.
    ///
    /// # Errors
    /// [`Error::ForeignObject`] for an event of another device; [`Error::NotOffered`].
    pub fn record(&self, event: &Event) -> Result<()> {
        if !core::ptr::addr_eq(self.device, event.device()) {
            return Err(Error::ForeignObject { object: "event" });
        }
        self.ops.event_record(self.key(), event.key())
    }

    /// Makes later work wait for a mark. Where the event's device is another one, the host waits instead.
    ///
    /// # Errors
    /// What the devices report.
    pub fn wait(&self, event: &Event) -> Result<()> {
        if !core::ptr::addr_eq(self.device, event.device()) {
            return event.synchronize();
        }
        self.ops.event_wait(self.key(), event.key())
    }
}

impl core::fmt::Debug for Stream {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Stream")
            .field("name", &self.ops.name())
            .field("device", &self.device.name())
            .finish_non_exhaustive()
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.ops.free(Key::of(&self.raw));
        if let Some(live) = self.device.live() {
            live.streams.remove();
        }
    }
}

/// A program that a stream has prepared. It borrows the program, so that its memory stays bound.
#[derive(Debug)]
pub struct Prepared<'a> {
    stream: &'a Stream,
    raw: Raw,
}

impl<'a> Prepared<'a> {
    /// Queues it.
    ///
    /// # Errors
    /// As [`Stream::compute`].
    pub fn compute(&self) -> Result<()> {
        self.stream.ops.plan_compute(self.stream.key(), Key::of(&self.raw))
    }

    /// Changes it to another program of the same operations.
    ///
    /// # Errors
    /// [`Error::NotOffered`], or what the device reports.
    pub fn update(&mut self, program: &'a Program<'_>) -> Result<()> {
        self.stream.ops.plan_update(self.stream.key(), Key::of(&self.raw), program)
    }
}

impl Drop for Prepared<'_> {
    fn drop(&mut self) {
        self.stream.ops.plan_free(self.stream.key(), Key::of(&self.raw));
    }
}

/// A computation taken in steps.
#[derive(Debug)]
pub struct Run<'a> {
    stream: &'a Stream,
    program: &'a Program<'a>,
    next: usize,
}

impl Run<'_> {
    /// Computes a piece; `true` when all is done. On one core no piece takes longer than the slowest node.
    ///
    /// # Errors
    /// As [`Stream::compute`]. The run is over then.
    pub fn poll(&mut self) -> Result<bool> {
        let all = self.program.range().end;
        if self.next < all {
            match self.stream.ops.step(self.stream.key(), self.program, self.next) {
                Ok(n) => self.next = n,
                Err(e) => {
                    self.next = all;
                    return Err(e);
                }
            }
        }
        Ok(self.next >= all)
    }

    /// The first node that is still to do.
    pub fn next_node(&self) -> usize {
        self.next
    }
}
