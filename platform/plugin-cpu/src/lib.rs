//! The CPU backend as a plug-in: what llama.cpp and dinrail load as `libdinrail-cpu-LEVEL.so`.
//!
//! The features choose the level. Everything outside the kernels, and so the score too, is compiled for the
//! architecture's baseline; nothing runs before the score is asked for.

use dinrail_cpu::{Backend, Level, Services};

static BACKEND: Backend = Backend::new(Services {
    heap: Some(&dinrail_host::HEAP),
    threads: Some(&dinrail_host::THREADS),
});

/// That of the level that this library was built for; 0 where the machine hasn't got it.
fn score() -> u32 {
    let built = Level::ALL.into_iter().rev().find(|l| l.is_compiled()).unwrap_or(Level::Scalar);
    if built.is_available() { built.score() } else { 0 }
}

dinrail_ggml::export_backend!(BACKEND, score = score);
