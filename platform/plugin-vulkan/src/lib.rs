//! The Vulkan backend as a plug-in: with `GGML_BACKEND_PATH=libdinrail_plugin_vulkan.so` llama.cpp lists its devices as
//! `DINRAIL-Vulkan0` and so on.
//!
//! It has no score: there is one for all machines, and where there is no Vulkan it has no devices.

use dinrail_vulkan::Backend;

static BACKEND: Backend = Backend::new();

dinrail_ggml::export_backend!(BACKEND);
