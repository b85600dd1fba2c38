//! What a host gets: a registration with its devices and their kinds of memory, in static storage.

use super::host::{self, Host};
use super::text::Text;
use super::{buffer, device, guard, named};
use crate::abi::{self, BufferTypeI, Feature, RegI};
use core::cell::UnsafeCell;
use core::ffi::{c_char, c_void};
use core::mem::MaybeUninit;
use core::ptr::{null, null_mut};
use core::sync::atomic::{AtomicBool, Ordering};
use dinrail_core::hal::{self, DeviceKind, Proc};
use std::sync::Once;

/// Most devices of a backend.
const DEVICES: usize = 16;
/// Most kinds of memory of a device: its own, host memory, extra ones.
const TYPES: usize = 10;
const EXTRA: usize = TYPES - 2;
/// Most features in a list.
const FEATURES: usize = 32;

/// A kind of memory. ggml's structure comes first.
#[repr(C)]
pub(crate) struct Type {
    pub(crate) c: abi::BufferType,
    pub(crate) ty: &'static dyn hal::BufferType,
    pub(crate) name: Text,
    pub(crate) dev: *const Dev,
}

/// A device. ggml's structure comes first.
#[repr(C)]
pub(crate) struct Dev {
    pub(crate) c: abi::Device,
    pub(crate) device: &'static dyn hal::Device,
    pub(crate) face: *const Face,
    pub(crate) name: Text,
    pub(crate) description: Text,
    pub(crate) id: Text,
    pub(crate) kind: abi::DeviceType,
    /// Whether kernels work on host memory of others.
    pub(crate) host_memory: bool,
    own: MaybeUninit<Type>,
    host: MaybeUninit<Type>,
    has_host: bool,
    extra: [MaybeUninit<Type>; EXTRA],
    pub(crate) extras: [*mut abi::BufferType; EXTRA + 1],
}

/// A registration. ggml's structure comes first.
#[repr(C)]
pub(crate) struct Face {
    reg: abi::Reg,
    pub(crate) name: Text,
    pub(crate) host: Host,
    /// Whether it is the entrance for dinrail.
    pub(crate) dinrail: bool,
    count: usize,
    devices: [MaybeUninit<Dev>; DEVICES],
    words: [(Text, Text); FEATURES],
    pub(crate) features: [Feature; FEATURES + 1],
}

struct Slot {
    once: Once,
    ready: AtomicBool,
    face: UnsafeCell<MaybeUninit<Face>>,
}

impl Slot {
    const fn new() -> Self {
        Self {
            once: Once::new(),
            ready: AtomicBool::new(false),
            face: UnsafeCell::new(MaybeUninit::uninit()),
        }
    }
}

/// A backend with room for what hosts get of it; see [`export_backend!`](crate::export_backend).
pub struct Export {
    backend: &'static dyn hal::Backend,
    ggml: Slot,
    dinrail: Slot,
}

// SAFETY: a slot is written inside its `Once` before `ready` is set with release order, and only read afterwards; what
// is in it are trait objects that are `Sync` and pointers into the slot itself.
unsafe impl Sync for Export {}

impl core::fmt::Debug for Export {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Export").field("backend", &self.backend.name()).finish_non_exhaustive()
    }
}

impl Export {
    /// Nothing is done yet.
    pub const fn new(backend: &'static dyn hal::Backend) -> Self {
        Self { backend, ggml: Slot::new(), dinrail: Slot::new() }
    }

    /// For hosts that use ggml's base library. Null, with a message in the host's log, where it can't be served.
    pub fn ggml(&'static self) -> *mut abi::Reg {
        guard(null_mut(), || self.enter(&self.ggml, false))
    }

    /// For dinrail.
    pub fn dinrail(&'static self) -> *mut abi::Reg {
        guard(null_mut(), || self.enter(&self.dinrail, true))
    }

