//! Streams: command buffers on the device's one queue, where the order of committing is the order of work.
//!
//! Buffers are tracked by Metal, which orders encoders and command buffers that touch the same one; within an encoder,
//! which launches concurrently, barriers come where `Hazards` says so.

use crate::buffer_type::piece;
use crate::context::{Commands, Context, Pipeline, failed, lock, nothing};
use crate::device::Device;
use crate::memory::Block;
use crate::msl;
use dinrail_core::error::{Error, Result};
use dinrail_core::graph::{Node, NodeId};
use dinrail_core::hal::{self, Buffer, Key, Query, Raw, Span, StreamOps};
use dinrail_core::program::Program;
use dinrail_wgsl::{Args, Hazards, Range, launch};
use objc2::rc::{Retained, autoreleasepool};
use objc2::runtime::ProtocolObject;
use objc2_metal::{
    MTLBarrierScope, MTLBlitCommandEncoder, MTLBuffer, MTLCommandBuffer, MTLCommandBufferStatus,
    MTLCommandEncoder, MTLComputeCommandEncoder, MTLDispatchType, MTLSize,
};
use std::ptr::NonNull;
use std::sync::{Arc, Mutex};

/// Launches of a command buffer; then it is committed, so that the device may begin.
const LAUNCHES: usize = 128;

/// Bindings of a kernel beside its arguments.
const BINDINGS: usize = 6;

/// Waits for a command buffer.
pub fn finish(commands: &Commands) -> Result<()> {
    commands.waitUntilCompleted();
    if commands.status() == MTLCommandBufferStatus::Error {
        let error = commands.error();
        return Err(error.map_or(nothing("MTLCommandBuffer"), |e| failed("MTLCommandBuffer", &e)));
    }
    Ok(())
}

/// A committed command buffer.
struct Committed(Commands);

// SAFETY: once committed, a command buffer is only waited for, which any thread may do.
unsafe impl Send for Committed {}

/// An event: the command buffer to wait for.
#[derive(Default)]
pub struct Mark(Mutex<Option<Committed>>);

impl Mark {
    /// An event's mark.
    pub fn of<'a>(key: Key<'a>) -> &'a Self {
        // SAFETY: events' keys point to what `event_new` made, alive as long as the handle.
        unsafe { &*key.pointer::<Self>() }
    }

    /// Waits for it.
    pub fn wait(&self) -> Result<()> {
        let commands = lock(&self.0).as_ref().map(|c| c.0.clone());
        commands.map_or(Ok(()), |c| finish(&c))
    }
}

/// A node's launch, ready to be encoded any number of times. Holds the buffers.
struct Step {
    pipeline: Pipeline,
    groups: [u32; 2],
    threads: u32,
    args: Args,
    bindings: Vec<(Retained<ProtocolObject<dyn MTLBuffer>>, usize)>,
    ranges: [Range; BINDINGS],
}

impl Step {
    /// The launch of a node; none for views and for nodes without elements.
    fn of(
        context: &Context,
        program: &Program<'_>,
        id: NodeId,
        node: &Node,
    ) -> Result<Option<Self>> {
        if node.op.is_view() || node.desc.is_empty() {
            return Ok(None);
        }
        let sources = Query::sources(program.graph(), id);
        let mut work = launch(&Query::of(node, &sources), &context.limits)
            .ok_or(Error::Unsupported { node: id, op: node.op.kind() })?;
        if work.groups[0] == 0 {
            return Ok(None);
        }
        let mut bindings = Vec::with_capacity(BINDINGS);
        let mut ranges = [Range { buffer: 0, start: 0, end: 0 }; BINDINGS];
        for (i, range) in ranges.iter_mut().enumerate().take(usize::from(work.count) + 1) {
            let source = match i {
                0 => None,
                _ => work.sources.get(i - 1).and_then(|s| node.source(usize::from(*s))),
            };
            // What a kernel doesn't read is bound to the result.
            let there = |id: &NodeId| program.graph().node(*id).is_some_and(|n| !n.desc.is_empty());
            let of = source.filter(there).unwrap_or(id);
            let desc = program.graph().node(of).map(|n| &n.desc).ok_or(Error::NotFound)?;
            let (buffer, offset) = program.place(of).ok_or(Error::NotFound)?;
            let p = piece(buffer, context)?;
            let start = p.block.skip + offset;
            let bound = start / context.limits.alignment * context.limits.alignment;
            work.args.move_by(i, (start - bound) as u32);
            bindings.push((p.block.buffer().clone(), bound));
            *range = p.range(offset, desc.bytes());
        }
        Ok(Some(Self {
            pipeline: context.pipeline(work.kernel)?,
            groups: work.groups,
            threads: work.kernel().family.workgroup(),
            args: work.args,
            bindings,
            ranges,
        }))
    }
}

