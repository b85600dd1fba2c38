//! A loaded library as a backend, and the pool of all that were ever loaded.
//!
//! Handles of dinrail are `&'static`, and libraries come and go. So what callers hold are adapters that live as long as
//! the program; what belongs to the library lies behind a lock in [`Library`], is there only while the library is
//! loaded, and is put back into the same adapter when the same file is loaded again.

use crate::abi::{self, DeviceI, Feature, GetFeatures, Layout, Reg, RegI, SetThreads};
use crate::base::Functions;
use crate::buffer;
use crate::buffer_type::BufferType;
use crate::device::Device;
use crate::dl::{self, Shared};
use crate::error::{LoadError, Stage};
use crate::library::Candidate;
use crate::numbers::Numbers;
use crate::text;
use core::ffi::{CStr, c_void};
use core::sync::atomic::{AtomicUsize, Ordering};
use dinrail_core::hal::{self, Buffer, Live, Proc, Stream};
use dinrail_core::{Error, Result};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock};

/// A device of the library, as it was found.
#[derive(Clone, Debug)]
pub(crate) struct Parts {
    pub(crate) ptr: *mut abi::Device,
    pub(crate) iface: DeviceI,
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) kind: i32,
}

/// A function that a registration offers by name. Builds that prefix all of ggml's names prefix these, too.
pub(crate) fn find_proc(reg: *mut Reg, iface: &RegI, name: &CStr) -> Option<*mut c_void> {
    let get = iface.get_proc_address?;
    // SAFETY: the registration's own function.
    let p = unsafe { get(reg, name.as_ptr()) };
    if !p.is_null() {
        return Some(p);
    }
    let prefixed = [abi::PREFIX.as_bytes(), name.to_bytes_with_nul()].concat();
    // SAFETY: as above; the bytes end with the name's zero.
    let p = unsafe { get(reg, prefixed.as_ptr().cast()) };
    (!p.is_null()).then_some(p)
}

/// What belongs to the library while it is loaded.
#[derive(Debug)]
pub(crate) struct Loaded {
    pub(crate) plugin: Shared,
    pub(crate) held: Option<Shared>,
    pub(crate) fns: Option<Functions>,
    pub(crate) numbers: Option<Arc<Numbers>>,
    pub(crate) layout: Layout,
    pub(crate) reg: *mut Reg,
    pub(crate) iface: RegI,
    pub(crate) devices: Vec<Parts>,
}

// SAFETY: the pointers are to the library's own structures, whose functions ggml allows to be called from any thread.
unsafe impl Send for Loaded {}
// SAFETY: as above; nothing in it changes while it is shared.
unsafe impl Sync for Loaded {}

impl Loaded {
    /// A function that the library offers by name.
    pub(crate) fn proc(&self, name: &CStr) -> Option<*mut c_void> {
        find_proc(self.reg, &self.iface, name)
    }

    /// The function that sets a stream's number of threads.
    pub(crate) fn set_threads(&self) -> Option<SetThreads> {
        let p = self.proc(c"ggml_backend_set_n_threads")?;
        // SAFETY: this is the type that goes with the name.
        Some(unsafe { dl::function(p) })
    }
}

/// A library that was loaded: a backend for as long as it stays so, and errors afterwards.
pub struct Library {
    /// Itself, for what asks for a reference that lives as long as the program.
    me: OnceLock<&'static Library>,
    path: PathBuf,
    name: String,
    version: u32,
    devices: OnceLock<Vec<Device>>,
    notes: Mutex<Vec<String>>,
    loaded: RwLock<Option<Loaded>>,
    /// Objects of the library that are alive. `live` counts handles, from a little later to a little earlier.
    objects: AtomicUsize,
    pub(crate) live: Live,
}

impl core::fmt::Debug for Library {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Library")
            .field("path", &self.path)
            .field("name", &self.name)
            .field("loaded", &self.is_loaded())
            .finish_non_exhaustive()
    }
}

static POOL: Mutex<Vec<&'static Library>> = Mutex::new(Vec::new());

fn pool() -> MutexGuard<'static, Vec<&'static Library>> {
    POOL.lock().unwrap_or_else(PoisonError::into_inner)
}