    fn enter(&'static self, slot: &'static Slot, dinrail: bool) -> *mut abi::Reg {
        slot.once.call_once(|| {
            match if dinrail { Host::dinrail() } else { Host::ggml() } {
                Ok(host) => {
                    let face = slot.face.get().cast::<Face>();
                    // SAFETY: inside the `Once`, so nobody else looks at the slot, which has room for it.
                    unsafe { fill(face, self.backend, host, dinrail) };
                    slot.ready.store(true, Ordering::Release);
                }
                Err(reason) => host::complain(&reason),
            }
        });
        if slot.ready.load(Ordering::Acquire) { slot.face.get().cast() } else { null_mut() }
    }
}

/// Lays everything down where it will stay.
///
/// # Safety
/// `face` is valid for writes, and nobody else uses it meanwhile.
unsafe fn fill(face: *mut Face, backend: &'static dyn hal::Backend, host: Host, dinrail: bool) {
    let prefix = if dinrail { "" } else { "DINRAIL-" };
    let has_cpu = host.has_cpu;
    let reg = abi::Reg { api_version: abi::VERSION, iface: REG, context: face.cast() };
    let whole = Face {
        reg,
        name: Text::of(&[prefix, backend.name()]),
        host,
        dinrail,
        count: 0,
        devices: [const { MaybeUninit::uninit() }; DEVICES],
        words: words(backend),
        features: [Feature { name: null(), value: null() }; FEATURES + 1],
    };
    // SAFETY: the caller promises.
    unsafe { face.write(whole) };
    // SAFETY: written above; the caller promises that nobody else uses it.
    let this = unsafe { &mut *face };
    for (to, (name, value)) in this.features.iter_mut().zip(&this.words) {
        if !name.is_empty() {
            *to = Feature { name: name.as_ptr(), value: value.as_ptr() };
        }
    }
    let found = (0..backend.device_count()).filter_map(|i| backend.device(i));
    for (to, d) in this.devices.iter_mut().zip(found) {
        let dev = to.as_mut_ptr();
        let kind = if dinrail { kind_of(d.kind()) } else { kind_for_ggml(d.kind(), has_cpu) };
        // SAFETY: a place for a device in what the caller lent.
        unsafe { fill_device(dev, face, d, prefix, kind) };
        this.count += 1;
    }
}

/// # Safety
/// `dev` is valid for writes, and nobody else uses it meanwhile.
unsafe fn fill_device(
    dev: *mut Dev,
    face: *mut Face,
    d: &'static dyn hal::Device,
    prefix: &str,
    kind: abi::DeviceType,
) {
    let whole = Dev {
        c: abi::Device { iface: device::table(d), reg: face.cast(), context: dev.cast() },
        device: d,
        face,
        name: Text::of(&[prefix, d.name()]),
        description: Text::of(&[d.description()]),
        id: Text::of(&[d.id().unwrap_or("")]),
        kind,
        host_memory: d.supports_buffer_type(&super::lent::LENT),
        own: MaybeUninit::uninit(),
        host: MaybeUninit::uninit(),
        has_host: false,
        extra: [const { MaybeUninit::uninit() }; EXTRA],
        extras: [null_mut(); EXTRA + 1],
    };
    // SAFETY: the caller promises.
    unsafe { dev.write(whole) };
    // SAFETY: written above; the caller promises that nobody else uses it.
    let this = unsafe { &mut *dev };
    this.own.write(make_type(dev, d.buffer_type(), prefix));
    link(&mut this.own);
    if let Some(ty) = d.host_buffer_type() {
        this.host.write(make_type(dev, ty, prefix));
        link(&mut this.host);
        this.has_host = true;
    }
    for (i, (to, list)) in this.extra.iter_mut().zip(&mut this.extras).enumerate() {
        let Some(ty) = d.extra_buffer_type(i) else { break };
        to.write(make_type(dev, ty, prefix));
        link(to);
        *list = to.as_mut_ptr().cast();
    }
}

fn make_type(dev: *mut Dev, ty: &'static dyn hal::BufferType, prefix: &str) -> Type {
    let iface: BufferTypeI = buffer::type_table(ty);
    let c = abi::BufferType { iface, device: dev.cast(), context: null_mut() };
    Type { c, ty, name: Text::of(&[prefix, ty.name()]), dev }
}

