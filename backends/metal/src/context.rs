//! What a device's streams share: the queue and the pipelines.

use crate::family::{self, Family};
use crate::msl;
use dinrail_core::error::{Error, Result};
use dinrail_core::hal::BufferType;
use dinrail_wgsl::{KERNELS, Limits};
use objc2::rc::Retained;
use objc2::runtime::ProtocolObject;
use objc2_foundation::{NSError, NSString};
use objc2_metal::{
    MTLCommandBuffer, MTLCommandQueue, MTLComputePipelineState, MTLDevice, MTLGPUFamily,
    MTLLibrary, MTLSharedEvent,
};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// A pipeline.
pub type Pipeline = Retained<ProtocolObject<dyn MTLComputePipelineState>>;
/// A device of the system.
pub type Hardware = Retained<ProtocolObject<dyn MTLDevice>>;
/// A command buffer.
pub type Commands = Retained<ProtocolObject<dyn MTLCommandBuffer>>;

/// An event that any queue and the host can wait for.
pub type SharedEvent = Retained<ProtocolObject<dyn MTLSharedEvent>>;

/// A lock whose holder never panics; if one did, what it guards is still what the last call left.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An error of a call.
pub fn failed(call: &'static str, e: &NSError) -> Error {
    Error::Device { call, code: e.code() as i64 }
}

/// A call that gave nothing, for which the system gives no code.
pub fn nothing(call: &'static str) -> Error {
    Error::Device { call, code: 0 }
}

/// Queue and pipelines of a device.
pub struct Context {
    /// The device.
    pub hardware: Hardware,
    /// What kernels may use and rely on.
    pub limits: Limits,
    /// The kinds of memory whose buffers kernels take.
    pub types: [&'static dyn BufferType; 2],
    queue: Retained<ProtocolObject<dyn MTLCommandQueue>>,
    pipelines: Box<[OnceLock<Pipeline>]>,
    making: Mutex<()>,
}

/// What kernels may use on a device; `None` if they can't run on it.
pub fn limits(hardware: &Hardware) -> Option<Limits> {
    let belongs = |f| {
        hardware.supportsFamily(match f {
            Family::Common2 => MTLGPUFamily::Common2,
            Family::Apple7 => MTLGPUFamily::Apple7,
            Family::Mac2 => MTLGPUFamily::Mac2,
        })
    };
    family::limits(belongs, hardware.maxBufferLength())
}

impl Context {
    /// Makes a queue.
    pub fn new(
        hardware: &Hardware,
        limits: Limits,
        types: [&'static dyn BufferType; 2],
    ) -> Result<Self> {
        let queue = hardware.newCommandQueue().ok_or(nothing("newCommandQueue"))?;
        Ok(Self {
            hardware: hardware.clone(),
            limits,
            types,
            queue,
            pipelines: KERNELS.iter().map(|_| OnceLock::new()).collect(),
            making: Mutex::new(()),
        })
    }

    /// An empty command buffer.
    pub fn commands(&self) -> Result<Commands> {
        self.queue.commandBuffer().ok_or(nothing("commandBuffer"))
    }

    /// A kernel's pipeline, made when it is first needed.
    pub fn pipeline(&self, kernel: u16) -> Result<Pipeline> {
        let slot = self
            .pipelines
            .get(usize::from(kernel))
            .ok_or(Error::NotOffered { function: "this kernel" })?;
        if let Some(p) = slot.get() {
            return Ok(p.clone());
        }
        let _alone = lock(&self.making);
        if let Some(p) = slot.get() {
            return Ok(p.clone());
        }
        let text = NSString::from_str(msl::text(kernel));
        let library = self
            .hardware
            .newLibraryWithSource_options_error(&text, None)
            .map_err(|e| failed("newLibraryWithSource", &e))?;
        let entry = NSString::from_str(msl::ENTRY);
        let function = library.newFunctionWithName(&entry).ok_or(nothing("newFunctionWithName"))?;
        let made = self
            .hardware
            .newComputePipelineStateWithFunction_error(&function)
            .map_err(|e| failed("newComputePipelineState", &e))?;
        Ok(slot.get_or_init(|| made).clone())
    }
}
