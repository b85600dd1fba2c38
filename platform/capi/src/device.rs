//! Backends and devices
//!
//! The library has a table of backends. Those that were compiled in are there from the start, accelerators first; nothing
//! has to be called for that, and no linker option is needed. A backend, a device and a kind of memory are small values:
//! copy them as you like; they are valid for the life of the program, and are told apart by their names. One of all zeros
//! stands for none.

use crate::border::{Out, answer, guard, some, string};
use crate::error::{Fault, dinrail_error, dinrail_status};
use crate::text::dinrail_str;
use core::ffi::{c_char, c_void};
use dinrail::Error;
use dinrail::hal::{Backend, BufferType, Device, DeviceKind};

/// A backend: the devices that one part of the library drives.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct dinrail_backend {
    words_: [*const c_void; 2],
}

/// A processor.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct dinrail_device {
    words_: [*const c_void; 2],
}

/// A kind of memory.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct dinrail_buffer_type {
    words_: [*const c_void; 2],
}

macro_rules! value {
    ($object:ident stands for $interface:ident, $name:literal) => {
        const _: () =
            assert!(size_of::<&'static dyn $interface>() == size_of::<[*const c_void; 2]>());

        impl $object {
            pub(crate) const NONE: Self = Self { words_: [core::ptr::null(); 2] };

            pub(crate) fn of(it: &'static dyn $interface) -> Self {
                // SAFETY: the reference has this size, and any two words are a valid array of pointers.
                let words_ = unsafe {
                    core::mem::transmute::<&'static dyn $interface, [*const c_void; 2]>(it)
                };
                Self { words_ }
            }

            pub(crate) fn get(self) -> Result<&'static dyn $interface, Fault> {
                if self.words_.iter().any(|w| w.is_null()) {
                    return Err(Fault::Null($name));
                }
                // SAFETY: one that isn't all zeros was made by `of`, of a reference that is valid for ever.
                Ok(unsafe {
                    core::mem::transmute::<[*const c_void; 2], &'static dyn $interface>(self.words_)
                })
            }
        }
    };
}

value!(dinrail_backend stands for Backend, "backend");
value!(dinrail_device stands for Device, "device");
value!(dinrail_buffer_type stands for BufferType, "buffer type");

/// What kind of processor a device is.
pub type dinrail_device_kind = u32;
/// The host's own processor and memory.
pub const DINRAIL_DEVICE_CPU: u32 = 0;
/// A graphics processor with memory of its own.
pub const DINRAIL_DEVICE_GPU: u32 = 1;
/// A graphics processor that uses the host's memory.
pub const DINRAIL_DEVICE_IGPU: u32 = 2;
/// Something to be used together with the CPU.
pub const DINRAIL_DEVICE_ACCEL: u32 = 3;
/// Several devices that act as one.
pub const DINRAIL_DEVICE_META: u32 = 4;
/// A kind that is younger than this header.
pub const DINRAIL_DEVICE_OTHER: u32 = 255;

/// Transfers and graphs are queued, and run while the host goes on.
pub const DINRAIL_CAP_ASYNC: u32 = 1;
/// There is host memory from which transfers are fast.
pub const DINRAIL_CAP_HOST_BUFFER: u32 = 2;
/// Buffers can be made of memory that the host lends.
pub const DINRAIL_CAP_BUFFER_FROM_HOST: u32 = 4;
/// There are events.
pub const DINRAIL_CAP_EVENTS: u32 = 8;

/// What a device is.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct dinrail_device_props {
    /// Short name, unique in the table, such as "CPU".
    pub name: dinrail_str,
    /// A name for people, such as the model of the processor.
    pub description: dinrail_str,
    /// Instruction level or architecture of its kernels, such as "avx2".
    pub level: dinrail_str,
    /// Identity of the hardware (PCI address), the same in all backends; empty where there is none.
    pub id: dinrail_str,
    /// One of DINRAIL_DEVICE_*.
    pub kind: dinrail_device_kind,
    /// Sum of DINRAIL_CAP_*.
    pub caps: u32,
    /// Bytes that are free at this moment; 0 where unknown.
    pub memory_free: u64,
    /// Bytes in all; 0 where unknown.
    pub memory_total: u64,
}

