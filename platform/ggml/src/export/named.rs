//! Functions that hosts ask for by name.

use super::face::{self, Face};
use super::stream;
use crate::abi::{self, Feature, names};
use core::ffi::c_void;
use core::ptr::null_mut;

/// Where `n_threads` lies in `ggml_threadpool_params`: behind a mask of 512 processors.
const POOL_THREADS_AT: usize = 512;

/// The function of a name, or null.
pub(crate) fn find(face: &Face, name: &str) -> *mut c_void {
    macro_rules! function {
        ($f:expr, $t:ty) => {
            ($f as $t) as *mut c_void
        };
    }
    type SetAbort = unsafe extern "C" fn(*mut abi::Stream, Option<stream::Abort>, *mut c_void);
    let cpu = face.devices().any(|d| d.kind == abi::DeviceType::Cpu);
    let threads = face.devices().any(|d| d.host_memory);
    match name {
        "ggml_backend_set_n_threads" if threads => {
            function!(stream::set_threads, abi::SetThreads)
        }
        "ggml_backend_dev_get_extra_bufts" => function!(extra_types, abi::GetExtraBufferTypes),
        "ggml_backend_get_features" => function!(features, abi::GetFeatures),
        "ggml_backend_set_abort_callback" => function!(stream::set_abort, SetAbort),
        // What llama.cpp calls on the CPU without looking whether it is there.
        "ggml_threadpool_new" if cpu => {
            function!(pool_new, unsafe extern "C" fn(*const u8) -> *mut i32)
        }
        "ggml_threadpool_free" if cpu => function!(pool_free, unsafe extern "C" fn(*mut i32)),
        "ggml_backend_cpu_set_threadpool" if cpu => {
            function!(set_pool, unsafe extern "C" fn(*mut abi::Stream, *mut i32))
        }
        "ggml_backend_cpu_numa_init" if cpu => function!(numa_init, unsafe extern "C" fn(i32)),
        "ggml_backend_cpu_is_numa" if cpu => {
            function!(is_numa, unsafe extern "C" fn() -> bool)
        }
        n if face.dinrail && names::RELEASE_FUNCTION.to_str() == Ok(n) => {
            function!(release, unsafe extern "C" fn() -> u32)
        }
        _ => null_mut(),
    }
}

unsafe extern "C" fn release() -> u32 {
    names::RELEASE
}

unsafe extern "C" fn extra_types(device: *mut abi::Device) -> *mut *mut abi::BufferType {
    // SAFETY: the host passes what it got.
    let dev = unsafe { super::device::dev(device) };
    dev.extras.as_ptr().cast_mut()
}

unsafe extern "C" fn features(reg: *mut abi::Reg) -> *mut Feature {
    // SAFETY: the host passes what it got.
    let face = unsafe { face::face(reg) };
    face.features.as_ptr().cast_mut()
}

/// A pool is its number of threads: streams have teams of their own, which sleep while there is no work.
unsafe extern "C" fn pool_new(params: *const u8) -> *mut i32 {
    if params.is_null() {
        return null_mut();
    }
    let at = params.wrapping_add(POOL_THREADS_AT).cast::<i32>();
    // SAFETY: the host passes parameters of the layout that the release has.
    let threads = unsafe { at.read_unaligned() };
    Box::into_raw(Box::new(threads))
}

unsafe extern "C" fn pool_free(pool: *mut i32) {
    if !pool.is_null() {
        // SAFETY: `pool_new` made it, and it comes back once.
        drop(unsafe { Box::from_raw(pool) });
    }
}

/// The number of threads comes with each graph, through `ggml_backend_set_n_threads`.
unsafe extern "C" fn set_pool(_stream: *mut abi::Stream, _pool: *mut i32) {}

unsafe extern "C" fn numa_init(_strategy: i32) {}

unsafe extern "C" fn is_numa() -> bool {
    false
}
