//! A command buffer with what its commands need: descriptor sets, arguments, staging memory.

use crate::buffer_type::{self, Piece};
use crate::context::Context;
use crate::memory::{Block, Place};
use crate::transfer::{barrier_after, barrier_before, region};
use ash::vk;
use dinrail_core::error::{Error, Result};
use dinrail_core::graph::{Node, NodeId};
use dinrail_core::program::Program;
use dinrail_wgsl::{Args, BINDINGS, Bound, Hazards, Job, LAUNCHES as SHEET, Range};

/// Launches that one command buffer has room for: two sheets of arguments.
pub const LAUNCHES: usize = 2 * SHEET;

/// What the bindings behind the arguments are bound to.
type Bindings = [Bound<vk::Buffer>; BINDINGS];

/// Staging memory that is kept for small transfers.
const SMALL: u64 = 64 << 10;

/// Where a part of staging memory must be copied to when the commands are done.
struct Fetch {
    /// Which of the staging blocks; `None` for the small one.
    block: Option<usize>,
    offset: u64,
    target: *mut u8,
    len: usize,
}

// SAFETY: the address is that of memory which the caller of an asynchronous copy lends until it synchronises.
unsafe impl Send for Fetch {}

// One bit for each set of a sheet.
const _: () = assert!(SHEET == u64::BITS as usize);

/// A command buffer in the making, submitted, or ready to be used again. Given back when dropped; whoever drops it has
/// seen to it that the queue is done with it.
pub struct Recorder {
    context: &'static Context,
    pool: vk::CommandPool,
    commands: vk::CommandBuffer,
    sets_pool: vk::DescriptorPool,
    /// Descriptor sets, and what they were last written for: as many for each sheet of arguments as it has launches. They
    /// stay as they are when commands are recorded anew.
    sets: Vec<(vk::DescriptorSet, Bindings)>,
    /// Which of the sheet's sets the commands use, as bits.
    taken: u64,
    args: Option<Block>,
    used: usize,
    /// The launch being recorded.
    job: Job<vk::Buffer>,
    hazards: Hazards,
    /// The pipeline that is bound.
    pipeline: vk::Pipeline,
    /// The descriptor set that is bound.
    set: Option<usize>,
    open: bool,
    /// To be submitted many times.
    again: bool,
    small: Option<Block>,
    small_used: u64,
    staging: Vec<Block>,
    fetches: Vec<Fetch>,
    /// The submission that it was part of.
    pub value: u64,
}

/// A place in staging memory.
struct Staged {
    buffer: vk::Buffer,
    block: Option<usize>,
    offset: u64,
}

impl Recorder {
    /// A new one; for commands that are submitted once, or `again` and again.
    pub fn new(context: &'static Context, again: bool) -> Result<Self> {
        let mut this = Self {
            context,
            pool: vk::CommandPool::null(),
            commands: vk::CommandBuffer::null(),
            sets_pool: vk::DescriptorPool::null(),
            sets: Vec::new(),
            taken: 0,
            args: None,
            used: 0,
            job: Job::default(),
            hazards: Hazards::default(),
            pipeline: vk::Pipeline::null(),
            set: None,
            open: false,
            again,
            small: None,
            small_used: 0,
            staging: Vec::new(),
            fetches: Vec::new(),
            value: 0,
        };
        let api = &context.api;
        let info = vk::CommandPoolCreateInfo::default().queue_family_index(context.physical.family);
        this.pool = api.create_command_pool(&info)?;
        let info = vk::CommandBufferAllocateInfo::default()
            .command_pool(this.pool)
            .command_buffer_count(1);
        this.commands = api.allocate_command_buffers(&info)?.first().copied().unwrap_or_default();
        let size = |ty, n: usize| {
            vk::DescriptorPoolSize::default().ty(ty).descriptor_count((n * LAUNCHES) as u32)
        };
        let sizes =
            [size(context.arguments(), 1), size(vk::DescriptorType::STORAGE_BUFFER, BINDINGS)];
        let info =
            vk::DescriptorPoolCreateInfo::default().max_sets(LAUNCHES as u32).pool_sizes(&sizes);
        this.sets_pool = api.create_descriptor_pool(&info)?;
        let layouts = [context.set_layout(); LAUNCHES];
        let info = vk::DescriptorSetAllocateInfo::default()
            .descriptor_pool(this.sets_pool)
            .set_layouts(&layouts);
        let sets = api.allocate_sets(&info)?;
        let sheet = (SHEET * Args::BYTES) as u64;
        let size = sheet * (LAUNCHES / SHEET) as u64;
        let near = context.take(size, Place::Shared);
        let args = near.or_else(|_| context.take(size, Place::Host))?;
        let infos: Vec<_> = (0..sets.len())
            .map(|i| {
                let offset = (i / SHEET) as u64 * sheet;
                [vk::DescriptorBufferInfo::default()
                    .buffer(args.buffer)
                    .offset(offset)
                    .range(sheet)]
            })
            .collect();
        this.args = Some(args);
        // Arguments never move, so their descriptors are written once.
        let writes: Vec<_> = sets
            .iter()
            .zip(&infos)
            .map(|(set, info)| {
                vk::WriteDescriptorSet::default()
                    .dst_set(*set)
                    .dst_binding(0)
                    .descriptor_type(context.arguments())
                    .buffer_info(info)
            })
            .collect();
        api.update_sets(&writes);
        this.sets = sets.into_iter().map(|set| (set, Bindings::default())).collect();
        Ok(this)
    }

