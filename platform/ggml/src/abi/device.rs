//! Registrations, devices, events, and the functions that are found by name.

use super::{Buffer, BufferType, Stream, Tensor};
use core::ffi::{c_char, c_void};

/// The functions of a registration.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct RegI {
    /// Name.
    pub get_name: Option<unsafe extern "C" fn(*mut Reg) -> *const c_char>,
    /// How many devices.
    pub get_device_count: Option<unsafe extern "C" fn(*mut Reg) -> usize>,
    /// A device.
    pub get_device: Option<unsafe extern "C" fn(*mut Reg, usize) -> *mut Device>,
    /// A function by name, or null; optional.
    pub get_proc_address: Option<unsafe extern "C" fn(*mut Reg, *const c_char) -> *mut c_void>,
}

/// `ggml_backend_reg`. The version comes first in every version.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Reg {
    /// Version of the interface.
    pub api_version: i32,
    /// Functions.
    pub iface: RegI,
    /// The backend's own.
    pub context: *mut c_void,
}

/// What `event_new` is.
pub type EventNew = unsafe extern "C" fn(*mut Device) -> *mut Event;

/// The functions of a device.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct DeviceI {
    /// Name.
    pub get_name: Option<unsafe extern "C" fn(*mut Device) -> *const c_char>,
    /// Name for people.
    pub get_description: Option<unsafe extern "C" fn(*mut Device) -> *const c_char>,
    /// Free and total bytes.
    pub get_memory: Option<unsafe extern "C" fn(*mut Device, *mut usize, *mut usize)>,
    /// [`DeviceType`].
    pub get_type: Option<unsafe extern "C" fn(*mut Device) -> i32>,
    /// Fills [`Props`].
    pub get_props: Option<unsafe extern "C" fn(*mut Device, *mut c_void)>,
    /// A new stream, or null.
    pub init_backend: Option<unsafe extern "C" fn(*mut Device, *const c_char) -> *mut Stream>,
    /// The memory that kernels use.
    pub get_buffer_type: Option<unsafe extern "C" fn(*mut Device) -> *mut BufferType>,
    /// Pinned host memory, or null; optional.
    pub get_host_buffer_type: Option<unsafe extern "C" fn(*mut Device) -> *mut BufferType>,
    /// A buffer made of host memory: pointer, size, largest tensor; or null; optional.
    pub buffer_from_host_ptr:
        Option<unsafe extern "C" fn(*mut Device, *mut c_void, usize, usize) -> *mut Buffer>,
    /// Whether the node can be computed.
    pub supports_op: Option<unsafe extern "C" fn(*mut Device, *const Tensor) -> bool>,
    /// Whether kernels can use the memory.
    pub supports_buft: Option<unsafe extern "C" fn(*mut Device, *mut BufferType) -> bool>,
    /// Whether the node is worth a copy of its weights; optional.
    pub offload_op: Option<unsafe extern "C" fn(*mut Device, *const Tensor) -> bool>,
    /// A new event; optional.
    pub event_new: Option<EventNew>,
    /// Frees one; optional.
    pub event_free: Option<unsafe extern "C" fn(*mut Device, *mut Event)>,
    /// Waits for one; optional.
    pub event_synchronize: Option<unsafe extern "C" fn(*mut Device, *mut Event)>,
}

/// `ggml_backend_device`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Device {
    /// Functions.
    pub iface: DeviceI,
    /// Its registration.
    pub reg: *mut Reg,
    /// The backend's own.
    pub context: *mut c_void,
}

/// `ggml_backend_event`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Event {
    /// Its device.
    pub device: *mut Device,
    /// The backend's own.
    pub context: *mut c_void,
}

/// `ggml_backend_dev_type`. Version 1 has 0 CPU, 1 GPU, 2 accelerator; version 2 puts the integrated GPU between.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum DeviceType {
    /// The host.
    Cpu = 0,
    /// A GPU with its own memory.
    Gpu = 1,
    /// A GPU with the host's memory.
    IntegratedGpu = 2,
    /// Works beside the CPU.
    Accelerator = 3,
    /// Several devices as one.
    Meta = 4,
}

/// `ggml_backend_dev_props` of version 2. Version 1 has no `device_id`: there the capabilities follow `kind` directly.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Props {
    /// Name.
    pub name: *const c_char,
    /// Name for people.
    pub description: *const c_char,
    /// Free bytes.
    pub memory_free: usize,
    /// All bytes.
    pub memory_total: usize,
    /// [`DeviceType`].
    pub kind: i32,
    /// PCI address, or null.
    pub device_id: *const c_char,
    /// Queued transfers and graphs.
    pub asynchronous: bool,
    /// Pinned host memory.
    pub host_buffer: bool,
    /// Buffers of host memory.
    pub buffer_from_host_ptr: bool,
    /// Events.
    pub events: bool,
    /// Mapped files can be loaded from (ggml 0.25 and later).
    pub mmap_support: bool,
}

/// Type of the entry point.
pub type InitFn = unsafe extern "C" fn() -> *mut Reg;
/// Type of the score function: higher is better, 0 means "not on this machine".
pub type ScoreFn = unsafe extern "C" fn() -> i32;
/// `ggml_backend_set_n_threads`.
pub type SetThreads = unsafe extern "C" fn(*mut Stream, i32);
/// `ggml_backend_dev_get_extra_bufts`: a list that ends with null.
pub type GetExtraBufferTypes = unsafe extern "C" fn(*mut Device) -> *mut *mut BufferType;
/// `ggml_backend_get_features`: a list that ends with a null name.
pub type GetFeatures = unsafe extern "C" fn(*mut Reg) -> *mut Feature;

/// A feature of a library, such as AVX2 = 1.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Feature {
    /// Name, or null at the end of the list.
    pub name: *const c_char,
    /// Value.
    pub value: *const c_char,
}

const WORD: usize = size_of::<usize>();
const _: () = {
    assert!(size_of::<Reg>() == 6 * WORD);
    assert!(size_of::<DeviceI>() == 15 * WORD);
    assert!(size_of::<Device>() == 17 * WORD);
};
