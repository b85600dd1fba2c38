//! Devices of the library.

use crate::abi::{self, DeviceI, Layout, Tensor};
use crate::backend::{Library, Loaded, Parts};
use crate::buffer::{State as BufferState, failed};
use crate::buffer_type::{self, BufferType, LENDING, Role};
use crate::graph;
use crate::stream::State;
use crate::text;
use core::ptr::NonNull;
use dinrail_core::hal::{
    self, Buffer, Caps, DeviceKind, Key, Live, Memory, Params, Query, Raw, Stream,
};
use dinrail_core::{Error, Result};
use std::ffi::CString;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// A device. Lives as long as the program.
#[derive(Debug)]
pub(crate) struct Device {
    owner: &'static Library,
    index: usize,
    name: String,
    description: String,
    kind: DeviceKind,
    props: OnceLock<Props>,
    types: Mutex<Vec<&'static BufferType>>,
    pub(crate) guid: OnceLock<[u8; 16]>,
}

/// What a device says about itself at length, which may need the hardware.
#[derive(Debug, Default)]
struct Props {
    caps: Caps,
    id: Option<String>,
}

fn kind(layout: Layout, n: i32) -> DeviceKind {
    match (layout, n) {
        (_, 1) => DeviceKind::Gpu,
        (Layout::V1, 2) | (_, 3) => DeviceKind::Accelerator,
        (_, 2) => DeviceKind::IntegratedGpu,
        (_, 4) => DeviceKind::Meta,
        _ => DeviceKind::Cpu,
    }
}

impl Device {
    pub(crate) fn new(owner: &'static Library, index: usize, parts: &Parts) -> Self {
        let layout =
            if hal::Backend::interface_version(owner) == 1 { Layout::V1 } else { Layout::V2 };
        Self {
            owner,
            index,
            name: parts.name.clone(),
            description: parts.description.clone(),
            kind: kind(layout, parts.kind),
            props: OnceLock::new(),
            types: Mutex::new(Vec::new()),
            guid: OnceLock::new(),
        }
    }

    /// Whether this adapter was made for such a device.
    pub(crate) fn is(&self, parts: &Parts) -> bool {
        self.name == parts.name && self.description == parts.description
    }

    /// The library was unloaded.
    pub(crate) fn forget(&self) {
        self.types().iter().for_each(|t| t.forget());
    }