/// What a kind of memory is.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct dinrail_buffer_type_props {
    /// Short name.
    pub name: dinrail_str,
    /// What offsets of tensors must be multiples of, in bytes.
    pub alignment: usize,
    /// Bytes of the largest buffer.
    pub max_size: usize,
    /// Whether it is host memory in the standard layout.
    pub is_host: bool,
    /// Whether tensors are stored in another order, so that they are written whole.
    pub is_repacked: bool,
}

fn kind_of(kind: DeviceKind) -> dinrail_device_kind {
    match kind {
        DeviceKind::Cpu => DINRAIL_DEVICE_CPU,
        DeviceKind::Gpu => DINRAIL_DEVICE_GPU,
        DeviceKind::IntegratedGpu => DINRAIL_DEVICE_IGPU,
        DeviceKind::Accelerator => DINRAIL_DEVICE_ACCEL,
        DeviceKind::Meta => DINRAIL_DEVICE_META,
        _ => DINRAIL_DEVICE_OTHER,
    }
}

pub(crate) fn kind_from(kind: dinrail_device_kind) -> Result<DeviceKind, Fault> {
    Ok(match kind {
        DINRAIL_DEVICE_CPU => DeviceKind::Cpu,
        DINRAIL_DEVICE_GPU => DeviceKind::Gpu,
        DINRAIL_DEVICE_IGPU => DeviceKind::IntegratedGpu,
        DINRAIL_DEVICE_ACCEL => DeviceKind::Accelerator,
        DINRAIL_DEVICE_META => DeviceKind::Meta,
        other => {
            let value = i64::from(other);
            return Err(Error::Invalid { what: "kind of device", value }.into());
        }
    })
}

/// Writes what was looked for, or nothing.
fn found<T, C>(
    out: Out<'_, C>,
    none: C,
    make: impl FnOnce(T) -> C,
    what: impl FnOnce() -> Result<Option<T>, Fault>,
) -> Result<(), Fault> {
    let out = some(out, "out")?;
    // Whatever goes wrong: a program that doesn't look has nothing, and not what was on its stack.
    out.write(none);
    out.write(make(what()?.ok_or(Error::NotFound)?));
    Ok(())
}

/// How many backends there are.
///
/// Threads: any, and interrupts.
#[unsafe(export_name = symbol!("backend_count"))]
pub extern "C" fn dinrail_backend_count() -> usize {
    guard(0, || dinrail::registry().backend_count())
}

/// Backend `index` of the table, counted from 0.
///
/// Threads: any, and interrupts.
#[unsafe(export_name = symbol!("backend_at"))]
pub extern "C" fn dinrail_backend_at(
    index: usize,
    out: Out<dinrail_backend>,
    error: Out<dinrail_error>,
) -> dinrail_status {
    answer(error, || {
        let it = || Ok(dinrail::registry().backends().nth(index));
        found(out, dinrail_backend::NONE, |(_, b)| dinrail_backend::of(b), it)
    })
}

/// The backend of this name; capitals don't matter.
///
/// Threads: any, and interrupts.
///
/// # Safety
/// `name` is NULL or a string.
#[unsafe(export_name = symbol!("backend_by_name"))]
pub unsafe extern "C" fn dinrail_backend_by_name(
    name: *const c_char,
    out: Out<dinrail_backend>,
    error: Out<dinrail_error>,
) -> dinrail_status {
    // SAFETY: the caller promises it.
    let name = unsafe { string(name, "name") };
    answer(error, || {
        let it = || Ok(dinrail::registry().backend_by_name(some(name?, "name")?));
        found(out, dinrail_backend::NONE, |(_, b)| dinrail_backend::of(b), it)
    })
}