/// The encoder that is open.
enum Encoder {
    None,
    Compute(Retained<ProtocolObject<dyn MTLComputeCommandEncoder>>),
    Blit(Retained<ProtocolObject<dyn MTLBlitCommandEncoder>>),
}

/// Where shared memory must be copied to when the commands are done.
struct Fetch {
    block: Block,
    target: *mut u8,
    len: usize,
}

struct Inner {
    commands: Option<Commands>,
    encoder: Encoder,
    launches: usize,
    hazards: Hazards,
    fetches: Vec<Fetch>,
    committed: Vec<Commands>,
    failed: Option<Error>,
}

// SAFETY: encoders and command buffers are used by one thread at a time, behind the stream's lock; fetches' addresses
// are those of memory that callers lend until they synchronise.
unsafe impl Send for Inner {}

impl Inner {
    fn commands(&mut self, context: &Context) -> Result<Commands> {
        if self.commands.is_none() {
            self.commands = Some(context.commands()?);
        }
        self.commands.clone().ok_or(nothing("commandBuffer"))
    }

    fn end(&mut self) {
        match std::mem::replace(&mut self.encoder, Encoder::None) {
            Encoder::None => {}
            Encoder::Compute(e) => e.endEncoding(),
            Encoder::Blit(e) => e.endEncoding(),
        }
        self.hazards.clear();
    }

    fn commit(&mut self) {
        self.end();
        self.launches = 0;
        if let Some(c) = self.commands.take() {
            c.commit();
            self.committed.push(c);
        }
    }

    fn launch(&mut self, context: &Context, step: &Step) -> Result<()> {
        if self.launches == LAUNCHES {
            self.commit();
        }
        if !matches!(self.encoder, Encoder::Compute(_)) {
            self.end();
            let made = self
                .commands(context)?
                .computeCommandEncoderWithDispatchType(MTLDispatchType::Concurrent);
            self.encoder = Encoder::Compute(made.ok_or(nothing("computeCommandEncoder"))?);
        }
        let Encoder::Compute(encoder) = &self.encoder else { return Ok(()) };
        let (writes, reads) = step.ranges.split_at(1);
        let reads = reads.get(..step.bindings.len() - 1).unwrap_or(&[]);
        if self.hazards.meets(reads, writes) {
            encoder.memoryBarrierWithScope(MTLBarrierScope::Buffers);
        }
        encoder.setComputePipelineState(&step.pipeline);
        let words = step.args.words();
        // SAFETY: the words outlive the call, which copies them.
        unsafe { encoder.setBytes_length_atIndex(NonNull::from(words).cast(), Args::BYTES, 0) };
        let sizes = [u32::MAX; BINDINGS];
        // SAFETY: as above.
        unsafe {
            encoder.setBytes_length_atIndex(
                NonNull::from(&sizes).cast(),
                size_of_val(&sizes),
                msl::SIZES,
            )
        };
        for (i, (buffer, offset)) in step.bindings.iter().enumerate() {
            // SAFETY: the tensor lies inside the buffer from this offset on.
            unsafe { encoder.setBuffer_offset_atIndex(Some(buffer), *offset, i + 1) };
        }
        let [x, y] = step.groups.map(|n| n as usize);
        encoder.dispatchThreadgroups_threadsPerThreadgroup(
            MTLSize { width: x, height: y, depth: 1 },
            MTLSize { width: step.threads as usize, height: 1, depth: 1 },
        );
        self.launches += 1;
        Ok(())
    }

    fn copy(
        &mut self,
        context: &Context,
        from: (&Block, usize),
        to: (&Block, usize),
        len: usize,
    ) -> Result<()> {
        if !matches!(self.encoder, Encoder::Blit(_)) {
            self.end();
            let made = self.commands(context)?.blitCommandEncoder();
            self.encoder = Encoder::Blit(made.ok_or(nothing("blitCommandEncoder"))?);
        }
        if let Encoder::Blit(encoder) = &self.encoder {
            // SAFETY: both ranges lie inside their buffers, as core has checked, and don't overlap.
            unsafe {
                encoder.copyFromBuffer_sourceOffset_toBuffer_destinationOffset_size(
                    from.0.buffer(),
                    from.0.skip + from.1,
                    to.0.buffer(),
                    to.0.skip + to.1,
                    len,
                )
            };
        }
        Ok(())
    }