/// All libraries that are loaded, oldest first.
pub fn loaded() -> Vec<&'static Library> {
    pool().iter().copied().filter(|l| l.is_loaded()).collect()
}

/// Unloads the library behind a backend.
///
/// # Errors
/// As [`Library::unload`]; a backend that is no loaded library is [`Stage::Unload`] with the cause
/// [`Error::NotFound`].
pub fn unload(backend: &dyn hal::Backend) -> Result<(), LoadError> {
    match from_backend(backend) {
        Some(l) => l.unload(),
        None => {
            let reason = format!("`{}` is not a library that was loaded", backend.name());
            Err(LoadError::new(Stage::Unload, Path::new(""), reason).because(Error::NotFound))
        }
    }
}

fn from_backend(backend: &dyn hal::Backend) -> Option<&'static Library> {
    pool().iter().copied().find(|l| core::ptr::addr_eq(*l, backend))
}

impl Library {
    /// Puts what was loaded into an adapter: the one that it is in already, the one that it was in before, or a new one.
    pub(crate) fn adopt(
        path: PathBuf,
        name: String,
        version: u32,
        notes: Vec<String>,
        loaded: Loaded,
    ) -> &'static Self {
        let mut pool = pool();
        let current =
            pool.iter().copied().find(|l| l.with(|o| Ok(o.reg == loaded.reg)) == Ok(true));
        if let Some(same) = current {
            // Drops `loaded`, and with it the second opening of the file.
            return same;
        }
        let fits = |l: &&Library| {
            l.path == path
                && l.name == name
                && l.version == version
                && !l.is_loaded()
                && l.devices().len() == loaded.devices.len()
                && l.devices().iter().zip(&loaded.devices).all(|(d, p)| d.is(p))
        };
        let library = match pool.iter().copied().find(fits) {
            Some(l) => l,
            None => {
                let l: &'static Self = Box::leak(Box::new(Self {
                    me: OnceLock::new(),
                    path,
                    name,
                    version,
                    devices: OnceLock::new(),
                    notes: Mutex::new(Vec::new()),
                    loaded: RwLock::new(None),
                    objects: AtomicUsize::new(0),
                    live: Live::new(),
                }));
                let device = |(i, p): (usize, &Parts)| Device::new(l, i, p);
                let devices = loaded.devices.iter().enumerate().map(device).collect();
                let _ = l.devices.set(devices);
                let _ = l.me.set(l);
                pool.push(l);
                l
            }
        };
        *library.notes.lock().unwrap_or_else(PoisonError::into_inner) = notes;
        *library.loaded.write().unwrap_or_else(PoisonError::into_inner) = Some(loaded);
        library
    }

    /// Opens a file: [`Candidate::open`].
    ///
    /// # Errors
    /// As there.
    pub fn open(path: &Path) -> Result<Candidate, LoadError> {
        Candidate::open(path)
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What was found odd while it was loaded: devices that were left out, functions that are missing.
    pub fn notes(&self) -> Vec<String> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Whether it is loaded at this moment.
    pub fn is_loaded(&self) -> bool {
        self.loaded.read().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// Names and values of what the library was built with, such as `AVX2` = `1`.
    pub fn features(&self) -> Vec<(String, String)> {
        self.with(|l| Ok(features(l))).unwrap_or_default()
    }

    /// Closes the library. Its adapters stay, and answer with [`Error::Stale`] until the same file is loaded again.
    ///
    /// # Errors
    /// [`Stage::Unload`]; the cause is [`Error::InUse`] with the number of living handles, or [`Error::Stale`] if it
    /// isn't loaded. Nothing is changed then.
    pub fn unload(&self) -> Result<(), LoadError> {
        let mut slot = self.loaded.write().unwrap_or_else(PoisonError::into_inner);
        let wrong = |cause: Error| {
            LoadError::new(Stage::Unload, &self.path, cause.to_string()).because(cause)
        };
        if slot.is_none() {
            return Err(wrong(Error::Stale));
        }
        let (streams, buffers, events) =
            (self.live.streams.count(), self.live.buffers.count(), self.live.events.count());
        let objects = self.objects.load(Ordering::Acquire);
        if objects > 0 || streams + buffers + events > 0 {
            let buffers = buffers.max(objects.saturating_sub(streams + events));
            return Err(wrong(Error::InUse { streams, buffers, events }));
        }
        for d in self.devices() {
            d.forget();
        }
        if let Some(l) = slot.take() {
            let held = l.held;
            let closed = l.plugin.close();
            let held = held.map_or(Ok(()), Shared::close);
            if let Err(text) = closed.and(held) {
                return Err(LoadError::new(Stage::Unload, &self.path, text));
            }
        }
        Ok(())
    }

    /// Runs `f` on what is loaded, which stays loaded meanwhile.
    pub(crate) fn with<R>(&self, f: impl FnOnce(&Loaded) -> Result<R>) -> Result<R> {
        match &*self.loaded.read().unwrap_or_else(PoisonError::into_inner) {
            Some(l) => f(l),
            None => Err(Error::Stale),
        }
    }

    pub(crate) fn devices(&self) -> &[Device] {
        self.devices.get().map_or(&[], |v| v)
    }

    /// One more object of the library. Called inside [`with`](Self::with), so before it can be unloaded.
    pub(crate) fn object_made(&self) {
        self.objects.fetch_add(1, Ordering::AcqRel);
    }

    pub(crate) fn object_gone(&self) {
        self.objects.fetch_sub(1, Ordering::AcqRel);
    }

    /// The library's own buffer behind a handle; `None` for memory of somebody else.
    pub(crate) fn buffer_of<'a>(&self, handle: &'a Buffer<'_>) -> Option<&'a buffer::State> {
        let of = |ty: &'static BufferType| {
            // SAFETY: the key is only looked into.
            let state = unsafe { handle.key_for(ty) }?.pointer::<buffer::State>();
            // SAFETY: `alloc` and `buffer_from_host` of this type made the word from a box, which lives as long as
            // the handle.
            unsafe { state.as_ref() }
        };
        self.devices().iter().find_map(|d| d.find_type(of))
    }
}

