//! The C types of ggml's plug-in interface: facts, and nothing that acts on them.
//!
//! Both directions use them. Interface version 1 (November 2024 to September 2025) and version 2 (since then) differ
//! in a buffer's and a stream's table of functions, and version 2 itself grew two-dimensional transfers in the middle
//! of both tables without a new number; [`Layout`] names the three. The tables of registration, device and buffer type
//! are the same in all of them.
//!
//! Every function pointer is an `Option`: C code may leave any of them null, whatever its header says.

mod buffer;
mod device;
pub mod names;
pub mod params;
mod stream;
mod tensor;

pub use buffer::{
    BUFFER_FNS_ROWS, BUFFER_FNS_SHORT, Buffer, BufferFns, BufferHead, BufferI, BufferTail,
    BufferType, BufferTypeI, InitStatus, InitVoid, Rows2d,
};
pub use device::{
    Device, DeviceI, DeviceType, Event, EventNew, Feature, GetExtraBufferTypes, GetFeatures,
    InitFn, Props, Reg, RegI, ScoreFn, SetThreads,
};
pub use stream::{Stream, StreamFns, StreamHead, StreamI, StreamIRows, StreamRows};
pub use tensor::{
    Graph, InitParams, LogCallback, MAX_SRC, OBJECT_BYTES, Tensor, TensorFlag,
    check_tensor_overhead,
};

/// Highest version of the interface that is understood.
pub const VERSION: i32 = 2;

/// Entry point of every plug-in.
pub const INIT: &str = "ggml_backend_init";
/// Optional entry point that says how well the plug-in suits this machine.
pub const SCORE: &str = "ggml_backend_score";
/// What some builds put before every name that starts with `ggml_`.
pub const PREFIX: &str = "lm_";

/// Which tables of functions a library has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// Interface version 1.
    V1,
    /// Interface version 2 before two-dimensional transfers.
    V2,
    /// Interface version 2 with two-dimensional transfers (ggml 0.9.8 and later).
    V2Rows,
}

/// `ggml_status`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Status {
    /// Memory could not be had.
    AllocFailed = -2,
    /// It failed.
    Failed = -1,
    /// It worked.
    Success = 0,
    /// It was stopped on request.
    Aborted = 1,
}

/// `ggml_backend_buffer_usage`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Usage {
    /// Anything.
    Any = 0,
    /// Weights.
    Weights = 1,
    /// Intermediate results.
    Compute = 2,
}

/// `ggml_prec`: what asks for accumulation in f32. Version 1 numbered it 1, version 2 numbers it 10.
pub const fn precision_f32(layout: Layout) -> i32 {
    match layout {
        Layout::V1 => 1,
        Layout::V2 | Layout::V2Rows => 10,
    }
}