/// Points a kind of memory to itself, where it stays.
fn link(place: &mut MaybeUninit<Type>) {
    let p = place.as_mut_ptr();
    // SAFETY: a place that was written.
    unsafe { (*p).c.context = p.cast() };
}

fn words(backend: &'static dyn hal::Backend) -> [(Text, Text); FEATURES] {
    let mut all = [(Text::EMPTY, Text::EMPTY); FEATURES];
    if let Some(Proc::Feature(f)) = backend.proc("features") {
        for (i, to) in all.iter_mut().enumerate() {
            let Some((name, value)) = f(i) else { break };
            *to = (Text::of(&[name]), Text::of(&[value]));
        }
    }
    all
}

fn kind_of(kind: DeviceKind) -> abi::DeviceType {
    match kind {
        DeviceKind::Cpu => abi::DeviceType::Cpu,
        DeviceKind::IntegratedGpu => abi::DeviceType::IntegratedGpu,
        DeviceKind::Accelerator => abi::DeviceType::Accelerator,
        DeviceKind::Meta => abi::DeviceType::Meta,
        _ => abi::DeviceType::Gpu,
    }
}

/// What the variable says; a second CPU becomes an accelerator.
fn kind_for_ggml(kind: DeviceKind, has_cpu: bool) -> abi::DeviceType {
    let said = std::env::var("DINRAIL_GGML_KIND").unwrap_or_default();
    match said.to_ascii_lowercase().as_str() {
        "cpu" => abi::DeviceType::Cpu,
        "gpu" => abi::DeviceType::Gpu,
        "igpu" => abi::DeviceType::IntegratedGpu,
        "accel" => abi::DeviceType::Accelerator,
        _ if kind == DeviceKind::Cpu && has_cpu => abi::DeviceType::Accelerator,
        _ => kind_of(kind),
    }
}

impl Dev {
    pub(crate) fn face(&self) -> &'static Face {
        // SAFETY: devices lie in their face, which stays where it is.
        unsafe { &*self.face }
    }

    pub(crate) fn own_type(&self) -> *mut abi::BufferType {
        self.own.as_ptr().cast_mut().cast()
    }

    pub(crate) fn host_type(&self) -> *mut abi::BufferType {
        if self.has_host { self.host.as_ptr().cast_mut().cast() } else { null_mut() }
    }
}

impl Face {
    pub(crate) fn devices(&self) -> impl Iterator<Item = &Dev> {
        // SAFETY: as many as are counted have been written.
        self.devices.iter().take(self.count).map(|d| unsafe { d.assume_init_ref() })
    }

    pub(crate) fn complain(&self, text: &str) {
        self.host.complain(text);
    }
}

const REG: RegI = RegI {
    get_name: Some(reg_name),
    get_device_count: Some(reg_count),
    get_device: Some(reg_device),
    get_proc_address: Some(reg_proc),
};

/// # Safety
/// `reg` is one that `fill` made.
pub(crate) unsafe fn face<'a>(reg: *mut abi::Reg) -> &'a Face {
    // SAFETY: a registration is the first part of its face, which is never written again.
    unsafe { &*reg.cast::<Face>() }
}

unsafe extern "C" fn reg_name(reg: *mut abi::Reg) -> *const c_char {
    // SAFETY: the host passes what it got.
    unsafe { face(reg) }.name.as_ptr()
}

unsafe extern "C" fn reg_count(reg: *mut abi::Reg) -> usize {
    // SAFETY: as above.
    unsafe { face(reg) }.count
}

unsafe extern "C" fn reg_device(reg: *mut abi::Reg, i: usize) -> *mut abi::Device {
    // SAFETY: as above.
    let face = unsafe { face(reg) };
    face.devices().nth(i).map_or(null_mut(), |d| (&raw const d.c).cast_mut())
}

unsafe extern "C" fn reg_proc(reg: *mut abi::Reg, name: *const c_char) -> *mut c_void {
    guard(null_mut(), || {
        // SAFETY: the host passes what it got, and a string.
        let face = unsafe { face(reg) };
        // SAFETY: as above.
        let name = unsafe { host::text(name) };
        named::find(face, name)
    })
}
