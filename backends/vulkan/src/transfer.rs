//! Copies that are done on return, for memory that isn't mapped.

use crate::context::{Context, lock};
use crate::memory::{Block, Place};
use ash::vk;
use dinrail_core::error::{Error, Result};
use dinrail_core::hal::Rows;

/// Bytes that go through the staging memory at once.
const PIECE: u64 = 4 << 20;

/// Staging memory and a command buffer, made when first needed.
#[derive(Default)]
pub struct Transfer {
    staging: Option<Block>,
    pool: vk::CommandPool,
    commands: vk::CommandBuffer,
}

impl Transfer {
    fn prepare(&mut self, context: &Context) -> Result<()> {
        use vk::Handle;
        if self.commands.is_null() {
            if self.pool.is_null() {
                let info = vk::CommandPoolCreateInfo::default()
                    .flags(vk::CommandPoolCreateFlags::TRANSIENT)
                    .queue_family_index(context.physical.family);
                self.pool = context.api.create_command_pool(&info)?;
            }
            let info = vk::CommandBufferAllocateInfo::default()
                .command_pool(self.pool)
                .command_buffer_count(1);
            let made = context.api.allocate_command_buffers(&info)?;
            self.commands = made.first().copied().unwrap_or_default();
        }
        if self.staging.is_none() {
            self.staging = Some(context.take(PIECE, Place::Host)?);
        }
        Ok(())
    }

    /// Records with `record`, submits and waits.
    fn run(
        &mut self,
        context: &Context,
        record: impl FnOnce(&Context, vk::CommandBuffer, vk::Buffer),
    ) -> Result<()> {
        let staging = self.staging.as_ref().map_or(vk::Buffer::null(), |s| s.buffer);
        context.api.reset_command_pool(self.pool)?;
        let info = vk::CommandBufferBeginInfo::default()
            .flags(vk::CommandBufferUsageFlags::ONE_TIME_SUBMIT);
        context.api.begin(self.commands, &info)?;
        barrier_before(context, self.commands);
        record(context, self.commands, staging);
        barrier_after(context, self.commands);
        context.api.end(self.commands)?;
        let value = context.submit(&[self.commands])?;
        let done = context.wait(value);
        if done.is_err() {
            context.settle(value);
        }
        done
    }

    /// Gives everything back. Nothing of it is in use.
    pub fn release(self, context: &Context) {
        if let Some(s) = self.staging {
            context.release(s);
        }
        context.api.destroy_command_pool(self.pool);
    }
}

const COMPUTE_AND_COPY: vk::PipelineStageFlags = vk::PipelineStageFlags::from_raw(
    vk::PipelineStageFlags::COMPUTE_SHADER.as_raw() | vk::PipelineStageFlags::TRANSFER.as_raw(),
);

/// Makes everything that was submitted or recorded before visible to what follows.
pub fn barrier_before(context: &Context, commands: vk::CommandBuffer) {
    use vk::AccessFlags as A;
    let written = A::SHADER_WRITE | A::TRANSFER_WRITE;
    let used = A::SHADER_READ | A::SHADER_WRITE | A::TRANSFER_READ | A::TRANSFER_WRITE;
    context.api.barrier(commands, [COMPUTE_AND_COPY; 2], [written, used]);
}

/// Makes everything visible to the host, once the submission is done.
pub fn barrier_after(context: &Context, commands: vk::CommandBuffer) {
    use vk::AccessFlags as A;
    let stages = [COMPUTE_AND_COPY, vk::PipelineStageFlags::HOST];
    let access = [A::SHADER_WRITE | A::TRANSFER_WRITE, A::HOST_READ | A::HOST_WRITE];
    context.api.barrier(commands, stages, access);
}

/// One region.
pub fn region(source: u64, target: u64, size: u64) -> vk::BufferCopy {
    vk::BufferCopy::default().src_offset(source).dst_offset(target).size(size)
}

fn lost(size: u64) -> Error {
    Error::Range {
        offset: 0,
        len: usize::try_from(size).unwrap_or(usize::MAX),
        size: PIECE as usize,
    }
}

