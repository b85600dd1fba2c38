//! What the libraries say goes to one sink, and never to a console.

use core::ffi::{CStr, c_char, c_void};
use std::sync::{PoisonError, RwLock};

/// Takes one message of a library, without its line end.
pub type Sink = fn(log::Level, &str);

static SINK: RwLock<Sink> = RwLock::new(to_log);

/// Sends what the libraries say to `sink`. At first it goes to the `log` crate under the target `ggml`, which drops it
/// unless the program has set a logger.
pub fn set_log(sink: Sink) {
    *SINK.write().unwrap_or_else(PoisonError::into_inner) = sink;
}

fn to_log(level: log::Level, text: &str) {
    log::log!(target: "ggml", level, "{text}");
}

/// What libraries are given.
pub(crate) unsafe extern "C" fn callback(level: i32, text: *const c_char, _user: *mut c_void) {
    if text.is_null() {
        return;
    }
    // SAFETY: ggml passes a string that ends with a zero and lives during the call.
    let text = unsafe { CStr::from_ptr(text) }.to_string_lossy();
    let text = text.trim_end();
    if text.is_empty() {
        return;
    }
    let level = match level {
        4 => log::Level::Error,
        3 => log::Level::Warn,
        2 => log::Level::Info,
        _ => log::Level::Debug,
    };
    let sink = *SINK.read().unwrap_or_else(PoisonError::into_inner);
    // A panic must not cross into C.
    let _ = std::panic::catch_unwind(|| sink(level, text));
}
