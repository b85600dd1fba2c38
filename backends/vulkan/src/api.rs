//! The only door to Vulkan's functions of a logical device.
//!
//! What every caller keeps, so that the calls here are sound: handles were made by this device and are not destroyed
//! yet; a command buffer, its pool and its sets are used by one thread at a time (a recorder is behind its stream's
//! lock); nothing is destroyed while the queue uses it (`Context::wait`).

use ash::vk;
use dinrail_core::error::{Error, Result};
use dinrail_wgsl::BINDINGS;

/// An error of a Vulkan call.
pub fn error(call: &'static str, code: vk::Result) -> Error {
    Error::Device { call, code: i64::from(code.as_raw()) }
}

/// Counts calls that can fail, and makes one fail when a test asks for it.
#[derive(Debug, Default)]
pub struct Gate {
    #[cfg(feature = "fault")]
    left: std::sync::atomic::AtomicU64,
    #[cfg(feature = "fault")]
    code: std::sync::atomic::AtomicI32,
    /// Whether calls go on failing.
    #[cfg(feature = "fault")]
    lasting: std::sync::atomic::AtomicBool,
}

impl Gate {
    /// Lets a call through, or not.
    #[inline]
    pub fn pass(&self, call: &'static str) -> Result<()> {
        #[cfg(feature = "fault")]
        {
            use std::sync::atomic::Ordering;
            if self.left.load(Ordering::Relaxed) > 0
                && self.left.fetch_sub(1, Ordering::Relaxed) == 1
            {
                if self.lasting.load(Ordering::Relaxed) {
                    self.left.store(1, Ordering::Relaxed);
                }
                let code = vk::Result::from_raw(self.code.load(Ordering::Relaxed));
                return Err(error(call, code));
            }
        }
        let _ = call;
        Ok(())
    }

    /// The `n`-th call from now on fails with `code`, and if `lasting` all behind it; 0 for none. Returns how many were left to the last failure that
    /// was asked for.
    #[cfg(feature = "fault")]
    pub fn arm(&self, n: u64, code: i32, lasting: bool) -> u64 {
        use std::sync::atomic::Ordering;
        self.lasting.store(lasting, Ordering::Relaxed);
        self.code.store(code, Ordering::Relaxed);
        self.left.swap(n, Ordering::Relaxed)
    }
}

/// The functions of a logical device.
pub struct Api {
    /// The functions themselves.
    device: ash::Device,
    /// Of the extension for host memory, where it is there.
    host: Option<ash::ext::external_memory_host::Device>,
    /// Of the extension for barriers, where it is there.
    barriers: Option<ash::khr::synchronization2::Device>,
    /// Lets calls fail.
    pub gate: Gate,
}