fn features(l: &Loaded) -> Vec<(String, String)> {
    let mut all = Vec::new();
    let Some(p) = l.proc(c"ggml_backend_get_features") else { return all };
    // SAFETY: this is the type that goes with the name.
    let get: GetFeatures = unsafe { dl::function(p) };
    // SAFETY: the library's own function on its own registration.
    let mut at: *mut Feature = unsafe { get(l.reg) };
    while !at.is_null() && all.len() < 256 {
        // SAFETY: the list goes on until a null name.
        let f = unsafe { at.read() };
        // SAFETY: a text of the library's, or null at the end.
        let Some(name) = (unsafe { text::copy(f.name) }) else { break };
        // SAFETY: as above.
        let value = unsafe { text::copy(f.value) };
        all.push((name, value.unwrap_or_default()));
        at = at.wrapping_add(1);
    }
    all
}

fn set_threads(stream: &Stream, threads: usize) -> Result<()> {
    let found = pool().iter().copied().flat_map(Library::devices).find_map(|d| d.state_of(stream));
    found.ok_or(Error::ForeignObject { object: "stream" })?.set_threads(threads)
}

fn extra_buffer_type(
    device: &'static dyn hal::Device,
    i: usize,
) -> Option<&'static dyn hal::BufferType> {
    device.extra_buffer_type(i)
}

impl hal::Backend for Library {
    fn name(&self) -> &str {
        &self.name
    }

    fn interface_version(&self) -> u32 {
        self.version
    }

    fn device_count(&self) -> usize {
        self.devices().len()
    }

    fn device(&self, i: usize) -> Option<&'static dyn hal::Device> {
        self.me.get()?.devices().get(i).map(|d| d as &dyn hal::Device)
    }

    /// The well-known ones with their types, and whatever else the library has under that name.
    fn proc(&self, name: &str) -> Option<Proc> {
        let text = std::ffi::CString::new(name).ok()?;
        let address = self.with(|l| Ok(l.proc(&text))).ok().flatten()?;
        match name {
            "ggml_backend_set_n_threads" => Some(Proc::SetThreads(set_threads)),
            "ggml_backend_dev_get_extra_bufts" => Some(Proc::ExtraBufferType(extra_buffer_type)),
            _ => Some(Proc::Other(address.cast_const().cast())),
        }
    }
}