impl Context {
    /// Copies bytes to a block, behind everything submitted before.
    pub fn upload(&self, to: &Block, offset: u64, data: &[u8]) -> Result<()> {
        let mut transfer = lock(&self.transfer);
        transfer.prepare(self)?;
        let mut at = offset + to.skip;
        for piece in data.chunks(PIECE as usize) {
            let size = piece.len() as u64;
            if !transfer.staging.as_ref().is_some_and(|s| s.write(0, piece)) {
                return Err(lost(size));
            }
            transfer.run(self, |c, commands, staging| {
                c.api.copy_buffer(commands, staging, to.buffer, &[region(0, at, size)]);
            })?;
            at += size;
        }
        Ok(())
    }

    /// [`upload`](Self::upload) for rows at distances.
    pub fn upload_rows(&self, to: &Block, offset: u64, rows: Rows, data: &[u8]) -> Result<()> {
        let per_piece = PIECE as usize / rows.len.max(1);
        if per_piece == 0 {
            for i in 0..rows.count {
                let row = data.get(i * rows.host_stride..).and_then(|d| d.get(..rows.len));
                self.upload(to, offset + (i * rows.stride) as u64, row.unwrap_or(&[]))?;
            }
            return Ok(());
        }
        let mut transfer = lock(&self.transfer);
        transfer.prepare(self)?;
        let mut next = 0;
        while next < rows.count {
            let n = per_piece.min(rows.count - next);
            let mut regions = Vec::with_capacity(n);
            for i in 0..n {
                let row = data.get((next + i) * rows.host_stride..).and_then(|d| d.get(..rows.len));
                let at = (i * rows.len) as u64;
                let staging = transfer.staging.as_ref();
                if !staging.is_some_and(|s| s.write(at, row.unwrap_or(&[]))) {
                    return Err(lost(rows.len as u64));
                }
                let target = offset + to.skip + ((next + i) * rows.stride) as u64;
                regions.push(region(at, target, rows.len as u64));
            }
            transfer.run(self, |c, commands, staging| {
                c.api.copy_buffer(commands, staging, to.buffer, &regions);
            })?;
            next += n;
        }
        Ok(())
    }

    /// Copies bytes from a block, behind everything submitted before.
    pub fn download(&self, from: &Block, offset: u64, data: &mut [u8]) -> Result<()> {
        let mut transfer = lock(&self.transfer);
        transfer.prepare(self)?;
        let mut at = offset + from.skip;
        for piece in data.chunks_mut(PIECE as usize) {
            let size = piece.len() as u64;
            transfer.run(self, |c, commands, staging| {
                c.api.copy_buffer(commands, from.buffer, staging, &[region(at, 0, size)]);
            })?;
            let (out, len) = (piece.as_mut_ptr(), piece.len());
            // SAFETY: `piece` is `len` bytes that may be written.
            if !transfer.staging.as_ref().is_some_and(|s| unsafe { s.read(0, out, len) }) {
                return Err(lost(size));
            }
            at += size;
        }
        Ok(())
    }

    /// Fills bytes of a block, behind everything submitted before.
    pub fn fill_bytes(&self, to: &Block, offset: u64, len: u64, value: u8) -> Result<()> {
        // Words are filled by the queue, what sticks out at both ends goes through staging memory.
        let start = offset + to.skip;
        let (first, end) = (start.next_multiple_of(4), (start + len) / 4 * 4);
        let ends = [value; 4];
        let part = |n: u64| ends.get(..n.min(len) as usize).unwrap_or(&ends);
        if first > start {
            self.upload(to, offset, part(first - start))?;
        }
        if end > first {
            let mut transfer = lock(&self.transfer);
            transfer.prepare(self)?;
            let word = u32::from_ne_bytes(ends);
            transfer.run(self, |c, commands, _| {
                c.api.fill_buffer(commands, to.buffer, first, end - first, word);
            })?;
        }
        if end >= first && start + len > end {
            self.upload(to, end - to.skip, part(start + len - end))?;
        }
        Ok(())
    }

    /// Copies from one block to another, or within one where the two don't overlap.
    pub fn copy_blocks(&self, from: (&Block, u64), to: (&Block, u64), len: u64) -> Result<()> {
        let mut transfer = lock(&self.transfer);
        transfer.prepare(self)?;
        let regions = [region(from.1 + from.0.skip, to.1 + to.0.skip, len)];
        transfer.run(self, |c, commands, _| {
            c.api.copy_buffer(commands, from.0.buffer, to.0.buffer, &regions);
        })
    }
}