    pub(crate) fn owner(&self) -> &'static Library {
        self.owner
    }

    fn types(&self) -> MutexGuard<'_, Vec<&'static BufferType>> {
        self.types.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The first of the device's kinds of memory for which `f` has an answer.
    pub(crate) fn find_type<R>(&self, f: impl Fn(&'static BufferType) -> Option<R>) -> Option<R> {
        self.types().iter().copied().find_map(f)
    }

    /// Runs `f` on the library and this device in it.
    pub(crate) fn with<R>(&self, f: impl FnOnce(&Loaded, &Parts) -> Result<R>) -> Result<R> {
        self.owner.with(|l| f(l, l.devices.get(self.index).ok_or(Error::Stale)?))
    }

    fn type_of(&self, role: Role) -> Option<&'static BufferType> {
        if let Some(t) = self.find_type(|t| (t.role() == role).then_some(t)) {
            return Some(t);
        }
        let ptr = self.with(|l, p| Ok(buffer_type::look(l, p, role))).ok()??;
        Some(self.keep(role, ptr))
    }

    /// The library's own kind of memory behind a handle.
    fn kept(&self, ty: &dyn hal::BufferType) -> Option<&'static BufferType> {
        let ours = |d: &Device| d.find_type(|t| core::ptr::addr_eq(t, ty).then_some(t));
        self.owner.devices().iter().find_map(ours)
    }

    fn keep(&self, role: Role, ptr: NonNull<abi::BufferType>) -> &'static BufferType {
        let mut types = self.types();
        if let Some(t) = types.iter().find(|t| t.role() == role && t.is_named(ptr)) {
            t.fill(ptr);
            return t;
        }
        let t: &'static _ = Box::leak(Box::new(BufferType::new(self.owner, self.index, role, ptr)));
        types.push(t);
        t
    }

    fn props(&self) -> &Props {
        self.props.get_or_init(|| self.with(|_, p| Ok(props(p))).unwrap_or_default())
    }

    /// The state of a stream of this device.
    pub(crate) fn state_of<'a>(&self, stream: &'a Stream) -> Option<&'a State> {
        // SAFETY: the key is only looked into.
        let state = unsafe { stream.key_for(self) }?.pointer::<State>();
        // SAFETY: `open` made the word from a box, which lives as long as the handle.
        unsafe { state.as_ref() }
    }

    /// A buffer of the library's made of host memory.
    ///
    /// # Safety
    /// The memory outlives the buffer and is not given back meanwhile.
    pub(crate) unsafe fn lend(
        &self,
        l: &Loaded,
        p: &Parts,
        bytes: NonNull<u8>,
        size: usize,
        largest: usize,
    ) -> Result<(Box<BufferState>, *mut abi::BufferType)> {
        const NONE: Error = Error::NotOffered { function: "buffer_from_host" };
        let f = p.iface.buffer_from_host_ptr.ok_or(NONE)?;
        // SAFETY: the device's own function; the caller lends the memory.
        let buffer = unsafe { f(p.ptr, bytes.as_ptr().cast(), size, largest) };
        if buffer.is_null() {
            return Err(LENDING);
        }
        // SAFETY: a new buffer of the library's.
        let (state, tail) = unsafe { BufferState::adopt(self.owner, l, buffer) }?;
        if tail.size < size { Err(LENDING) } else { Ok((state, tail.buft)) }
    }

    /// What host memory must be aligned to for the device to use it in place.
    pub(crate) fn host_alignment(&self) -> usize {
        self.type_of(Role::Own).map_or(64, |t| hal::BufferType::alignment(t).min(4096))
    }

    fn ask(&self, query: &Query<'_>, f: impl FnOnce(&Parts, *const Tensor) -> bool) -> bool {
        let asked = self.with(|l, p| {
            let Some(numbers) = &l.numbers else { return Ok(false) };
            let known = graph::known(numbers, self.kind, query);
            Ok(known && graph::scratch(numbers, query, |t| f(p, t)).unwrap_or(false))
        });
        asked.unwrap_or(false)
    }
}

/// Asks for the properties. The structure grew in the middle between the versions: whether the place of the
/// capabilities in the newer one is written to tells which it is.
fn props(parts: &Parts) -> Props {
    const MARK: u8 = 0xA5;
    const ROOM: usize = 256;
    const NEW: usize = core::mem::offset_of!(abi::Props, asynchronous);
    let word = size_of::<usize>();
    let Some(f) = parts.iface.get_props else { return Props::default() };
    let mut room = [0u64; ROOM / 8];
    let bytes = room.as_mut_ptr().cast::<u8>();
    // SAFETY: inside the room.
    unsafe { bytes.wrapping_add(NEW).write_bytes(MARK, 4) };
    // SAFETY: the device's own function, with more room than any release writes.
    unsafe { f(parts.ptr, bytes.cast()) };
    let all: Vec<u8> = room.iter().flat_map(|w| w.to_ne_bytes()).collect();
    let (old, new) = (4 * word + 4, NEW);
    let unwritten = all.get(new..new + 4).is_none_or(|b| b.contains(&MARK));
    let at = if unwritten { old } else { new };
    let flag = |i: usize| all.get(at + i) == Some(&1);
    let id = (at == new).then(|| {
        let at = core::mem::offset_of!(abi::Props, device_id);
        let mut address = [0; size_of::<usize>()];
        address.copy_from_slice(all.get(at..at + word)?);
        let p = core::ptr::with_exposed_provenance(usize::from_ne_bytes(address));
        // SAFETY: in this layout the field is a text of the library's, or null.
        unsafe { text::copy(p) }
    });
    let caps = Caps {
        asynchronous: flag(0),
        host_buffer: flag(1),
        buffer_from_host: flag(2) && parts.iface.buffer_from_host_ptr.is_some(),
        events: flag(3) && parts.iface.event_new.is_some(),
    };
    Props { caps, id: id.flatten() }
}

/// A kind of memory that can't be used, for a library that isn't loaded or gives none.
#[derive(Debug)]
struct NoMemory;

