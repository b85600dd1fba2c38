//! Command buffers in the making and under way.

use crate::buffer_type::{Piece, piece};
use crate::context::{Commands, Context, Pipeline, SharedEvent, failed, nothing};
use crate::memory::Block;
use crate::msl;
use dinrail_core::error::{Error, Result};
use dinrail_core::graph::{Node, NodeId};
use dinrail_core::program::Program;
use dinrail_wgsl::{Args, BINDINGS, Bound, Hazards, Job, Range};
use objc2::rc::Retained;
use objc2::runtime::ProtocolObject;
use objc2_metal::{
    MTLBarrierScope, MTLBlitCommandEncoder, MTLBuffer, MTLCommandBuffer, MTLCommandBufferStatus,
    MTLCommandEncoder, MTLComputeCommandEncoder, MTLDispatchType, MTLSize,
};
use std::ptr::NonNull;

/// Launches of a command buffer; then it is committed, so that the device may begin.
const LAUNCHES: usize = 128;

/// Waits for a command buffer.
pub fn finish(commands: &Commands) -> Result<()> {
    commands.waitUntilCompleted();
    if commands.status() == MTLCommandBufferStatus::Error {
        let error = commands.error();
        return Err(error.map_or(nothing("MTLCommandBuffer"), |e| failed("MTLCommandBuffer", &e)));
    }
    Ok(())
}

/// Records a copy between blocks, in ranges that lie inside them and don't overlap.
pub fn blit(
    encoder: &ProtocolObject<dyn MTLBlitCommandEncoder>,
    from: (&Block, usize),
    to: (&Block, usize),
    len: usize,
) {
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

/// A node's launch, ready to be encoded any number of times. Holds the buffers.
pub struct Step {
    pipeline: Pipeline,
    groups: [u32; 2],
    threads: u32,
    args: Args,
    bindings: Vec<(Retained<ProtocolObject<dyn MTLBuffer>>, usize)>,
    ranges: [Range; BINDINGS],
}

impl Step {
    /// The launch of a node; none for views and for nodes without elements.
    pub fn new(
        context: &Context,
        program: &Program<'_>,
        id: NodeId,
        node: &Node,
    ) -> Result<Option<Self>> {
        let room = |b| piece(b, context).map(Piece::room);
        let mut job = Job::default();
        if !job.fill(program, id, node, &context.limits, room)? {
            return Ok(None);
        }
        let mut ranges = [Range { buffer: 0, start: 0, end: 0 }; BINDINGS];
        let touched = job.writes().iter().chain(job.reads());
        ranges.iter_mut().zip(touched).for_each(|(r, t)| *r = *t);
        let held = |b: &Bound<Option<&Piece>>| {
            b.handle.map(|piece| (piece.block.buffer().clone(), b.offset as usize))
        };
        let bindings = job.bound().iter().map(held).collect::<Option<_>>();
        Ok(Some(Self {
            pipeline: context.pipeline(job.launch.kernel)?,
            groups: job.launch.groups,
            threads: job.launch.kernel().family.workgroup(),
            args: job.launch.args,
            bindings: bindings.ok_or(Error::NotFound)?,
            ranges,
        }))
    }

    /// The launches of a program.
    pub fn all(context: &Context, program: &Program<'_>) -> Result<Vec<Self>> {
        let steps = program.nodes().map(|(id, node)| Self::new(context, program, id, node));
        steps.filter_map(Result::transpose).collect()
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

/// What a stream has recorded and committed.
pub struct Recorder {
    commands: Option<Commands>,
    encoder: Encoder,
    launches: usize,
    hazards: Hazards,
    fetches: Vec<Fetch>,
    committed: Vec<Commands>,
    /// What went wrong where the stream's user wasn't told.
    pub failed: Option<Error>,
}

// SAFETY: encoders and command buffers are used by one thread at a time, behind the stream's lock; fetches' addresses
// are those of memory that callers lend until they synchronise.
unsafe impl Send for Recorder {}

impl Recorder {
    /// With nothing recorded.
    pub fn new() -> Self {
        Self {
            commands: None,
            encoder: Encoder::None,
            launches: 0,
            hazards: Hazards::default(),
            fetches: Vec::new(),
            committed: Vec::new(),
            failed: None,
        }
    }

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

    /// Commits what was recorded.
    pub fn commit(&mut self) {
        self.end();
        self.launches = 0;
        if let Some(c) = self.commands.take() {
            c.commit();
            self.committed.push(c);
        }
    }

    /// Records a launch.
    pub fn launch(&mut self, context: &Context, step: &Step) -> Result<()> {
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
        let sizes = [u32::MAX; BINDINGS + 1];
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

    /// A [`blit`] behind what was recorded so far.
    pub fn copy(
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
            blit(encoder, from, to, len);
        }
        Ok(())
    }

    /// Records a copy to shared memory, which is copied on to `target` when the commands are done.
    pub fn fetch(
        &mut self,
        context: &Context,
        from: (&Block, usize),
        target: *mut u8,
        len: usize,
    ) -> Result<()> {
        let block = Block::take(context, len, true)?;
        self.copy(context, from, (&block, 0), len)?;
        self.fetches.push(Fetch { block, target, len });
        Ok(())
    }

    /// Records that `event` reaches `value` when everything so far is done; commits, and returns the command buffer.
    pub fn signal(
        &mut self,
        context: &Context,
        event: &SharedEvent,
        value: u64,
    ) -> Result<Commands> {
        self.end();
        let commands = self.commands(context)?;
        commands.encodeSignalEvent_value(ProtocolObject::from_ref(&**event), value);
        self.commit();
        Ok(commands)
    }

    /// Records that what follows waits until `event` has reached `value`.
    pub fn await_event(
        &mut self,
        context: &Context,
        event: &SharedEvent,
        value: u64,
    ) -> Result<()> {
        self.end();
        let commands = self.commands(context)?;
        commands.encodeWaitForEvent_value(ProtocolObject::from_ref(&**event), value);
        Ok(())
    }

    /// Commits, waits for everything and delivers what was fetched.
    pub fn settle(&mut self) -> Result<()> {
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
