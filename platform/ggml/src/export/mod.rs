//! The other direction: a dinrail backend as a plug-in of ggml's, for llama.cpp and every other program that loads such.
//!
//! A package with `crate-type = ["cdylib"]` and these lines is one:
//!
//! ```
//! use dinrail_core::hal::{Backend, Device};
//! # struct Mine;
//! # impl Backend for Mine {
//! #     fn name(&self) -> &str { "Mine" }
//! #     fn device_count(&self) -> usize { 0 }
//! #     fn device(&'static self, _: usize) -> Option<&'static dyn Device> { None }
//! # }
//! static BACKEND: Mine = Mine;
//! dinrail_ggml::export_backend!(BACKEND, score = || 1);
//! ```
//!
//! | what the host sees | where it comes from |
//! |---|---|
//! | registration and devices | [`Backend`](dinrail_core::hal::Backend); names get the prefix `DINRAIL-`, so that both a program's own CPU and ours can be named |
//! | kinds of memory, buffers | the device's own, host and extra buffer types |
//! | streams | [`Stream`](dinrail_core::hal::Stream)s, one for each number of threads that the host asks for |
//! | graphs | [`Program`](dinrail_core::program::Program)s, made once for each graph and found again by comparing its tensors |
//! | named functions | `ggml_backend_set_n_threads`, `ggml_backend_dev_get_extra_bufts`, `ggml_backend_get_features`, `ggml_backend_set_abort_callback`, and what llama.cpp asks of a CPU: thread pools, NUMA |
//!
//! Nothing of ggml is linked. A host's tensors are read by their layout, and what its numbers mean is asked of the base
//! library that the host itself brought; a host that can't be verified gets no backend and a message that says why.
//! No panic leaves a function of this module, and nothing runs when the library is loaded.
//!
//! A CPU device is an accelerator (`ACCEL`) to a host that has a CPU device already, since hosts use only one CPU: ggml
//! means by that kind what is used together with the CPU. The variable `DINRAIL_GGML_KIND` (`cpu`, `gpu`, `igpu`, `accel`)
//! says otherwise.

mod buffer;
mod cache;
mod codes;
mod device;
mod face;
mod graph;
mod host;
mod lent;
mod named;
mod node;
mod stream;
#[cfg(test)]
mod tests;
mod text;
mod transfer;

pub use face::Export;

/// Runs what C called. A panic must not cross into C: it becomes `failed`.
fn guard<R>(failed: R, f: impl FnOnce() -> R) -> R {
    std::panic::catch_unwind(core::panic::AssertUnwindSafe(f)).unwrap_or(failed)
}

#[doc(hidden)]
pub fn score(f: impl FnOnce() -> u32) -> i32 {
    guard(0, || i32::try_from(f()).unwrap_or(i32::MAX))
}

/// Makes the library that is being compiled a plug-in of ggml's with this backend (a `static` that implements
/// [`Backend`](dinrail_core::hal::Backend)).
///
/// `score` is a function or closure that gives a `u32`: how well the library suits this machine, 0 for not at all. It is
/// called before anything else, on processors that may lack what the rest was compiled for; it must not use more than
/// the baseline. Without it the library is taken where no other has an opinion.
#[macro_export]
macro_rules! export_backend {
    ($backend:expr $(, score = $score:expr)? $(,)?) => {
        const _: () = {
            static EXPORT: $crate::export::Export = $crate::export::Export::new(&$backend);

            #[unsafe(no_mangle)]
            extern "C" fn ggml_backend_init() -> *mut $crate::abi::Reg {
                EXPORT.ggml()
            }

            #[unsafe(no_mangle)]
            extern "C" fn dinrail_backend_init() -> *mut $crate::abi::Reg {
                EXPORT.dinrail()
            }

            $(
                #[unsafe(no_mangle)]
                extern "C" fn ggml_backend_score() -> i32 {
                    $crate::export::score($score)
                }
            )?
        };
    };
}
