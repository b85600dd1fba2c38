//! A physical device, as it describes itself.

use ash::vk;
use dinrail_core::hal::{DeviceKind, Memory};
use dinrail_wgsl::{Features, Limits};
use std::ffi::CStr;

/// What was read from a physical device.
#[derive(Debug)]
pub struct Physical {
    /// Its handle.
    pub handle: vk::PhysicalDevice,
    /// Its name, and what is worth saying beside it.
    pub description: String,
    /// Its kind.
    pub kind: DeviceKind,
    /// Whether it is the host's processor in disguise.
    pub software: bool,
    /// Whether it compiles a shader anew for each value of a uniform that the shader branches on.
    pub compiles_uniforms_in: bool,
    /// PCI address.
    pub id: Option<String>,
    /// What kernels may use and rely on.
    pub limits: Limits,
    /// Family of the queue that is used.
    pub family: u32,
    /// Kinds of memory.
    pub memory: vk::PhysicalDeviceMemoryProperties,
    /// Largest piece of memory.
    pub max_allocation: u64,
    /// Alignment of host memory that can be used as it is; 0 where none can.
    pub host_alignment: usize,
    /// Whether there is the newer function for barriers.
    pub barriers: bool,
    /// Whether free memory can be asked for.
    pub budget: bool,
    /// Whether it is a subset of Vulkan on top of another interface.
    pub subset: bool,
}

fn text(bytes: &[core::ffi::c_char]) -> String {
    let bytes: Vec<u8> = bytes.iter().map(|&c| c as u8).collect();
    CStr::from_bytes_until_nul(&bytes).map_or(String::new(), |s| s.to_string_lossy().into_owned())
}