macro_rules! fallible {
    ($($(#[$doc:meta])* $name:ident($($arg:ident: $t:ty),*) -> $r:ty = $call:literal, $f:ident($($e:expr),*);)*) => {
        impl Api {
            $($(#[$doc])* pub fn $name(&self $(, $arg: $t)*) -> Result<$r> {
                self.gate.pass($call)?;
                // SAFETY: the module's documentation says what callers keep.
                unsafe { self.device.$f($($e),*) }.map_err(|e| error($call, e))
            })*
        }
    };
}

macro_rules! infallible {
    ($($(#[$doc:meta])* $name:ident($($arg:ident: $t:ty),*) = $f:ident($($e:expr),*);)*) => {
        impl Api {
            $($(#[$doc])* pub fn $name(&self $(, $arg: $t)*) {
                // SAFETY: the module's documentation says what callers keep.
                unsafe { self.device.$f($($e),*) }
            })*
        }
    };
}

fallible! {
    /// A buffer without memory.
    create_buffer(info: &vk::BufferCreateInfo<'_>) -> vk::Buffer = "vkCreateBuffer", create_buffer(info, None);
    /// Memory.
    allocate_memory(info: &vk::MemoryAllocateInfo<'_>) -> vk::DeviceMemory
        = "vkAllocateMemory", allocate_memory(info, None);
    /// Gives a buffer its memory.
    bind_buffer_memory(buffer: vk::Buffer, memory: vk::DeviceMemory) -> ()
        = "vkBindBufferMemory", bind_buffer_memory(buffer, memory, 0);
    /// The host's address of memory, for as long as it lives.
    map_memory(memory: vk::DeviceMemory) -> *mut core::ffi::c_void
        = "vkMapMemory", map_memory(memory, 0, vk::WHOLE_SIZE, vk::MemoryMapFlags::empty());
    /// A semaphore.
    create_semaphore(info: &vk::SemaphoreCreateInfo<'_>) -> vk::Semaphore
        = "vkCreateSemaphore", create_semaphore(info, None);
    /// Waits on the host.
    wait_semaphores(info: &vk::SemaphoreWaitInfo<'_>) -> ()
        = "vkWaitSemaphores", wait_semaphores(info, u64::MAX);
    /// What a timeline has reached.
    semaphore_counter(semaphore: vk::Semaphore) -> u64
        = "vkGetSemaphoreCounterValue", get_semaphore_counter_value(semaphore);
    /// Hands work to a queue that the caller has locked.
    queue_submit(queue: vk::Queue, submits: &[vk::SubmitInfo<'_>]) -> ()
        = "vkQueueSubmit", queue_submit(queue, submits, vk::Fence::null());
    /// A layout of descriptor sets.
    create_set_layout(info: &vk::DescriptorSetLayoutCreateInfo<'_>) -> vk::DescriptorSetLayout
        = "vkCreateDescriptorSetLayout", create_descriptor_set_layout(info, None);
    /// A layout of pipelines.
    create_pipeline_layout(info: &vk::PipelineLayoutCreateInfo<'_>) -> vk::PipelineLayout
        = "vkCreatePipelineLayout", create_pipeline_layout(info, None);
    /// A cache of pipelines.
    create_pipeline_cache(info: &vk::PipelineCacheCreateInfo<'_>) -> vk::PipelineCache
        = "vkCreatePipelineCache", create_pipeline_cache(info, None);
    /// A template for updates of descriptor sets.
    create_template(info: &vk::DescriptorUpdateTemplateCreateInfo<'_>) -> vk::DescriptorUpdateTemplate
        = "vkCreateDescriptorUpdateTemplate", create_descriptor_update_template(info, None);
    /// A shader.
    create_shader(info: &vk::ShaderModuleCreateInfo<'_>) -> vk::ShaderModule
        = "vkCreateShaderModule", create_shader_module(info, None);
    /// A pool of descriptor sets.
    create_descriptor_pool(info: &vk::DescriptorPoolCreateInfo<'_>) -> vk::DescriptorPool
        = "vkCreateDescriptorPool", create_descriptor_pool(info, None);
    /// Descriptor sets.
    allocate_sets(info: &vk::DescriptorSetAllocateInfo<'_>) -> Vec<vk::DescriptorSet>
        = "vkAllocateDescriptorSets", allocate_descriptor_sets(info);
    /// A pool of command buffers.
    create_command_pool(info: &vk::CommandPoolCreateInfo<'_>) -> vk::CommandPool
        = "vkCreateCommandPool", create_command_pool(info, None);
    /// Takes all commands of a pool back.
    reset_command_pool(pool: vk::CommandPool) -> ()
        = "vkResetCommandPool", reset_command_pool(pool, vk::CommandPoolResetFlags::empty());
    /// Command buffers.
    allocate_command_buffers(info: &vk::CommandBufferAllocateInfo<'_>) -> Vec<vk::CommandBuffer>
        = "vkAllocateCommandBuffers", allocate_command_buffers(info);
    /// Starts recording.
    begin(commands: vk::CommandBuffer, info: &vk::CommandBufferBeginInfo<'_>) -> ()
        = "vkBeginCommandBuffer", begin_command_buffer(commands, info);
    /// Ends recording.
    end(commands: vk::CommandBuffer) -> () = "vkEndCommandBuffer", end_command_buffer(commands);
}

infallible! {
    /// Gives a buffer back.
    destroy_buffer(buffer: vk::Buffer) = destroy_buffer(buffer, None);
    /// Gives memory back; it is unmapped.
    free_memory(memory: vk::DeviceMemory) = free_memory(memory, None);
    /// Gives a semaphore back.
    destroy_semaphore(semaphore: vk::Semaphore) = destroy_semaphore(semaphore, None);
    /// Gives a layout back.
    destroy_set_layout(layout: vk::DescriptorSetLayout) = destroy_descriptor_set_layout(layout, None);
    /// Gives a layout back.
    destroy_pipeline_layout(layout: vk::PipelineLayout) = destroy_pipeline_layout(layout, None);
    /// Gives a cache back.
    destroy_pipeline_cache(cache: vk::PipelineCache) = destroy_pipeline_cache(cache, None);
    /// Gives a template back.
    destroy_template(template: vk::DescriptorUpdateTemplate)
        = destroy_descriptor_update_template(template, None);
    /// Gives a shader back.
    destroy_shader(shader: vk::ShaderModule) = destroy_shader_module(shader, None);
    /// Gives a pipeline back.
    destroy_pipeline(pipeline: vk::Pipeline) = destroy_pipeline(pipeline, None);
    /// Gives a pool and its sets back.
    destroy_descriptor_pool(pool: vk::DescriptorPool) = destroy_descriptor_pool(pool, None);
    /// Gives a pool and its command buffers back.
    destroy_command_pool(pool: vk::CommandPool) = destroy_command_pool(pool, None);
    /// Writes descriptors.
    update_sets(writes: &[vk::WriteDescriptorSet<'_>]) = update_descriptor_sets(writes, &[]);
    /// Binds a pipeline.
    bind_pipeline(commands: vk::CommandBuffer, pipeline: vk::Pipeline)
        = cmd_bind_pipeline(commands, vk::PipelineBindPoint::COMPUTE, pipeline);
    /// Binds a descriptor set.
    bind_set(commands: vk::CommandBuffer, layout: vk::PipelineLayout, set: vk::DescriptorSet)
        = cmd_bind_descriptor_sets(commands, vk::PipelineBindPoint::COMPUTE, layout, 0, &[set], &[]);
    /// Launches workgroups whose third number is `z`.
    dispatch(commands: vk::CommandBuffer, groups: [u32; 2], z: u32)
        = cmd_dispatch_base(commands, 0, 0, z, groups[0], groups[1], 1);
    /// Copies between buffers.
    copy_buffer(commands: vk::CommandBuffer, source: vk::Buffer, target: vk::Buffer, regions: &[vk::BufferCopy])
        = cmd_copy_buffer(commands, source, target, regions);
    /// Fills whole words of a buffer.
    fill_buffer(commands: vk::CommandBuffer, buffer: vk::Buffer, offset: u64, size: u64, word: u32)
        = cmd_fill_buffer(commands, buffer, offset, size, word);
    /// Gives the device back.
    destroy_device() = destroy_device(None);
}

impl Api {
    /// The functions of `device`.
    pub fn new(
        instance: &ash::Instance,
        device: ash::Device,
        host_memory: bool,
        barriers: bool,
    ) -> Self {
        let host =
            host_memory.then(|| ash::ext::external_memory_host::Device::new(instance, &device));
        let barriers = barriers.then(|| ash::khr::synchronization2::Device::new(instance, &device));
        Self { device, host, barriers, gate: Gate::default() }
    }

    /// A barrier for all memory. The newer function is what drivers make of the older one: calling it saves that.
    pub fn barrier(
        &self,
        commands: vk::CommandBuffer,
        [source, target]: [vk::PipelineStageFlags; 2],
        [written, used]: [vk::AccessFlags; 2],
    ) {
        let Some(newer) = &self.barriers else {
            let memory =
                [vk::MemoryBarrier::default().src_access_mask(written).dst_access_mask(used)];
            let none = vk::DependencyFlags::empty();
            // SAFETY: the module's documentation says what callers keep.
            return unsafe {
                self.device.cmd_pipeline_barrier(commands, source, target, none, &memory, &[], &[])
            };
        };
        // The older bits have the same values among the newer.
        let stage =
            |s: vk::PipelineStageFlags| vk::PipelineStageFlags2::from_raw(s.as_raw().into());
        let access = |a: vk::AccessFlags| vk::AccessFlags2::from_raw(a.as_raw().into());
        let memory = [vk::MemoryBarrier2::default()
            .src_stage_mask(stage(source))
            .src_access_mask(access(written))
            .dst_stage_mask(stage(target))
            .dst_access_mask(access(used))];
        let info = vk::DependencyInfo::default().memory_barriers(&memory);
        // SAFETY: as above; the device was made with the extension and its feature.
        unsafe { newer.cmd_pipeline_barrier2(commands, &info) }
    }

    /// A queue of the family.
    pub fn queue(&self, family: u32) -> vk::Queue {
        // SAFETY: the device was made with one queue of this family.
        unsafe { self.device.get_device_queue(family, 0) }
    }

    /// What a buffer asks of its memory.
    pub fn requirements(&self, buffer: vk::Buffer) -> vk::MemoryRequirements {
        // SAFETY: the module's documentation says what callers keep.
        unsafe { self.device.get_buffer_memory_requirements(buffer) }
    }

    /// A compute pipeline.
    pub fn create_pipeline(
        &self,
        cache: vk::PipelineCache,
        info: vk::ComputePipelineCreateInfo<'_>,
    ) -> Result<vk::Pipeline> {
        const CALL: &str = "vkCreateComputePipelines";
        self.gate.pass(CALL)?;
        // SAFETY: the module's documentation says what callers keep.
        let made = unsafe { self.device.create_compute_pipelines(cache, &[info], None) };
        let made = made.map_err(|(_, e)| error(CALL, e))?;
        made.first().copied().ok_or_else(|| error(CALL, vk::Result::ERROR_UNKNOWN))
    }

    /// Writes the storage descriptors of a set through the template that is made for them.
    pub fn update_set(
        &self,
        set: vk::DescriptorSet,
        template: vk::DescriptorUpdateTemplate,
        infos: &[vk::DescriptorBufferInfo; BINDINGS],
    ) {
        // SAFETY: the template reads `BINDINGS` structures one after the other, which outlive the call.
        unsafe {
            self.device.update_descriptor_set_with_template(set, template, infos.as_ptr().cast())
        }
    }

    /// Waits until the device does nothing; for cleaning up, where an error changes nothing.
    pub fn wait_idle(&self) {
        // SAFETY: callers hold the queue's lock or are the last user of the device.
        let _ = unsafe { self.device.device_wait_idle() };
    }

    /// Memory types that host memory at an address can be imported as.
    ///
    /// # Safety
    /// `address` is readable memory.
    pub unsafe fn host_memory_types(&self, address: *const u8) -> Result<u32> {
        const CALL: &str = "vkGetMemoryHostPointerPropertiesEXT";
        let host = self.host.as_ref().ok_or(Error::NotOffered { function: "buffer_from_host" })?;
        self.gate.pass(CALL)?;
        let mut out = vk::MemoryHostPointerPropertiesEXT::default();
        // SAFETY: the caller gives readable memory, which is all that the call asks.
        let done = unsafe {
            (host.fp().get_memory_host_pointer_properties_ext)(
                host.device(),
                vk::ExternalMemoryHandleTypeFlags::HOST_ALLOCATION_EXT,
                address.cast(),
                &mut out,
            )
        };
        done.result().map_err(|e| error(CALL, e))?;
        Ok(out.memory_type_bits)
    }
}
