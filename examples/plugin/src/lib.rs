//! A backend as a plug-in: `GGML_BACKEND_PATH=libexample_plugin.so llama-completion …` computes with it.
//!
//! This one exports the reference backend, which is slow and exact. Put your own in its place.

use dinrail_reference::Backend;

static BACKEND: Backend = Backend::new(Some(&dinrail_host::HEAP));

dinrail_ggml::export_backend!(BACKEND, score = || 1);
