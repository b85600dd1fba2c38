//! A logical device: its queue, the timeline of its work, layouts and pipelines.

use crate::api::Api;
use crate::instance::Instance;
use crate::physical::Physical;
use crate::spirv;
use crate::transfer::Transfer;
use ash::vk;
use dinrail_core::error::{Error, Result};
use dinrail_core::hal::BufferType;
use dinrail_wgsl::{BINDINGS, Family, Features, KERNELS, Limits};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A lock whose holder never panics; if one did, what it guards is still what the last call left.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A logical device, given back when dropped.
pub struct Context {
    /// Its functions.
    pub api: Api,
    /// The hardware behind it.
    pub physical: Arc<Physical>,
    /// Limits with the features that kernels shall use.
    pub limits: Limits,
    /// Whether device memory is mapped.
    pub map: bool,
    queue: vk::Queue,
    /// Number of the last submission: the value that the timeline reaches with it.
    submitted: Mutex<u64>,
    timeline: vk::Semaphore,
    set_layout: vk::DescriptorSetLayout,
    layout: vk::PipelineLayout,
    cache: vk::PipelineCache,
    /// Writes all bindings but the arguments.
    template: vk::DescriptorUpdateTemplate,
    /// Pipelines by number of the kernel; 0 for those that aren't made yet.
    pipelines: Box<[AtomicU64]>,
    making: Mutex<()>,
    /// What transfers that wait go through.
    pub transfer: Mutex<Transfer>,
    /// The kinds of memory whose buffers kernels take.
    pub types: [&'static dyn BufferType; 2],
    /// Up to where submissions are known to be done.
    known: AtomicU64,
    /// Keeps the instance alive; dropped last.
    _instance: Arc<Instance>,
}

impl Context {
    /// Makes the logical device. Everything in it is given back when that fails on the way.
    pub fn new(
        instance: &Arc<Instance>,
        physical: &Arc<Physical>,
        features: Features,
        map: bool,
        types: [&'static dyn BufferType; 2],
    ) -> Result<Self> {
        let features = Features(features.0 & physical.limits.features.0);
        let mut extensions = Vec::new();
        let host = physical.host_alignment > 0;
        if host {
            extensions.push(vk::EXT_EXTERNAL_MEMORY_HOST_NAME.as_ptr());
        }
        if physical.barriers {
            extensions.push(vk::KHR_SYNCHRONIZATION2_NAME.as_ptr());
        }
        if physical.budget {
            extensions.push(vk::EXT_MEMORY_BUDGET_NAME.as_ptr());
        }
        if physical.subset {
            extensions.push(vk::KHR_PORTABILITY_SUBSET_NAME.as_ptr());
        }
        let halfs = features.has(Features::F16);
        let mut f16 = vk::PhysicalDeviceShaderFloat16Int8Features::default().shader_float16(halfs);
        let mut storage = vk::PhysicalDevice16BitStorageFeatures::default()
            .storage_buffer16_bit_access(halfs)
            .uniform_and_storage_buffer16_bit_access(halfs);
        let mut timeline =
            vk::PhysicalDeviceTimelineSemaphoreFeatures::default().timeline_semaphore(true);
        let mut barriers =
            vk::PhysicalDeviceSynchronization2Features::default().synchronization2(true);
        let queues = [vk::DeviceQueueCreateInfo::default()
            .queue_family_index(physical.family)
            .queue_priorities(&[1.0])];
        let mut info = vk::DeviceCreateInfo::default()
            .queue_create_infos(&queues)
            .enabled_extension_names(&extensions)
            .push_next(&mut f16)
            .push_next(&mut storage)
            .push_next(&mut timeline);
        if physical.barriers {
            info = info.push_next(&mut barriers);
        }
        // SAFETY: handle, extensions and features are what this device of this instance offered.
        let device = unsafe { instance.api.create_device(physical.handle, &info, None) };
        let device = device.map_err(|e| crate::api::error("vkCreateDevice", e))?;
        let api = Api::new(&instance.api, device, host, physical.barriers);
        let queue = api.queue(physical.family);
        let mut this = Self {
            api,
            physical: physical.clone(),
            limits: Limits { features, ..physical.limits },
            map: map && physical.unified(),
            queue,
            submitted: Mutex::new(0),
            timeline: vk::Semaphore::null(),
            set_layout: vk::DescriptorSetLayout::null(),
            layout: vk::PipelineLayout::null(),
            cache: vk::PipelineCache::null(),
            template: vk::DescriptorUpdateTemplate::null(),
            pipelines: KERNELS.iter().map(|_| AtomicU64::new(0)).collect(),
            making: Mutex::new(()),
            transfer: Mutex::new(Transfer::default()),
            types,
            known: AtomicU64::new(0),
            _instance: instance.clone(),
        };
        this.fill()?;
        Ok(this)
    }

    /// Makes what every use needs.
    fn fill(&mut self) -> Result<()> {
        let mut kind = vk::SemaphoreTypeCreateInfo::default()
            .semaphore_type(vk::SemaphoreType::TIMELINE)
            .initial_value(0);
        let info = vk::SemaphoreCreateInfo::default().push_next(&mut kind);
        self.timeline = self.api.create_semaphore(&info)?;
        let arguments = self.arguments();
        let binding = |i: usize| {
            vk::DescriptorSetLayoutBinding::default()
                .binding(i as u32)
                .descriptor_type(if i == 0 {
                    arguments
                } else {
                    vk::DescriptorType::STORAGE_BUFFER
                })
                .descriptor_count(1)
                .stage_flags(vk::ShaderStageFlags::COMPUTE)
        };
        let bindings: Vec<_> = (0..BINDINGS + 1).map(binding).collect();
        let info = vk::DescriptorSetLayoutCreateInfo::default().bindings(&bindings);
        self.set_layout = self.api.create_set_layout(&info)?;
        let layouts = [self.set_layout];
        let info = vk::PipelineLayoutCreateInfo::default().set_layouts(&layouts);
        self.layout = self.api.create_pipeline_layout(&info)?;
        self.cache = self.api.create_pipeline_cache(&vk::PipelineCacheCreateInfo::default())?;
        // Consecutive bindings of one type are written as if they were an array.
        let entries = [vk::DescriptorUpdateTemplateEntry::default()
            .dst_binding(1)
            .descriptor_count(BINDINGS as u32)
            .descriptor_type(vk::DescriptorType::STORAGE_BUFFER)
            .stride(size_of::<vk::DescriptorBufferInfo>())];
        let info = vk::DescriptorUpdateTemplateCreateInfo::default()
            .descriptor_update_entries(&entries)
            .template_type(vk::DescriptorUpdateTemplateType::DESCRIPTOR_SET)
            .descriptor_set_layout(self.set_layout)
            .pipeline_bind_point(vk::PipelineBindPoint::COMPUTE)
            .pipeline_layout(self.layout);
        self.template = self.api.create_template(&info)?;
        Ok(())
    }

    /// Kind of the buffer that arguments are in. Uniforms are what hardware is fast with; Mesa's device in software
    /// compiles a shader anew for each value of a uniform that it branches on.
    pub fn arguments(&self) -> vk::DescriptorType {
        match self.physical.compiles_uniforms_in {
            true => vk::DescriptorType::STORAGE_BUFFER,
            false => vk::DescriptorType::UNIFORM_BUFFER,
        }
    }

    /// The layout of every descriptor set.
    pub fn set_layout(&self) -> vk::DescriptorSetLayout {
        self.set_layout
    }

    /// The layout of every pipeline.
    pub fn layout(&self) -> vk::PipelineLayout {
        self.layout
    }

    /// The template that writes all bindings but the arguments.
    pub fn template(&self) -> vk::DescriptorUpdateTemplate {
        self.template
    }

    /// A kernel's pipeline, made when it is first needed.
    pub fn pipeline(&self, kernel: u16) -> Result<vk::Pipeline> {
        use vk::Handle;
        let slot = self
            .pipelines
            .get(usize::from(kernel))
            .ok_or(Error::NotOffered { function: "this kernel" })?;
        let known = slot.load(Ordering::Acquire);
        if known != 0 {
            return Ok(vk::Pipeline::from_raw(known));
        }
        let _alone = lock(&self.making);
        let known = slot.load(Ordering::Acquire);
        if known != 0 {
            return Ok(vk::Pipeline::from_raw(known));
        }
        let code = spirv::code(kernel, self.arguments() == vk::DescriptorType::STORAGE_BUFFER);
        let shader = self.api.create_shader(&vk::ShaderModuleCreateInfo::default().code(&code))?;
        let stage = vk::PipelineShaderStageCreateInfo::default()
            .stage(vk::ShaderStageFlags::COMPUTE)
            .module(shader)
            .name(c"main");
        let info = vk::ComputePipelineCreateInfo::default()
            .flags(vk::PipelineCreateFlags::DISPATCH_BASE)
            .stage(stage)
            .layout(self.layout);
        let made = self.api.create_pipeline(self.cache, info);
        self.api.destroy_shader(shader);
        let made = made?;
        slot.store(made.as_raw(), Ordering::Release);
        Ok(made)
    }

    /// Hands command buffers to the queue; returns the value that the timeline has when they are done.
    pub fn submit(&self, commands: &[vk::CommandBuffer]) -> Result<u64> {
        let mut last = lock(&self.submitted);
        let value = [*last + 1];
        let signal = [self.timeline];
        let mut timeline =
            vk::TimelineSemaphoreSubmitInfo::default().signal_semaphore_values(&value);
        let info = vk::SubmitInfo::default()
            .command_buffers(commands)
            .signal_semaphores(&signal)
            .push_next(&mut timeline);
        self.api.queue_submit(self.queue, &[info])?;
        *last = value[0];
        Ok(value[0])
    }

    /// Number of the last submission.
    pub fn submitted(&self) -> u64 {
        *lock(&self.submitted)
    }

    /// Waits until submission `value` is done.
    pub fn wait(&self, value: u64) -> Result<()> {
        if value <= self.known.load(Ordering::Acquire) {
            return Ok(());
        }
        let (semaphores, values) = ([self.timeline], [value]);
        let info = vk::SemaphoreWaitInfo::default().semaphores(&semaphores).values(&values);
        self.api.wait_semaphores(&info)?;
        self.known.fetch_max(value, Ordering::AcqRel);
        Ok(())
    }

    /// Waits before something that the queue may use is given back. After this the queue doesn't use it: if
    /// waiting fails, the device is lost or gets idle.
    pub fn settle(&self, value: u64) {
        if self.wait(value).is_err() {
            let _alone = lock(&self.submitted);
            self.api.wait_idle();
        }
    }

    /// The last submission that is done.
    pub fn done(&self) -> Result<u64> {
        self.api.semaphore_counter(self.timeline)
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        use vk::Handle;
        self.api.wait_idle();
        let transfer = std::mem::take(&mut *lock(&self.transfer));
        transfer.release(self);
        for p in &self.pipelines {
            self.api.destroy_pipeline(vk::Pipeline::from_raw(p.load(Ordering::Acquire)));
        }
        self.api.destroy_template(self.template);
        self.api.destroy_pipeline_cache(self.cache);
        self.api.destroy_pipeline_layout(self.layout);
        self.api.destroy_set_layout(self.set_layout);
        self.api.destroy_semaphore(self.timeline);
        self.api.destroy_device();
    }
}

// Every family's workgroup fits the smallest limit that devices with Vulkan 1.2 have in practice.
const _: () = {
    let mut i = 0;
    while i < Family::ALL.len() {
        assert!(Family::ALL[i].workgroup() <= 256);
        i += 1;
    }
};