/// A backend's name, such as "CPU"; empty for none.
///
/// Threads: any, and interrupts.
#[unsafe(export_name = symbol!("backend_name"))]
pub extern "C" fn dinrail_backend_name(backend: dinrail_backend) -> dinrail_str {
    guard(dinrail_str::NONE, || {
        backend.get().map_or(dinrail_str::NONE, |b| dinrail_str::of(b.name()))
    })
}

/// How many devices a backend has.
///
/// Threads: any, and interrupts.
#[unsafe(export_name = symbol!("backend_device_count"))]
pub extern "C" fn dinrail_backend_device_count(backend: dinrail_backend) -> usize {
    guard(0, || backend.get().map_or(0, |b| b.device_count()))
}

/// Device `index` of a backend, counted from 0. DINRAIL_ERROR_NOT_FOUND also for a device that is there but can't be used.
///
/// Threads: any, and interrupts.
#[unsafe(export_name = symbol!("backend_device"))]
pub extern "C" fn dinrail_backend_device(
    backend: dinrail_backend,
    index: usize,
    out: Out<dinrail_device>,
    error: Out<dinrail_error>,
) -> dinrail_status {
    answer(error, || {
        found(out, dinrail_device::NONE, dinrail_device::of, || {
            let backend = backend.get()?;
            Ok(if index < backend.device_count() { backend.device(index) } else { None })
        })
    })
}

/// How many devices all backends have together.
///
/// Threads: any, and interrupts.
#[unsafe(export_name = symbol!("device_count"))]
pub extern "C" fn dinrail_device_count() -> usize {
    guard(0, || dinrail::registry().device_count())
}

/// Device `index` of all, counted from 0.
///
/// Threads: any, and interrupts.
#[unsafe(export_name = symbol!("device_at"))]
pub extern "C" fn dinrail_device_at(
    index: usize,
    out: Out<dinrail_device>,
    error: Out<dinrail_error>,
) -> dinrail_status {
    answer(error, || {
        let it = || Ok(dinrail::registry().devices().nth(index));
        found(out, dinrail_device::NONE, dinrail_device::of, it)
    })
}

/// The device of this name; capitals don't matter.
///
/// Threads: any, and interrupts.
///
/// # Safety
/// `name` is NULL or a string.
#[unsafe(export_name = symbol!("device_by_name"))]
pub unsafe extern "C" fn dinrail_device_by_name(
    name: *const c_char,
    out: Out<dinrail_device>,
    error: Out<dinrail_error>,
) -> dinrail_status {
    // SAFETY: the caller promises it.
    let name = unsafe { string(name, "name") };
    answer(error, || {
        let it = || Ok(dinrail::registry().device_by_name(some(name?, "name")?));
        found(out, dinrail_device::NONE, dinrail_device::of, it)
    })
}

/// The first device of this kind.
///
/// Threads: any, and interrupts.
#[unsafe(export_name = symbol!("device_by_kind"))]
pub extern "C" fn dinrail_device_by_kind(
    kind: dinrail_device_kind,
    out: Out<dinrail_device>,
    error: Out<dinrail_error>,
) -> dinrail_status {
    answer(error, || {
        let it = || Ok(dinrail::registry().device_by_kind(kind_from(kind)?));
        found(out, dinrail_device::NONE, dinrail_device::of, it)
    })
}

/// The device to use when nobody says which: the first GPU, else the first integrated one, else the first CPU.
///
/// Threads: any, and interrupts.
#[unsafe(export_name = symbol!("device_best"))]
pub extern "C" fn dinrail_device_best(
    out: Out<dinrail_device>,
    error: Out<dinrail_error>,
) -> dinrail_status {
    answer(error, || {
        let it = || Ok(dinrail::registry().best_device());
        found(out, dinrail_device::NONE, dinrail_device::of, it)
    })
}