impl Physical {
    /// Reads a device; `None` if it can't be used (older than Vulkan 1.2, no compute queue).
    pub fn read(instance: &ash::Instance, handle: vk::PhysicalDevice) -> Option<Self> {
        // SAFETY: the handle comes from this instance.
        let first = unsafe { instance.get_physical_device_properties(handle) };
        if first.api_version < vk::API_VERSION_1_2 {
            return None;
        }
        // SAFETY: as above.
        let queues = unsafe { instance.get_physical_device_queue_family_properties(handle) };
        let computes = |q: &vk::QueueFamilyProperties| {
            q.queue_count > 0 && q.queue_flags.contains(vk::QueueFlags::COMPUTE)
        };
        // A family without graphics is not shared with the screen.
        let family = queues
            .iter()
            .position(|q| computes(q) && !q.queue_flags.contains(vk::QueueFlags::GRAPHICS))
            .or_else(|| queues.iter().position(computes))?;
        // SAFETY: as above.
        let extensions = unsafe { instance.enumerate_device_extension_properties(handle) };
        let extensions: Vec<String> =
            extensions.ok()?.iter().map(|e| text(&e.extension_name)).collect();
        let has = |name: &CStr| extensions.iter().any(|e| e.as_bytes() == name.to_bytes());

        let mut subgroups = vk::PhysicalDeviceSubgroupProperties::default();
        let mut sizes = vk::PhysicalDeviceMaintenance3Properties::default();
        let mut driver = vk::PhysicalDeviceDriverProperties::default();
        let mut pci = vk::PhysicalDevicePCIBusInfoPropertiesEXT::default();
        let mut host = vk::PhysicalDeviceExternalMemoryHostPropertiesEXT::default();
        let mut properties = vk::PhysicalDeviceProperties2::default()
            .push_next(&mut subgroups)
            .push_next(&mut sizes)
            .push_next(&mut driver);
        let has_pci = has(vk::EXT_PCI_BUS_INFO_NAME);
        let has_host = has(vk::EXT_EXTERNAL_MEMORY_HOST_NAME);
        if has_pci {
            properties = properties.push_next(&mut pci);
        }
        if has_host {
            properties = properties.push_next(&mut host);
        }
        // SAFETY: as above; every structure of the chain is one that the device knows.
        unsafe { instance.get_physical_device_properties2(handle, &mut properties) };
        let base = properties.properties;

        let mut f16 = vk::PhysicalDeviceShaderFloat16Int8Features::default();
        let mut storage = vk::PhysicalDevice16BitStorageFeatures::default();
        let mut timeline = vk::PhysicalDeviceTimelineSemaphoreFeatures::default();
        let mut barriers = vk::PhysicalDeviceSynchronization2Features::default();
        let mut features = vk::PhysicalDeviceFeatures2::default()
            .push_next(&mut f16)
            .push_next(&mut storage)
            .push_next(&mut timeline);
        if has(vk::KHR_SYNCHRONIZATION2_NAME) {
            features = features.push_next(&mut barriers);
        }
        // SAFETY: as above.
        unsafe { instance.get_physical_device_features2(handle, &mut features) };
        if timeline.timeline_semaphore == vk::FALSE {
            return None;
        }
        let mut offered = Features::NONE;
        if subgroups
            .supported_operations
            .contains(vk::SubgroupFeatureFlags::BASIC | vk::SubgroupFeatureFlags::ARITHMETIC)
            && subgroups.supported_stages.contains(vk::ShaderStageFlags::COMPUTE)
        {
            offered = offered.or(Features::SUBGROUP);
        }
        if f16.shader_float16 == vk::TRUE
            && storage.storage_buffer16_bit_access == vk::TRUE
            && storage.uniform_and_storage_buffer16_bit_access == vk::TRUE
        {
            offered = offered.or(Features::F16);
        }
        // SAFETY: as above.
        let memory = unsafe { instance.get_physical_device_memory_properties(handle) };
        let software = base.device_type == vk::PhysicalDeviceType::CPU;
        let kind = match base.device_type {
            // No graphics processor at all, and never the best device.
            vk::PhysicalDeviceType::CPU => DeviceKind::Cpu,
            vk::PhysicalDeviceType::INTEGRATED_GPU => DeviceKind::IntegratedGpu,
            _ => DeviceKind::Gpu,
        };
        let mut description = text(&base.device_name);
        if software {
            description += ", in software on the host's processor";
        }
        let info = text(&driver.driver_info);
        if !info.is_empty() {
            description += &format!(" ({info})");
        }
        let id = has_pci.then(|| {
            let v = (pci.pci_domain, pci.pci_bus, pci.pci_device, pci.pci_function);
            format!("{:04x}:{:02x}:{:02x}.{:x}", v.0, v.1, v.2, v.3)
        });
        Some(Self {
            handle,
            description,
            kind,
            software,
            compiles_uniforms_in: driver.driver_id == vk::DriverId::MESA_LLVMPIPE,
            id,
            limits: Limits {
                features: offered,
                binding: base.limits.max_storage_buffer_range as usize,
                alignment: (base.limits.min_storage_buffer_offset_alignment as usize).max(4),
            },
            family: family as u32,
            memory,
            max_allocation: sizes.max_memory_allocation_size,
            host_alignment: if has_host {
                host.min_imported_host_pointer_alignment as usize
            } else {
                0
            },
            barriers: barriers.synchronization2 == vk::TRUE,
            budget: has(vk::EXT_MEMORY_BUDGET_NAME),
            subset: has(vk::KHR_PORTABILITY_SUBSET_NAME),
        })
    }

    /// Whether the device has no memory of its own, so that all of it can be mapped.
    pub fn unified(&self) -> bool {
        self.software || self.kind == DeviceKind::IntegratedGpu
    }

    /// Free and total memory of the heaps that are the device's own.
    pub fn free(&self, instance: &ash::Instance) -> Memory {
        let heaps = self.memory.memory_heaps_as_slice();
        let own = |i: usize| {
            heaps.get(i).is_some_and(|h| h.flags.contains(vk::MemoryHeapFlags::DEVICE_LOCAL))
        };
        let total: u64 =
            heaps.iter().enumerate().filter(|(i, _)| own(*i)).map(|(_, h)| h.size).sum();
        let mut free = total;
        if self.budget {
            let mut budget = vk::PhysicalDeviceMemoryBudgetPropertiesEXT::default();
            let mut out = vk::PhysicalDeviceMemoryProperties2::default().push_next(&mut budget);
            // SAFETY: the handle comes from this instance, and the device knows the structure.
            unsafe { instance.get_physical_device_memory_properties2(self.handle, &mut out) };
            let left =
                budget.heap_budget.iter().zip(budget.heap_usage).map(|(b, u)| b.saturating_sub(u));
            free = left.enumerate().filter(|(i, _)| own(*i)).map(|(_, n)| n).sum();
        }
        let size = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
        Memory { free: size(free), total: size(total) }
    }
}