impl hal::BufferType for NoMemory {
    fn name(&self) -> &str {
        "none"
    }
    fn alloc(&'static self, _size: usize) -> Result<hal::Allocation> {
        Err(Error::Stale)
    }
    fn free(&self, _key: Key<'_>, _size: usize) {}
    fn set(&self, _: Key<'_>, _: hal::Span<'_>, _: usize, _: &[u8]) -> Result<()> {
        Err(Error::Stale)
    }
    fn get(&self, _: Key<'_>, _: hal::Span<'_>, _: usize, _: &mut [u8]) -> Result<()> {
        Err(Error::Stale)
    }
}

impl hal::Device for Device {
    fn name(&self) -> &str {
        &self.name
    }

    fn description(&self) -> &str {
        &self.description
    }

    fn memory(&self) -> Memory {
        let ask = |_: &Loaded, p: &Parts| {
            let mut m = Memory::default();
            if let Some(f) = p.iface.get_memory {
                // SAFETY: the device's own function and two places to write to.
                unsafe { f(p.ptr, &raw mut m.free, &raw mut m.total) };
            }
            Ok(m)
        };
        self.with(ask).unwrap_or_default()
    }

    fn kind(&self) -> DeviceKind {
        self.kind
    }

    fn caps(&self) -> Caps {
        self.props().caps
    }

    fn id(&self) -> Option<&str> {
        self.props().id.as_deref()
    }

    fn live(&self) -> Option<&'static Live> {
        Some(&self.owner.live)
    }

    fn open(&'static self, params: &Params<'_>) -> Result<Stream> {
        if params.threads.is_some_and(|n| n == 0 || n > 4096) {
            let value = params.threads.map_or(0, |n| i64::try_from(n).unwrap_or(i64::MAX));
            return Err(Error::Invalid { what: "number of threads", value });
        }
        let text = params.text.map(CString::new).transpose();
        let text =
            text.map_err(|_| Error::Invalid { what: "zero byte in the parameters", value: 0 })?;
        let state = self.with(|l, p| {
            let f = p.iface.init_backend.ok_or(Error::NotOffered { function: "init_backend" })?;
            let text = text.as_ref().map_or(core::ptr::null(), |t| t.as_ptr());
            // SAFETY: the device's own function; the text lives during the call.
            let stream = unsafe { f(p.ptr, text) };
            if stream.is_null() {
                return Err(failed("init_backend"));
            }
            // SAFETY: a new stream of the library's.
            unsafe { State::adopt(self, l, p, stream) }
        })?;
        let threads = match (params.threads, self.kind) {
            (Some(n), _) => Some(n),
            // ggml's own default is four, on whatever machine.
            (None, DeviceKind::Cpu) => std::thread::available_parallelism().ok().map(usize::from),
            (None, _) => None,
        };
        if let Some(n) = threads {
            match state.set_threads(n) {
                Ok(()) | Err(Error::NotOffered { .. }) => {}
                Err(e) => return Err(e),
            }
        }
        let raw = Raw::pointer(Box::into_raw(state));
        // SAFETY: this device takes the word for a boxed state, and drops it.
        Ok(unsafe { Stream::new(self, self, raw) })
    }