/// What a device is. Its text lives as long as the program.
///
/// Threads: any.
#[unsafe(export_name = symbol!("device_get_props"))]
pub extern "C" fn dinrail_device_get_props(
    device: dinrail_device,
    out: Out<dinrail_device_props>,
    error: Out<dinrail_error>,
) -> dinrail_status {
    answer(error, || {
        let device = device.get()?;
        let (memory, caps) = (device.memory(), device.caps());
        let bit = |yes: bool, bit: u32| if yes { bit } else { 0 };
        some(out, "out")?.write(dinrail_device_props {
            name: dinrail_str::of(device.name()),
            description: dinrail_str::of(device.description()),
            level: dinrail_str::of(device.level()),
            id: device.id().map_or(dinrail_str::NONE, dinrail_str::of),
            kind: kind_of(device.kind()),
            caps: bit(caps.asynchronous, DINRAIL_CAP_ASYNC)
                | bit(caps.host_buffer, DINRAIL_CAP_HOST_BUFFER)
                | bit(caps.buffer_from_host, DINRAIL_CAP_BUFFER_FROM_HOST)
                | bit(caps.events, DINRAIL_CAP_EVENTS),
            memory_free: memory.free as u64,
            memory_total: memory.total as u64,
        });
        Ok(())
    })
}

/// The kind of memory that a device computes in; none for no device.
///
/// Threads: any.
#[unsafe(export_name = symbol!("device_buffer_type"))]
pub extern "C" fn dinrail_device_buffer_type(device: dinrail_device) -> dinrail_buffer_type {
    guard(dinrail_buffer_type::NONE, || match device.get() {
        Ok(device) => dinrail_buffer_type::of(device.buffer_type()),
        Err(_) => dinrail_buffer_type::NONE,
    })
}

/// Host memory from which transfers to a device are fast; none where there is no such thing.
///
/// Threads: any.
#[unsafe(export_name = symbol!("device_host_buffer_type"))]
pub extern "C" fn dinrail_device_host_buffer_type(device: dinrail_device) -> dinrail_buffer_type {
    guard(dinrail_buffer_type::NONE, || match device.get().map(|d| d.host_buffer_type()) {
        Ok(Some(ty)) => dinrail_buffer_type::of(ty),
        _ => dinrail_buffer_type::NONE,
    })
}

/// Another kind of memory that a device can compute in (weights in another order), best first; none past the last.
///
/// Threads: any.
#[unsafe(export_name = symbol!("device_extra_buffer_type"))]
pub extern "C" fn dinrail_device_extra_buffer_type(
    device: dinrail_device,
    index: usize,
) -> dinrail_buffer_type {
    guard(dinrail_buffer_type::NONE, || match device.get().map(|d| d.extra_buffer_type(index)) {
        Ok(Some(ty)) => dinrail_buffer_type::of(ty),
        _ => dinrail_buffer_type::NONE,
    })
}

/// Whether a device can compute in this kind of memory.
///
/// Threads: any.
#[unsafe(export_name = symbol!("device_supports_buffer_type"))]
pub extern "C" fn dinrail_device_supports_buffer_type(
    device: dinrail_device,
    buffer_type: dinrail_buffer_type,
) -> bool {
    guard(false, || match (device.get(), buffer_type.get()) {
        (Ok(device), Ok(ty)) => device.supports_buffer_type(ty),
        _ => false,
    })
}

/// What a kind of memory is. Its name lives as long as the program.
///
/// Threads: any.
#[unsafe(export_name = symbol!("buffer_type_get_props"))]
pub extern "C" fn dinrail_buffer_type_get_props(
    buffer_type: dinrail_buffer_type,
    out: Out<dinrail_buffer_type_props>,
    error: Out<dinrail_error>,
) -> dinrail_status {
    answer(error, || {
        let ty = buffer_type.get()?;
        some(out, "out")?.write(dinrail_buffer_type_props {
            name: dinrail_str::of(ty.name()),
            alignment: ty.alignment(),
            max_size: ty.max_size(),
            is_host: ty.is_host(),
            is_repacked: ty.is_repacked(),
        });
        Ok(())
    })
}
