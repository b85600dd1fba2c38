//! A host that nobody here wrote: ggml's own registry loads the plug-in of examples/plugin.

mod common;

use core::ffi::{CStr, c_char, c_int, c_void};
use dinrail_interop as interop;
use libloading::{Library, Symbol};
use std::ffi::CString;

/// The libraries are open to nobody else, as in a program that was not linked to them.
#[test]
fn ggml_loads_what_was_exported() {
    type Load = unsafe extern "C" fn(*const c_char) -> *mut c_void;
    type Name = unsafe extern "C" fn(*mut c_void) -> *const c_char;
    type Get = unsafe extern "C" fn(*mut c_void, usize) -> *mut c_void;
    type Kind = unsafe extern "C" fn(*mut c_void) -> c_int;
    let (Some(dir), Some(file)) = (interop::package("cpu-v2"), common::example_plugin()) else {
        return;
    };
    let open = |name: &str| {
        // SAFETY: libraries of a known release, whose initialisers are harmless.
        unsafe { Library::new(dir.join(name)) }.unwrap()
    };
    let base = open("libggml-base.so");
    let names = std::fs::read_dir(&dir).unwrap().flatten();
    let names = names.map(|e| e.file_name().to_string_lossy().into_owned());
    let Some(name) = names.into_iter().find(|n| n.starts_with("libggml.")) else {
        return println!("skipped: no libggml in {}", dir.display());
    };
    let registry = open(&name);
    macro_rules! function {
        ($library:expr, $name:expr, $t:ty) => {{
            // SAFETY: ggml's headers declare it so.
            let f: Symbol<'_, $t> = unsafe { $library.get($name) }.unwrap();
            f
        }};
    }
    let load = function!(registry, b"ggml_backend_load\0", Load);
    let reg_name = function!(base, b"ggml_backend_reg_name\0", Name);
    let dev_get = function!(base, b"ggml_backend_reg_dev_get\0", Get);
    let dev_name = function!(base, b"ggml_backend_dev_name\0", Name);
    let dev_type = function!(base, b"ggml_backend_dev_type\0", Kind);
    let path = CString::new(file.to_str().unwrap()).unwrap();
    // SAFETY: a path that ends with a zero.
    let reg = unsafe { load(path.as_ptr()) };
    assert!(!reg.is_null());
    let text = |p: *const c_char| {
        // SAFETY: a name of the plug-in's.
        unsafe { CStr::from_ptr(p) }.to_str().unwrap().to_owned()
    };
    // SAFETY: what the registry gave; so in the following.
    assert_eq!(text(unsafe { reg_name(reg) }), "DINRAIL-Reference");
    // SAFETY: as above.
    let device = unsafe { dev_get(reg, 0) };
    // SAFETY: as above.
    assert_eq!(text(unsafe { dev_name(device) }), "DINRAIL-Reference");
    // The host has no CPU device of its own, so this one is the CPU.
    // SAFETY: as above.
    assert_eq!(unsafe { dev_type(device) }, 0);
}
