//! The functions of a device.

use super::face::{Dev, Type};
use super::{buffer, guard, node, stream};
use crate::abi::{self, DeviceI, Props, Tensor};
use core::ffi::{c_char, c_void};
use core::ptr::{null, null_mut};
use dinrail_core::hal::{Device, Event};

/// The table of a device: optional functions only where the device has them.
pub(crate) fn table(d: &'static dyn Device) -> DeviceI {
    let caps = d.caps();
    DeviceI {
        get_name: Some(name),
        get_description: Some(description),
        get_memory: Some(memory),
        get_type: Some(kind),
        get_props: Some(props),
        init_backend: Some(stream::open),
        get_buffer_type: Some(buffer_type),
        get_host_buffer_type: d.host_buffer_type().map(|_| host_buffer_type as _),
        buffer_from_host_ptr: caps.buffer_from_host.then_some(from_host as _),
        supports_op: Some(supports_op),
        supports_buft: Some(supports_type),
        offload_op: Some(offload_op),
        event_new: caps.events.then_some(event_new as _),
        event_free: caps.events.then_some(event_free as _),
        event_synchronize: caps.events.then_some(event_synchronize as _),
    }
}

/// # Safety
/// `d` is a device that a face holds.
pub(crate) unsafe fn dev(d: *mut abi::Device) -> &'static Dev {
    // SAFETY: ggml's structure is the first part of ours, which stays where it is and is not written again.
    unsafe { &*d.cast::<Dev>() }
}

unsafe extern "C" fn name(d: *mut abi::Device) -> *const c_char {
    // SAFETY: the host passes what it got; so in all functions of this file.
    unsafe { dev(d) }.name.as_ptr()
}

unsafe extern "C" fn description(d: *mut abi::Device) -> *const c_char {
    // SAFETY: as above.
    unsafe { dev(d) }.description.as_ptr()
}

unsafe extern "C" fn memory(d: *mut abi::Device, free: *mut usize, total: *mut usize) {
    // SAFETY: as above.
    let dev = unsafe { dev(d) };
    let m = guard(Default::default(), || dev.device.memory());
    if !free.is_null() {
        // SAFETY: the host gives a place for it.
        unsafe { free.write(m.free) };
    }
    if !total.is_null() {
        // SAFETY: the host gives a place for it.
        unsafe { total.write(m.total) };
    }
}

unsafe extern "C" fn kind(d: *mut abi::Device) -> i32 {
    // SAFETY: as above.
    unsafe { dev(d) }.kind as i32
}

unsafe extern "C" fn props(d: *mut abi::Device, out: *mut c_void) {
    // SAFETY: as above.
    let dev = unsafe { dev(d) };
    let m = guard(Default::default(), || dev.device.memory());
    let caps = dev.device.caps();
    let props = Props {
        name: dev.name.as_ptr(),
        description: dev.description.as_ptr(),
        memory_free: m.free,
        memory_total: m.total,
        kind: dev.kind as i32,
        device_id: if dev.id.is_empty() { null() } else { dev.id.as_ptr() },
        asynchronous: caps.asynchronous,
        host_buffer: dev.device.host_buffer_type().is_some(),
        buffer_from_host_ptr: caps.buffer_from_host,
        events: caps.events,
        mmap_support: true,
    };
    if !out.is_null() {
        // SAFETY: the host gives a place for properties of the layout that its release has.
        unsafe { out.cast::<Props>().write(props) };
    }
}

unsafe extern "C" fn buffer_type(d: *mut abi::Device) -> *mut abi::BufferType {
    // SAFETY: as above.
    unsafe { dev(d) }.own_type()
}

unsafe extern "C" fn host_buffer_type(d: *mut abi::Device) -> *mut abi::BufferType {
    // SAFETY: as above.
    unsafe { dev(d) }.host_type()
}

