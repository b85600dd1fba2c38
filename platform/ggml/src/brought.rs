//! Libraries that plug-ins bring along, which stay in the process.
//!
//! OpenMP's runtime and drivers start threads of their own, which sleep in their code for as long as the process lives.
//! The system would take such a library out of memory together with the last plug-in that needs it, and the threads would
//! wake up in nothing. So what a plug-in that was started brought along is never closed; the plug-in itself and ggml's
//! base library, which join their threads, are.

#[cfg(any(target_os = "linux", target_os = "android"))]
mod system {
    use core::ffi::{CStr, c_int, c_void};
    use std::ffi::CString;
    use std::sync::{Mutex, PoisonError};

    /// What came in while plug-ins were opened, and was not kept so far.
    static BROUGHT: Mutex<Vec<CString>> = Mutex::new(Vec::new());

    struct Visit {
        loads: u64,
        names: Option<Vec<CString>>,
    }

    unsafe extern "C" fn visit(
        info: *mut libc::dl_phdr_info,
        size: libc::size_t,
        data: *mut c_void,
    ) -> c_int {
        // SAFETY: the visit of `walk`, which nobody else uses meanwhile.
        let to = unsafe { &mut *data.cast::<Visit>() };
        if size < core::mem::offset_of!(libc::dl_phdr_info, dlpi_subs) {
            return 1;
        }
        // SAFETY: the system's description of one library, with all fields up to there.
        to.loads = unsafe { (*info).dlpi_adds };
        // SAFETY: as above.
        let name = unsafe { (*info).dlpi_name };
        let Some(names) = &mut to.names else { return 1 };
        // SAFETY: the loader's own string, alive as long as the library; the program itself may have none.
        let name = if name.is_null() { c"" } else { unsafe { CStr::from_ptr(name) } };
        names.push(name.to_owned());
        0
    }

    fn walk(names: Option<Vec<CString>>) -> Visit {
        let mut to = Visit { loads: 0, names };
        // SAFETY: the function does not unwind, and what it writes to outlives the call.
        unsafe { libc::dl_iterate_phdr(Some(visit), (&raw mut to).cast()) };
        to
    }

    /// How many libraries were ever loaded.
    pub(crate) fn loads() -> u64 {
        walk(None).loads
    }

    /// Whether it is a plug-in or a base library.
    fn is_ggmls(name: &CStr) -> bool {
        let file = name.to_bytes().rsplit(|b| *b == b'/').next().unwrap_or(&[]);
        let file = file.strip_prefix(b"lib").unwrap_or(file);
        file.is_empty() || file.starts_with(b"ggml") || file.starts_with(b"dinrail")
    }

    /// Takes note of what was loaded since there were `before` of them, but for `plugin`.
    pub(crate) fn note(before: u64, plugin: &std::path::Path) {
        use std::os::unix::ffi::OsStrExt;
        // Most bring nothing but themselves.
        if loads().wrapping_sub(before) <= 1 {
            return;
        }
        let after = walk(Some(Vec::new()));
        let names = after.names.unwrap_or_default();
        let new = usize::try_from(after.loads.wrapping_sub(before)).unwrap_or(0);
        // The newest stand last.
        let old = names.len().saturating_sub(new);
        let plugin = plugin.as_os_str().as_bytes();
        let mut brought = BROUGHT.lock().unwrap_or_else(PoisonError::into_inner);
        for name in names.into_iter().skip(old) {
            if name.to_bytes() != plugin && !is_ggmls(&name) && !brought.contains(&name) {
                brought.push(name);
            }
        }
    }

    /// Keeps what was noted and is still loaded.
    pub(crate) fn keep() {
        let mut brought = BROUGHT.lock().unwrap_or_else(PoisonError::into_inner);
        for name in brought.drain(..) {
            let flags = libc::RTLD_NOLOAD | libc::RTLD_NODELETE | libc::RTLD_LAZY;
            // SAFETY: it opens nothing that isn't open, so no code runs.
            let handle = unsafe { libc::dlopen(name.as_ptr(), flags) };
            if !handle.is_null() {
                // SAFETY: the handle of the call above; the library stays, as was asked for.
                unsafe { libc::dlclose(handle) };
            }
        }
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
mod system {
    pub(crate) fn loads() -> u64 {
        0
    }

    pub(crate) fn note(_before: u64, _plugin: &std::path::Path) {}

    pub(crate) fn keep() {}
}

pub(crate) use system::{keep, loads, note};