    /// Commits, waits for everything and delivers what was fetched.
    fn settle(&mut self) -> Result<()> {
        self.commit();
        let mut result = Ok(());
        for c in self.committed.drain(..) {
            result = result.and(finish(&c));
        }
        for f in self.fetches.drain(..) {
            if result.is_ok() {
                // SAFETY: the caller of the asynchronous copy lends the memory until it has synchronised.
                unsafe { f.block.read(0, f.target, f.len) };
            }
        }
        result
    }
}

/// A stream's state.
pub struct Stream {
    device: &'static Device,
    context: &'static Context,
    inner: Mutex<Inner>,
}

impl Stream {
    /// An empty stream.
    pub fn new(device: &'static Device, context: &'static Context) -> Self {
        let inner = Inner {
            commands: None,
            encoder: Encoder::None,
            launches: 0,
            hazards: Hazards::default(),
            fetches: Vec::new(),
            committed: Vec::new(),
            failed: None,
        };
        Self { device, context, inner: Mutex::new(inner) }
    }

    fn of<'a>(key: Key<'a>) -> &'a Self {
        // SAFETY: streams' keys point to what `Device::open` made, alive as long as the handle.
        unsafe { &*key.pointer::<Self>() }
    }

    fn run<R>(&self, work: impl FnOnce(&Context, &mut Inner) -> Result<R>) -> Result<R> {
        let mut inner = lock(&self.inner);
        autoreleasepool(|_| work(self.context, &mut inner))
    }

    /// Waits for the stream's work. An error is also kept for the stream's own user.
    pub fn settle(&self) -> Result<()> {
        self.run(|_, inner| inner.settle().inspect_err(|e| inner.failed = Some(*e)))
    }
}

/// A prepared program: its launches.
struct Plan(Vec<Step>);

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
            let block = Block::take(context, len, true)?;
            inner.copy(context, (&from.block, at.offset + offset), (&block, 0), len)?;
            inner.fetches.push(Fetch { block, target, len });
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
        let Some(other) = from.key_for(self).map(Stream::of) else { return Ok(false) };
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
        Stream::of(key).run(|context, _| {
            let mut steps = Vec::new();
            for (id, node) in program.nodes() {
                steps.extend(Step::of(context, program, id, node)?);
            }
            Ok(Raw::pointer(Box::into_raw(Box::new(Plan(steps)))))
        })
    }

    fn plan_free(&self, _key: Key<'_>, plan: Key<'_>) {
        // SAFETY: made by `plan_create`, and given back once.
        drop(unsafe { Box::from_raw(plan.pointer::<Plan>()) });
    }

    fn plan_compute(&self, key: Key<'_>, plan: Key<'_>) -> Result<()> {
        // SAFETY: plans' keys point to what `plan_create` made, alive as long as the handle.
        let plan = unsafe { &*plan.pointer::<Plan>() };
        Stream::of(key).run(|context, inner| {
            plan.0.iter().try_for_each(|step| inner.launch(context, step))?;
            inner.commit();
            Ok(())
        })
    }

    fn compute(&self, key: Key<'_>, program: &Program<'_>) -> Result<()> {
        Stream::of(key).run(|context, inner| {
            for (id, node) in program.nodes() {
                if let Some(step) = Step::of(context, program, id, node)? {
                    inner.launch(context, &step)?;
                }
            }
            inner.commit();
            Ok(())
        })
    }

    fn event_record(&self, key: Key<'_>, event: Key<'_>) -> Result<()> {
        Stream::of(key).run(|context, inner| {
            // A command buffer of its own if nothing is open: it ends behind all that was committed before.
            inner.commands(context)?;
            inner.commit();
            *lock(&Mark::of(event).0) = inner.committed.last().cloned().map(Committed);
            Ok(())
        })
    }

    fn event_wait(&self, _key: Key<'_>, _event: Key<'_>) -> Result<()> {
        // What was marked is committed, and the queue keeps the order.
        Ok(())
    }
}
