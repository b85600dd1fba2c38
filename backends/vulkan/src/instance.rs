//! The loader library and the instance: which physical devices there are.

use crate::backend::Options;
use crate::physical::Physical;
use ash::vk;
use dinrail_core::hal::DeviceKind;
use std::ffi::{CStr, c_void};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// An instance, given back when dropped.
pub struct Instance {
    /// The functions of the instance.
    pub api: ash::Instance,
    debug: Option<(ash::ext::debug_utils::Instance, vk::DebugUtilsMessengerEXT)>,
    /// Messages of the validation layer so far. Shared: the layer holds its address.
    messages: Arc<AtomicUsize>,
    /// Keeps the loader library open; dropped last.
    _entry: ash::Entry,
}

/// The validation layer's messages, counted and shown.
unsafe extern "system" fn message(
    _severity: vk::DebugUtilsMessageSeverityFlagsEXT,
    _kind: vk::DebugUtilsMessageTypeFlagsEXT,
    data: *const vk::DebugUtilsMessengerCallbackDataEXT<'_>,
    count: *mut c_void,
) -> vk::Bool32 {
    // SAFETY: the address is that of the instance's counter, which lives as long as the messenger.
    if let Some(count) = unsafe { count.cast::<AtomicUsize>().as_ref() } {
        count.fetch_add(1, Ordering::Relaxed);
    }
    // SAFETY: the layer gives a structure that is valid during the call.
    if let Some(data) = unsafe { data.as_ref() }
        && !data.p_message.is_null()
    {
        // SAFETY: as above; the text ends with a zero.
        let text = unsafe { CStr::from_ptr(data.p_message) };
        std::eprintln!("vulkan: {}", text.to_string_lossy());
    }
    vk::FALSE
}

impl Instance {
    /// Opens the loader and makes an instance, or says why that can't be.
    pub fn open(options: &Options) -> Result<Self, String> {
        // SAFETY: loading runs the initialisers of the system's Vulkan loader, which is trusted like any
        // system library.
        let entry = unsafe { ash::Entry::load() };
        let entry = entry.map_err(|e| format!("the Vulkan loader can't be opened: {e}"))?;
        let name = c"dinrail";
        let app = vk::ApplicationInfo::default()
            .application_name(name)
            .engine_name(name)
            .api_version(vk::API_VERSION_1_2);
        // SAFETY: the entry is open.
        let offered = unsafe { entry.enumerate_instance_extension_properties(None) };
        let offered = offered.unwrap_or_default();
        let has = |name: &CStr| offered.iter().any(|e| e.extension_name_as_c_str() == Ok(name));
        let mut extensions = Vec::new();
        let mut layers = Vec::new();
        let mut flags = vk::InstanceCreateFlags::empty();
        if has(vk::KHR_PORTABILITY_ENUMERATION_NAME) {
            extensions.push(vk::KHR_PORTABILITY_ENUMERATION_NAME.as_ptr());
            flags |= vk::InstanceCreateFlags::ENUMERATE_PORTABILITY_KHR;
        }
        const LAYER: &CStr = c"VK_LAYER_KHRONOS_validation";
        // SAFETY: as above.
        let known = unsafe { entry.enumerate_instance_layer_properties() }.unwrap_or_default();
        let validate = options.validate
            && has(vk::EXT_DEBUG_UTILS_NAME)
            && known.iter().any(|l| l.layer_name_as_c_str() == Ok(LAYER));
        if validate {
            extensions.push(vk::EXT_DEBUG_UTILS_NAME.as_ptr());
            layers.push(LAYER.as_ptr());
        }
        let info = vk::InstanceCreateInfo::default()
            .application_info(&app)
            .flags(flags)
            .enabled_extension_names(&extensions)
            .enabled_layer_names(&layers);
        // SAFETY: every name is a constant, and the structures outlive the call.
        let api = unsafe { entry.create_instance(&info, None) };
        let api = api.map_err(|e| format!("no Vulkan instance can be made: {e}"))?;
        let messages = Arc::new(AtomicUsize::new(0));
        let mut this = Self { api, debug: None, messages, _entry: entry };
        if validate {
            this.listen();
        }
        Ok(this)
    }

    fn listen(&mut self) {
        let debug = ash::ext::debug_utils::Instance::new(&self._entry, &self.api);
        let address: *const AtomicUsize = &*self.messages;
        let info = vk::DebugUtilsMessengerCreateInfoEXT::default()
            .message_severity(
                vk::DebugUtilsMessageSeverityFlagsEXT::ERROR
                    | vk::DebugUtilsMessageSeverityFlagsEXT::WARNING,
            )
            .message_type(
                vk::DebugUtilsMessageTypeFlagsEXT::VALIDATION
                    | vk::DebugUtilsMessageTypeFlagsEXT::PERFORMANCE,
            )
            .pfn_user_callback(Some(message))
            .user_data(address.cast_mut().cast());
        // SAFETY: the counter outlives the messenger, which `drop` destroys first.
        if let Ok(messenger) = unsafe { debug.create_debug_utils_messenger(&info, None) } {
            self.debug = Some((debug, messenger));
        }
    }

    /// Messages of the validation layer so far; `None` where it isn't installed or wasn't asked for.
    pub fn messages(&self) -> Option<Arc<AtomicUsize>> {
        self.debug.as_ref().map(|_| self.messages.clone())
    }

    /// The devices that can be used, best first.
    pub fn devices(&self) -> Vec<Physical> {
        // SAFETY: the instance is alive.
        let handles = unsafe { self.api.enumerate_physical_devices() }.unwrap_or_default();
        let mut out: Vec<_> =
            handles.iter().filter_map(|&h| Physical::read(&self.api, h)).collect();
        out.sort_by_key(|p| (p.software, p.kind == DeviceKind::IntegratedGpu));
        out
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        if let Some((debug, messenger)) = self.debug.take() {
            // SAFETY: made by this instance, and destroyed once.
            unsafe { debug.destroy_debug_utils_messenger(messenger, None) };
        }
        // SAFETY: devices hold the instance alive through their owner, which drops them first.
        unsafe { self.api.destroy_instance(None) };
    }
}
