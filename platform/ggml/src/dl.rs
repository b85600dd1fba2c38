//! Shared libraries: opened by absolute path, asked for symbols, and told apart by where they lie in memory.

use crate::error::{LoadError, Stage};
use core::ffi::c_void;
use std::path::{Path, PathBuf};

/// An open library. Closed when dropped.
#[derive(Debug)]
pub(crate) struct Shared {
    handle: libloading::Library,
}

impl Shared {
    /// Opens a file.
    ///
    /// The file's initialisers run: opening is trusting.
    pub(crate) fn open(path: &Path) -> Result<Self, LoadError> {
        let wrong = |reason: String| LoadError::new(Stage::Open, path, reason);
        if !path.is_absolute() {
            return Err(wrong("the path is relative; make it absolute first".into()));
        }
        // A FIFO would be waited for.
        match std::fs::metadata(path) {
            Ok(m) if m.is_file() => {}
            Ok(_) => return Err(wrong("not a regular file".into())),
            Err(e) => return Err(wrong(e.to_string())),
        }
        open_now(path).map(|handle| Self { handle }).map_err(|e| wrong(system_text(&e)))
    }

    /// Address of a symbol, in this library or one that it depends on (on Windows: in this one).
    pub(crate) fn symbol(&self, name: &str) -> Option<*mut c_void> {
        // SAFETY: the address is taken as a pointer only; who makes a function of it answers for its type.
        let symbol = unsafe { self.handle.get::<*mut c_void>(name.as_bytes()) }.ok()?;
        (!symbol.is_null()).then_some(*symbol)
    }

    /// Gives the library back; the system's text if it can't be.
    pub(crate) fn close(self) -> Result<(), String> {
        self.handle.close().map_err(|e| system_text(&e))
    }
}

#[cfg(unix)]
fn open_now(path: &Path) -> Result<libloading::Library, libloading::Error> {
    use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};
    // SAFETY: the caller decided to trust the file; all that is undefined before this call is the symbols in it, and
    // RTLD_NOW makes those an error here instead of a crash later.
    unsafe { Library::open(Some(path), RTLD_NOW | RTLD_LOCAL) }.map(Into::into)
}

#[cfg(windows)]
fn open_now(path: &Path) -> Result<libloading::Library, libloading::Error> {
    use libloading::os::windows::{
        LOAD_LIBRARY_SEARCH_DEFAULT_DIRS, LOAD_LIBRARY_SEARCH_DLL_LOAD_DIR, Library,
    };
    // Dependencies are looked for beside the file and in the system's folders, never in the working directory.
    let flags = LOAD_LIBRARY_SEARCH_DLL_LOAD_DIR | LOAD_LIBRARY_SEARCH_DEFAULT_DIRS;
    // SAFETY: the caller decided to trust the file.
    unsafe { Library::load_with_flags(path, flags) }.map(Into::into)
}

fn system_text(e: &libloading::Error) -> String {
    use std::error::Error;
    match e.source() {
        Some(s) => s.to_string(),
        None => e.to_string(),
    }
}

/// The address as a function.
///
/// # Safety
/// * `F` is the type of a function pointer.
/// * A function of that type lies at the address for as long as the result is used.
pub(crate) unsafe fn function<F: Copy>(address: *mut c_void) -> F {
    const { assert!(size_of::<F>() == size_of::<*mut c_void>(), "a function pointer") };
    // SAFETY: both are pointers of one size; the caller promises the rest.
    unsafe { core::mem::transmute_copy::<*mut c_void, F>(&address) }
}

/// Where the library that holds an address lies, and its file; `None` where the system doesn't tell.
///
/// `dladdr` would look for the nearest symbol as well, which takes as long as opening a small library.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(crate) fn origin(address: *const c_void) -> Option<(usize, PathBuf)> {
    use std::os::unix::ffi::OsStrExt;
    struct Search {
        address: usize,
        found: Option<(usize, PathBuf)>,
    }
    unsafe extern "C" fn visit(
        info: *mut libc::dl_phdr_info,
        _size: libc::size_t,
        data: *mut c_void,
    ) -> libc::c_int {
        // SAFETY: the system's description of one library.
        let info = unsafe { &*info };
        // SAFETY: the search of the call below, which nobody else uses meanwhile.
        let search = unsafe { &mut *data.cast::<Search>() };
        let bias = info.dlpi_addr as usize;
        let holds = (0..usize::from(info.dlpi_phnum)).any(|i| {
            // SAFETY: one of `dlpi_phnum` headers.
            let header = unsafe { info.dlpi_phdr.wrapping_add(i).read() };
            let start = bias.wrapping_add(header.p_vaddr as usize);
            header.p_type == libc::PT_LOAD
                && search.address.wrapping_sub(start) < header.p_memsz as usize
        });
        if !holds || info.dlpi_name.is_null() {
            return 0;
        }
        // SAFETY: the loader's own string, alive as long as the library.
        let name = unsafe { core::ffi::CStr::from_ptr(info.dlpi_name) }.to_bytes();
        let file = match name {
            // The program itself.
            [] => std::env::current_exe().unwrap_or_default(),
            name => std::ffi::OsStr::from_bytes(name).into(),
        };
        search.found = Some((bias, file));
        1
    }
    let mut search = Search { address: address.addr(), found: None };
    // SAFETY: the function does not unwind, and the search outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(visit), (&raw mut search).cast()) };
    search.found
}

