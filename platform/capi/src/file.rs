//! Mapped files
//!
//! Only in a library with `std`: a header for one without leaves this chapter out where DINRAIL_NO_STD is defined.

use crate::border::{Holder, Out, answer, guard, holder, some, string};
use crate::error::{Fault, dinrail_error, dinrail_status};
use core::cell::UnsafeCell;
use core::ffi::{c_char, c_void};
use dinrail::host::map::Mapped;

/// A file in memory. Closed by the caller.
#[repr(C)]
pub struct dinrail_file {
    words_: UnsafeCell<[usize; 8]>,
}
holder!(dinrail_file holds Mapped, 10, "file");

/// Maps a file into memory, read-only. The path is UTF-8. Another process that shortens the file while it is mapped takes its
/// memory away: a program that can't exclude that reads the file into memory of its own.
///
/// Threads: any.
///
/// # Safety
/// `path` is NULL or a string.
#[unsafe(export_name = symbol!("file_map"))]
pub unsafe extern "C" fn dinrail_file_map(
    file: Option<&mut dinrail_file>,
    path: *const c_char,
    error: Out<dinrail_error>,
) -> dinrail_status {
    // SAFETY: the caller promises it.
    let path = unsafe { string(path, "path") };
    answer(error, || {
        let file = some(file, "file")?;
        file.vacant()?;
        let mapped = Mapped::open(some(path?, "path")?);
        file.put(mapped.map_err(|e| {
            let source = std::error::Error::source(&e);
            let system = source.and_then(|s| s.downcast_ref::<std::io::Error>());
            let (directory, odd) =
                (std::io::ErrorKind::IsADirectory, std::io::ErrorKind::InvalidInput);
            match system.map(|e| (e.raw_os_error(), e.kind())) {
                Some((None, kind)) if kind == directory => {
                    return Fault::NoFile("this is a directory; name a file in it");
                }
                Some((None, kind)) if kind == odd => {
                    return Fault::NoFile("not an ordinary file; save it to disk first");
                }
                _ => {}
            }
            Fault::System(system.and_then(std::io::Error::raw_os_error).unwrap_or(0))
        })?);
        Ok(())
    })
}

/// First byte of a mapped file; NULL for one that isn't open. Its size goes to `size`.
///
/// Threads: any.
#[unsafe(export_name = symbol!("file_data"))]
pub extern "C" fn dinrail_file_data(
    file: Option<&dinrail_file>,
    size: Out<usize>,
) -> *const c_void {
    guard(core::ptr::null(), || {
        let bytes: Option<&[u8]> = file.and_then(|f| f.value().ok()).map(|m| &**m);
        if let Some(size) = size {
            size.write(bytes.map_or(0, <[u8]>::len));
        }
        bytes.map_or(core::ptr::null(), |b| b.as_ptr().cast())
    })
}

/// Takes a file out of memory. NULL and one that isn't open are no errors.
///
/// Threads: the file's.
#[unsafe(export_name = symbol!("file_close"))]
pub extern "C" fn dinrail_file_close(file: Option<&mut dinrail_file>) {
    guard((), || drop(file.and_then(Holder::take)));
}
