//! Plug-ins
//!
//! Backends from shared libraries, ggml's own among them: in a library that was built with the feature `dynamic`; elsewhere these
//! functions answer DINRAIL_ERROR_NOT_OFFERED. Nothing is searched or opened that nobody asked for. What is searched, in which
//! order, and what is never opened, the documentation of the Rust module `dinrail::loader` says.

use crate::border::{Out, answer, some, string};
use crate::error::{Fault, dinrail_error, dinrail_status};
use crate::text::dinrail_str;
use core::ffi::{c_char, c_void};

/// What became of one file. Text is valid during the call.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct dinrail_candidate {
    /// The file; a path that isn't UTF-8 as well as it can be printed.
    pub path: dinrail_str,
    /// The name that it is a candidate for, such as "cuda"; of its backend, if it was taken.
    pub name: dinrail_str,
    /// Why it was not taken, in the system's words where there are any.
    pub reason: dinrail_str,
    /// What it thinks of this machine; -1 if it was not asked or doesn't say.
    pub score: i64,
    /// Whether it is in the table now.
    pub taken: bool,
}

/// Is told of each file that was looked at. It must not call the library, and returns: neither an exception nor `longjmp`
/// leaves it.
pub type dinrail_report_function =
    Option<unsafe extern "C" fn(user: *mut c_void, candidate: *const dinrail_candidate)>;

/// Loads one library into the table; the path is UTF-8. DINRAIL_ERROR_LOAD if it can't be taken: `report`, which may be NULL, is told
/// why. `dinrail_backend_unregister` takes it out and closes the library.
///
/// Threads: any; not from an interrupt.
///
/// # Safety
/// `path` is NULL or a string, and what is loaded is trusted like the program itself.
#[unsafe(export_name = symbol!("backend_load"))]
pub unsafe extern "C" fn dinrail_backend_load(
    path: *const c_char,
    report: dinrail_report_function,
    user: *mut c_void,
    error: Out<dinrail_error>,
) -> dinrail_status {
    // SAFETY: the caller promises it.
    let path = unsafe { string(path, "path") };
    answer(error, || match plug::file(some(path?, "path")?, report, user)? {
        0 => Err(Fault::Load("the library was not taken; `report` is told why")),
        _ => Ok(()),
    })
}

/// Loads the best library for each kind of device, from a directory (UTF-8) or, with NULL, from the usual places. How many were
/// taken goes to `taken`; none is no error. `report`, which may be NULL, is told of each file.
///
/// Threads: any; not from an interrupt.
///
/// # Safety
/// `directory` is NULL or a string, and what lies there is trusted like the program itself.
#[unsafe(export_name = symbol!("backend_load_all"))]
pub unsafe extern "C" fn dinrail_backend_load_all(
    directory: *const c_char,
    report: dinrail_report_function,
    user: *mut c_void,
    taken: Out<usize>,
    error: Out<dinrail_error>,
) -> dinrail_status {
    // SAFETY: the caller promises it.
    let directory = unsafe { string(directory, "directory") };
    answer(error, || {
        let n = plug::all(directory?, report, user)?;
        if let Some(taken) = taken {
            taken.write(n);
        }
        Ok(())
    })
}

#[cfg(not(feature = "dynamic"))]
mod plug {
    use super::dinrail_report_function;
    use crate::error::Fault;
    use core::ffi::c_void;

    const NONE: Fault = Fault::Core(dinrail::Error::NotOffered { function: "backend_load" });

    pub(super) fn file(
        _: &str,
        _: dinrail_report_function,
        _: *mut c_void,
    ) -> Result<usize, Fault> {
        Err(NONE)
    }

    pub(super) fn all(
        _: Option<&str>,
        _: dinrail_report_function,
        _: *mut c_void,
    ) -> Result<usize, Fault> {
        Err(NONE)
    }
}

#[cfg(feature = "dynamic")]
mod plug {
    use super::{dinrail_candidate, dinrail_report_function};
    use crate::error::Fault;
    use crate::text::dinrail_str;
    use core::ffi::c_void;
    use dinrail::loader::{self, Options, Report};
    use std::path::Path;

    pub(super) fn file(
        path: &str,
        report: dinrail_report_function,
        user: *mut c_void,
    ) -> Result<usize, Fault> {
        tell(&loader::load_file(Path::new(path), &Options::default()), report, user)
    }

    pub(super) fn all(
        directory: Option<&str>,
        report: dinrail_report_function,
        user: *mut c_void,
    ) -> Result<usize, Fault> {
        let options = Options::default();
        let found = match directory {
            Some(directory) => loader::load_all_from(Path::new(directory), &options),
            None => loader::load_all(&options),
        };
        tell(&found, report, user)
    }

    fn tell(
        report: &Report,
        function: dinrail_report_function,
        user: *mut c_void,
    ) -> Result<usize, Fault> {
        let Some(function) = function else { return Ok(report.taken().count()) };
        for entry in report.entries() {
            let path = entry.path().to_string_lossy();
            let candidate = dinrail_candidate {
                path: dinrail_str::of(&path),
                name: dinrail_str::of(entry.name()),
                reason: dinrail_str::of(entry.reason()),
                score: entry.score().map_or(-1, i64::from),
                taken: entry.is_taken(),
            };
            // SAFETY: the program's own function, with what it is promised.
            unsafe { function(user, &candidate) };
        }
        for warning in report.warnings() {
            let candidate = dinrail_candidate {
                path: dinrail_str::NONE,
                name: dinrail_str::NONE,
                reason: dinrail_str::of(warning),
                score: -1,
                taken: false,
            };
            // SAFETY: as above.
            unsafe { function(user, &candidate) };
        }
        Ok(report.taken().count())
    }
}