#[cfg(all(unix, not(any(target_os = "linux", target_os = "android"))))]
pub(crate) fn origin(address: *const c_void) -> Option<(usize, PathBuf)> {
    use std::os::unix::ffi::OsStrExt;
    let mut info = core::mem::MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: any address may be asked about.
    if unsafe { libc::dladdr(address, info.as_mut_ptr()) } == 0 {
        return None;
    }
    // SAFETY: it was zeroed, and filled by a call that succeeded.
    let info = unsafe { info.assume_init() };
    if info.dli_fname.is_null() {
        return None;
    }
    // SAFETY: the loader's own string, alive as long as the library.
    let name = unsafe { core::ffi::CStr::from_ptr(info.dli_fname) };
    Some((info.dli_fbase.addr(), std::ffi::OsStr::from_bytes(name.to_bytes()).into()))
}

#[cfg(not(unix))]
pub(crate) fn origin(_address: *const c_void) -> Option<(usize, PathBuf)> {
    None
}

/// The libraries that are in this process already, the program itself and what it was started with first. Nothing is
/// opened that isn't open.
#[cfg(unix)]
pub(crate) fn present() -> Vec<Shared> {
    use libloading::os::unix::{Library, RTLD_LAZY};
    let mut all = vec![Shared { handle: Library::this().into() }];
    for file in files() {
        // SAFETY: with this flag nothing is loaded and no initialiser runs.
        let open = unsafe { Library::open(Some(&file), RTLD_LAZY | libc::RTLD_NOLOAD) };
        all.extend(open.ok().map(|l| Shared { handle: l.into() }));
    }
    all
}

/// As on Unix, as far as the system can be asked: by the usual names.
#[cfg(windows)]
pub(crate) fn present() -> Vec<Shared> {
    use libloading::os::windows::Library;
    let names = ["ggml-base.dll", "libggml-base.dll", "ggml.dll", "libggml.dll", "llama.dll"];
    let open = |name: &&str| Library::open_already_loaded(name).ok();
    let this = Library::this().ok();
    names.iter().filter_map(open).chain(this).map(|l| Shared { handle: l.into() }).collect()
}

/// Files of what is loaded.
#[cfg(any(
    target_os = "linux",
    target_os = "android",
    target_os = "freebsd",
    target_os = "dragonfly",
    target_os = "netbsd",
    target_os = "openbsd"
))]
fn files() -> Vec<PathBuf> {
    use core::ffi::{CStr, c_int};
    use std::os::unix::ffi::OsStrExt;
    unsafe extern "C" fn note(
        info: *mut libc::dl_phdr_info,
        _: libc::size_t,
        to: *mut c_void,
    ) -> c_int {
        // SAFETY: the system passes a whole structure.
        let name = unsafe { (*info).dlpi_name };
        if !name.is_null() {
            // SAFETY: a string of the loader's.
            let name = unsafe { CStr::from_ptr(name) }.to_bytes();
            // SAFETY: the list that was passed below, which nobody else uses meanwhile.
            let list = unsafe { &mut *to.cast::<Vec<PathBuf>>() };
            if !name.is_empty() {
                list.push(std::ffi::OsStr::from_bytes(name).into());
            }
        }
        0
    }
    let mut list: Vec<PathBuf> = Vec::new();
    // SAFETY: the function takes the list's address back and nothing else.
    unsafe { libc::dl_iterate_phdr(Some(note), (&raw mut list).cast()) };
    list
}

/// As above; another thread may load or unload something meanwhile, which is left out then.
#[cfg(target_vendor = "apple")]
fn files() -> Vec<PathBuf> {
    use std::os::unix::ffi::OsStrExt;
    unsafe extern "C" {
        fn _dyld_image_count() -> u32;
        fn _dyld_get_image_name(index: u32) -> *const core::ffi::c_char;
    }
    // SAFETY: it takes nothing.
    let count = unsafe { _dyld_image_count() };
    let name = |i| {
        // SAFETY: any number may be asked for: those that are none give null.
        let name = unsafe { _dyld_get_image_name(i) };
        // SAFETY: a string of the loader's.
        let name = (!name.is_null()).then(|| unsafe { core::ffi::CStr::from_ptr(name) })?;
        Some(std::ffi::OsStr::from_bytes(name.to_bytes()).into())
    };
    (0..count).filter_map(name).collect()
}

/// Elsewhere what was loaded must be visible to everyone.
#[cfg(all(
    unix,
    not(any(
        target_os = "linux",
        target_os = "android",
        target_os = "freebsd",
        target_os = "dragonfly",
        target_os = "netbsd",
        target_os = "openbsd",
        target_vendor = "apple"
    ))
))]
fn files() -> Vec<PathBuf> {
    Vec::new()
}