    fn buffer_type(&self) -> &'static dyn hal::BufferType {
        match self.type_of(Role::Own) {
            Some(t) => t,
            None => &NoMemory,
        }
    }

    fn host_buffer_type(&self) -> Option<&'static dyn hal::BufferType> {
        self.type_of(Role::Host).map(|t| t as _)
    }

    fn extra_buffer_type(&self, i: usize) -> Option<&'static dyn hal::BufferType> {
        self.type_of(Role::Extra(i)).map(|t| t as _)
    }

    fn buffer_from_host<'m>(
        &'static self,
        bytes: &'m [u8],
        max_tensor: usize,
    ) -> Result<Buffer<'m>> {
        let start = NonNull::from(bytes).cast::<u8>();
        let (address, align) = (start.as_ptr().addr(), self.host_alignment());
        if !address.is_multiple_of(align) {
            return Err(Error::Misaligned { address, align });
        }
        let made = self.with(|l, p| {
            // SAFETY: the handle borrows the bytes for `'m`.
            let (state, ty) = unsafe { self.lend(l, p, start, bytes.len(), max_tensor) }?;
            Ok((state, NonNull::new(ty).ok_or(LENDING)?))
        });
        let (state, ty) = made?;
        let ty = self.keep(Role::Lent, ty);
        // SAFETY: the type takes its own word back, and the bytes are borrowed for as long.
        Ok(unsafe { Buffer::adopt(ty, ty.allocation(state), bytes.len(), false) })
    }

    fn supports(&self, query: &Query<'_>) -> bool {
        self.ask(query, |p, t| {
            // SAFETY: the device's own function on a whole tensor with its sources.
            p.iface.supports_op.is_some_and(|f| unsafe { f(p.ptr, t) })
        })
    }

    fn supports_weights(&self, query: &Query<'_>, ty: &'static dyn hal::BufferType) -> bool {
        let Some(t) = self.kept(ty) else {
            return self.supports_buffer_type(ty) && self.supports(query);
        };
        // The library looks at the buffer that the weights lie in, so there must be one.
        let made = self.with(|l, _| t.small(l));
        let Ok(buffer) = made else { return false };
        self.ask(query, |p, node| {
            // SAFETY: a whole tensor, as `scratch` makes it.
            let weights = unsafe { (*node).src[0] };
            if weights.is_null() {
                return false;
            }
            // SAFETY: a tensor of `scratch`'s that only the library is about to read.
            unsafe { (*weights).buffer = buffer.ptr };
            // SAFETY: the device's own function on a whole tensor with its sources.
            p.iface.supports_op.is_some_and(|f| unsafe { f(p.ptr, node) })
        })
    }

    fn supports_buffer_type(&self, ty: &dyn hal::BufferType) -> bool {
        match self.kept(ty) {
            Some(t) => {
                let ask = |l: &Loaded, p: &Parts| {
                    // What was made of lent memory has no pointer until some is lent again.
                    let b = t.pointer(l)?.as_ptr();
                    // SAFETY: the device's own function on the library's own kind of memory.
                    Ok(p.iface.supports_buft.is_some_and(|f| unsafe { f(p.ptr, b) }))
                };
                self.with(ask).unwrap_or(false)
            }
            // Host memory of somebody else is used in place.
            None => ty.is_host() && self.kind == DeviceKind::Cpu && self.caps().buffer_from_host,
        }
    }

    fn offload(&self, query: &Query<'_>) -> bool {
        self.ask(query, |p, t| {
            // SAFETY: the device's own function on a whole tensor with its sources.
            p.iface.offload_op.is_some_and(|f| unsafe { f(p.ptr, t) })
        })
    }

    fn event_new(&self) -> Result<Raw> {
        const NONE: Error = Error::NotOffered { function: "event_new" };
        self.with(|_, p| {
            let f = p.iface.event_new.ok_or(NONE)?;
            // SAFETY: the device's own function.
            let event = unsafe { f(p.ptr) };
            if event.is_null() {
                return Err(NONE);
            }
            self.owner.object_made();
            Ok(Raw::pointer(event))
        })
    }

    fn event_free(&self, key: Key<'_>) {
        let free = |_: &Loaded, p: &Parts| {
            if let Some(f) = p.iface.event_free {
                // SAFETY: the device's own function on an event that it made and that is freed once.
                unsafe { f(p.ptr, key.pointer()) };
            }
            Ok(())
        };
        let _ = self.with(free);
        self.owner.object_gone();
    }

    fn event_synchronize(&self, key: Key<'_>) -> Result<()> {
        self.with(|_, p| {
            let f = p.iface.event_synchronize;
            let f = f.ok_or(Error::NotOffered { function: "event_synchronize" })?;
            // SAFETY: the device's own function on an event that it made.
            unsafe { f(p.ptr, key.pointer()) };
            Ok(())
        })
    }
}

/// The device's functions, kept where no look-up is wanted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Handle {
    pub(crate) ptr: *mut abi::Device,
    pub(crate) iface: DeviceI,
}

impl Handle {
    /// Whether the device says that it can compute a tensor.
    ///
    /// # Safety
    /// `t` is a whole tensor whose sources are whole, and the library is loaded.
    pub(crate) unsafe fn supports(&self, t: *const Tensor) -> bool {
        // SAFETY: the caller's promise.
        self.iface.supports_op.is_some_and(|f| unsafe { f(self.ptr, t) })
    }
}