unsafe extern "C" fn from_host(
    d: *mut abi::Device,
    ptr: *mut c_void,
    size: usize,
    max_tensor: usize,
) -> *mut abi::Buffer {
    guard(null_mut(), || {
        // SAFETY: as above.
        let dev = unsafe { dev(d) };
        if ptr.is_null() {
            return null_mut();
        }
        // SAFETY: the host lends this memory until it frees the buffer.
        let bytes: &'static [u8] = unsafe { core::slice::from_raw_parts(ptr.cast(), size) };
        match dev.device.buffer_from_host(bytes, max_tensor) {
            Ok(b) => buffer::wrap(dev.own_type(), b, Some(ptr.cast())),
            Err(e) => {
                dev.face().complain(&format!("memory of the host can't be used: {e}"));
                null_mut()
            }
        }
    })
}

unsafe extern "C" fn supports_op(d: *mut abi::Device, t: *const Tensor) -> bool {
    guard(false, || {
        // SAFETY: as above.
        let dev = unsafe { dev(d) };
        // SAFETY: the host passes a whole tensor with its sources.
        unsafe { node::supports(dev, t) }
    })
}

/// Whether it is a kind of memory of this plug-in.
///
/// # Safety
/// `ty` points to a kind of memory.
pub(crate) unsafe fn ours(ty: *mut abi::BufferType) -> Option<&'static Type> {
    // SAFETY: the caller promises.
    let alloc = unsafe { (*ty).iface.alloc_buffer };
    let same = alloc.is_some_and(|f| core::ptr::fn_addr_eq(f, buffer::ALLOC));
    // SAFETY: with this function it is the first part of a `Type`.
    same.then(|| unsafe { &*ty.cast::<Type>() })
}

/// Whether it is host memory in the standard layout.
///
/// # Safety
/// `ty` points to a kind of memory.
pub(crate) unsafe fn is_host(ty: *mut abi::BufferType) -> bool {
    // SAFETY: the caller promises.
    let f = unsafe { (*ty).iface.is_host };
    // SAFETY: the kind's own function.
    f.is_some_and(|f| unsafe { f(ty) })
}

unsafe extern "C" fn supports_type(d: *mut abi::Device, ty: *mut abi::BufferType) -> bool {
    guard(false, || {
        // SAFETY: as above.
        let dev = unsafe { dev(d) };
        if ty.is_null() {
            return false;
        }
        // SAFETY: the host passes a kind of memory.
        match unsafe { ours(ty) } {
            Some(t) => dev.device.supports_buffer_type(t.ty),
            // SAFETY: as above.
            None => dev.host_memory && unsafe { is_host(ty) },
        }
    })
}

unsafe extern "C" fn offload_op(d: *mut abi::Device, t: *const Tensor) -> bool {
    guard(false, || {
        // SAFETY: as above.
        let dev = unsafe { dev(d) };
        // SAFETY: the host passes a whole tensor with its sources.
        unsafe { node::offload(dev, t) }
    })
}

unsafe extern "C" fn event_new(d: *mut abi::Device) -> *mut abi::Event {
    guard(null_mut(), || {
        // SAFETY: as above.
        let dev = unsafe { dev(d) };
        let Ok(event) = Event::new(dev.device) else { return null_mut() };
        let context = Box::into_raw(Box::new(event)).cast();
        Box::into_raw(Box::new(abi::Event { device: d, context }))
    })
}

unsafe extern "C" fn event_free(_d: *mut abi::Device, e: *mut abi::Event) {
    guard((), || {
        if !e.is_null() {
            // SAFETY: `event_new` made it, and it comes back once.
            let e = unsafe { Box::from_raw(e) };
            // SAFETY: as above.
            drop(unsafe { Box::from_raw(e.context.cast::<Event>()) });
        }
    });
}

/// # Safety
/// `e` is one that `event_new` made.
pub(crate) unsafe fn event<'a>(e: *mut abi::Event) -> &'a Event {
    // SAFETY: the caller promises.
    let context = unsafe { (*e).context };
    // SAFETY: as above.
    unsafe { &*context.cast::<Event>() }
}

unsafe extern "C" fn event_synchronize(d: *mut abi::Device, e: *mut abi::Event) {
    guard((), || {
        // SAFETY: the host passes what it got.
        if let Err(error) = unsafe { event(e) }.synchronize() {
            // SAFETY: as above.
            unsafe { dev(d) }.face().complain(&format!("waiting for an event: {error}"));
        }
    });
}