    /// The command buffer, to be submitted.
    pub fn commands(&self) -> vk::CommandBuffer {
        self.commands
    }

    /// Whether another launch fits.
    pub fn has_room(&self) -> bool {
        self.used < LAUNCHES
    }

    /// Bytes of staging memory that were taken for large transfers.
    pub fn staged(&self) -> u64 {
        self.staging.iter().map(|b| b.size).sum()
    }

    /// Starts recording, if it hasn't started.
    pub fn begin(&mut self) -> Result<()> {
        if self.open {
            return Ok(());
        }
        self.context.api.reset_command_pool(self.pool)?;
        let flags = if self.again {
            vk::CommandBufferUsageFlags::SIMULTANEOUS_USE
        } else {
            vk::CommandBufferUsageFlags::ONE_TIME_SUBMIT
        };
        self.context
            .api
            .begin(self.commands, &vk::CommandBufferBeginInfo::default().flags(flags))?;
        barrier_before(self.context, self.commands);
        (self.pipeline, self.set) = (vk::Pipeline::null(), None);
        self.open = true;
        Ok(())
    }

    /// Ends recording; `false` if nothing was recorded.
    pub fn end(&mut self) -> Result<bool> {
        if !std::mem::take(&mut self.open) {
            return Ok(false);
        }
        barrier_after(self.context, self.commands);
        self.context.api.end(self.commands)?;
        Ok(true)
    }

    /// Makes it ready to be recorded again, after what it held was done or given up.
    pub fn clear(&mut self) {
        self.used = 0;
        self.taken = 0;
        self.small_used = 0;
        self.open = false;
        self.hazards.clear();
        self.fetches.clear();
        for block in self.staging.drain(..) {
            self.context.release(block);
        }
    }

    /// Copies what was fetched to where callers want it. The commands are done.
    pub fn deliver(&mut self) {
        for f in self.fetches.drain(..) {
            let block = match f.block {
                None => self.small.as_ref(),
                Some(i) => self.staging.get(i),
            };
            if let Some(block) = block {
                // SAFETY: the caller of the asynchronous copy lends the memory until it has synchronised.
                unsafe { block.read(f.offset, f.target, f.len) };
            }
        }
    }

    fn order(&mut self, reads: &[Range], writes: &[Range]) {
        if self.hazards.meets(reads, writes) {
            barrier_before(self.context, self.commands);
        }
    }

    /// Records one node; nothing for views and for nodes without elements.
    pub fn node(&mut self, program: &Program<'_>, id: NodeId, node: &Node) -> Result<()> {
        let context = self.context;
        let room = |b| buffer_type::piece(b, context).map(Piece::room);
        if !self.job.fill(program, id, node, &context.limits, room)? {
            return Ok(());
        }
        let pipeline = context.pipeline(self.job.launch.kernel)?;
        self.begin()?;
        let (api, commands) = (&context.api, self.commands);
        if self.hazards.meets(self.job.reads(), self.job.writes()) {
            barrier_before(context, commands);
        }
        let at = (self.used * Args::BYTES) as u64;
        if !self.args.as_ref().is_some_and(|a| a.write(at, &self.job.launch.args.bytes())) {
            return Err(Error::NotHost);
        }
        if self.pipeline != pipeline {
            api.bind_pipeline(commands, pipeline);
            self.pipeline = pipeline;
        }
        self.bind()?;
        api.dispatch(commands, self.job.launch.groups, (self.used % SHEET) as u32);
        self.used += 1;
        Ok(())
    }

    /// Binds what the launch needs, if it isn't bound.
    fn bind(&mut self) -> Result<()> {
        let (sheet, bound) = (self.used / SHEET * SHEET, self.job.bound());
        if self.used == sheet {
            (self.taken, self.set) = (0, None);
        }
        let suits = |i: usize| self.sets.get(i).is_some_and(|s| s.1.starts_with(bound));
        if self.set.is_some_and(suits) {
            return Ok(());
        }
        let found = (sheet..sheet + SHEET).find(|i| suits(*i));
        // There are as many as launches, so one is free.
        let i = found.unwrap_or(sheet + self.taken.trailing_ones() as usize);
        let (set, written) = self.sets.get_mut(i).ok_or(Error::NotFound)?;
        if found.is_none() {
            // What the kernel doesn't use is bound to the result: the set will suit others that do.
            *written = [bound.first().copied().unwrap_or_default(); BINDINGS];
            written.iter_mut().zip(bound).for_each(|(w, b)| *w = *b);
            let infos = written.map(|b| vk::DescriptorBufferInfo {
                buffer: b.handle,
                offset: b.offset,
                range: b.len,
            });
            self.context.api.update_set(*set, self.context.template(), &infos);
        }
        self.context.api.bind_set(self.commands, self.context.layout(), *set);
        self.taken |= 1 << (i - sheet);
        self.set = Some(i);
        Ok(())
    }

    /// Takes a place in staging memory.
    fn stage(&mut self, len: u64) -> Result<Staged> {
        if len <= SMALL {
            if self.small.is_none() {
                self.small = Some(self.context.take(SMALL, Place::Host)?);
            }
            let offset = self.small_used.next_multiple_of(16);
            if let Some(small) = self.small.as_ref().filter(|_| offset + len <= SMALL) {
                self.small_used = offset + len;
                return Ok(Staged { buffer: small.buffer, block: None, offset });
            }
        }
        let block = self.context.take(len, Place::Host)?;
        let buffer = block.buffer;
        self.staging.push(block);
        Ok(Staged { buffer, block: Some(self.staging.len() - 1), offset: 0 })
    }

    /// Records a copy of host bytes, which are read at once.
    pub fn set(&mut self, to: &Piece, offset: u64, data: &[u8]) -> Result<()> {
        let len = data.len() as u64;
        self.begin()?;
        let staged = self.stage(len)?;
        let block = match staged.block {
            None => self.small.as_ref(),
            Some(i) => self.staging.get(i),
        };
        if !block.is_some_and(|b| b.write(staged.offset, data)) {
            return Err(Error::NotHost);
        }
        self.order(&[], &[to.range(offset, len)]);
        let regions = [region(staged.offset, offset + to.block.skip, len)];
        self.context.api.copy_buffer(self.commands, staged.buffer, to.block.buffer, &regions);
        Ok(())
    }

    /// Records a copy to host bytes, which [`deliver`](Self::deliver) writes.
    pub fn get(&mut self, from: &Piece, offset: u64, target: *mut u8, len: usize) -> Result<()> {
        self.begin()?;
        let staged = self.stage(len as u64)?;
        self.order(&[from.range(offset, len as u64)], &[]);
        let regions = [region(offset + from.block.skip, staged.offset, len as u64)];
        self.context.api.copy_buffer(self.commands, from.block.buffer, staged.buffer, &regions);
        self.fetches.push(Fetch { block: staged.block, offset: staged.offset, target, len });
        Ok(())
    }

    /// Records a copy between pieces that don't overlap.
    pub fn copy(&mut self, from: (&Piece, u64), to: (&Piece, u64), len: u64) -> Result<()> {
        self.begin()?;
        self.order(&[from.0.range(from.1, len)], &[to.0.range(to.1, len)]);
        let regions = [region(from.1 + from.0.block.skip, to.1 + to.0.block.skip, len)];
        self.context.api.copy_buffer(
            self.commands,
            from.0.block.buffer,
            to.0.block.buffer,
            &regions,
        );
        Ok(())
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.clear();
        let blocks = self.small.take().into_iter().chain(self.args.take());
        blocks.for_each(|b| self.context.release(b));
        self.context.api.destroy_descriptor_pool(self.sets_pool);
        self.context.api.destroy_command_pool(self.pool);
    }
}
