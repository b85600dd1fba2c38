//! Log
//!
//! The library writes nothing anywhere. What it has to say goes to the program's own function, if there is one.

use crate::border::{Out, answer, some};
use crate::error::{dinrail_error, dinrail_status};
use core::ffi::{c_char, c_void};

/// Something went wrong.
pub const DINRAIL_LOG_ERROR: u32 = 1;
/// Something may go wrong, or an error that was also returned.
pub const DINRAIL_LOG_WARN: u32 = 2;
/// What a user may want to know.
pub const DINRAIL_LOG_INFO: u32 = 3;
/// What a developer may want to know.
pub const DINRAIL_LOG_DEBUG: u32 = 4;
/// Everything.
pub const DINRAIL_LOG_TRACE: u32 = 5;

/// Takes one message: its level, and text of `size` bytes without a 0 at its end, valid during the call. Called by any
/// thread, several at a time; it must not call the library, and returns: neither an exception nor `longjmp` leaves it.
pub type dinrail_log_function =
    Option<unsafe extern "C" fn(user: *mut c_void, level: u32, text: *const c_char, size: usize)>;

/// Where messages go.
#[repr(C)]
pub struct dinrail_logger {
    /// The program's function.
    pub function: dinrail_log_function,
    /// Handed to it.
    pub user: *mut c_void,
    /// The highest level that is wanted.
    pub level: u32,
}

/// Sends messages to a logger from here on; NULL for none. DINRAIL_ERROR_NOT_OFFERED in a library without `std`, which has no
/// messages.
///
/// Threads: any. On return another thread may still be inside the logger that was there before, so give it static life.
///
/// # Safety
/// The logger lives, and stays as it is, until the program ends.
#[unsafe(export_name = symbol!("log_to"))]
pub unsafe extern "C" fn dinrail_log_to(
    logger: Option<&'static dinrail_logger>,
    error: Out<dinrail_error>,
) -> dinrail_status {
    answer(error, || {
        if let Some(logger) = logger {
            some(logger.function, "function")?;
            if !(DINRAIL_LOG_ERROR..=DINRAIL_LOG_TRACE).contains(&logger.level) {
                let value = i64::from(logger.level);
                return Err(dinrail::Error::Invalid { what: "log level", value }.into());
            }
        }
        sink::set(logger)
    })
}

#[cfg(not(feature = "std"))]
mod sink {
    use super::dinrail_logger;
    use crate::error::Fault;

    pub(super) fn set(_: Option<&'static dinrail_logger>) -> Result<(), Fault> {
        Err(dinrail::Error::NotOffered { function: "log_to" }.into())
    }
}

#[cfg(feature = "std")]
mod sink {
    use super::dinrail_logger;
    use crate::error::Fault;
    use core::sync::atomic::{AtomicPtr, Ordering};
    use log::{Level, LevelFilter, Log, Metadata, Record};

    struct Sink(AtomicPtr<dinrail_logger>);

    static SINK: Sink = Sink(AtomicPtr::new(core::ptr::null_mut()));

    impl Sink {
        fn logger(&self) -> Option<&'static dinrail_logger> {
            let pointer = self.0.load(Ordering::Acquire);
            // SAFETY: it is null or what `set` was given, which lives until the program ends and doesn't change.
            unsafe { pointer.cast_const().as_ref() }
        }
    }

    fn number(level: Level) -> u32 {
        match level {
            Level::Error => super::DINRAIL_LOG_ERROR,
            Level::Warn => super::DINRAIL_LOG_WARN,
            Level::Info => super::DINRAIL_LOG_INFO,
            Level::Debug => super::DINRAIL_LOG_DEBUG,
            Level::Trace => super::DINRAIL_LOG_TRACE,
        }
    }

    impl Log for Sink {
        fn enabled(&self, metadata: &Metadata<'_>) -> bool {
            self.logger().is_some_and(|l| number(metadata.level()) <= l.level)
        }

        fn log(&self, record: &Record<'_>) {
            let Some(logger) = self.logger() else { return };
            let (Some(function), level) = (logger.function, number(record.level())) else { return };
            if level > logger.level {
                return;
            }
            let text = std::format!("{}: {}", record.target(), record.args());
            // SAFETY: the program's own function, with the text that it is promised.
            unsafe { function(logger.user, level, text.as_ptr().cast(), text.len()) };
        }

        fn flush(&self) {}
    }

    pub(super) fn set(logger: Option<&'static dinrail_logger>) -> Result<(), Fault> {
        let pointer = logger.map_or(core::ptr::null_mut(), |l| core::ptr::from_ref(l).cast_mut());
        SINK.0.store(pointer, Ordering::Release);
        let filter = match logger.map(|l| l.level) {
            None => LevelFilter::Off,
            Some(super::DINRAIL_LOG_ERROR) => LevelFilter::Error,
            Some(super::DINRAIL_LOG_WARN) => LevelFilter::Warn,
            Some(super::DINRAIL_LOG_INFO) => LevelFilter::Info,
            Some(super::DINRAIL_LOG_DEBUG) => LevelFilter::Debug,
            Some(_) => LevelFilter::Trace,
        };
        // Ours after the first time. In a Rust program that has a logger of its own, that one keeps the messages.
        if log::set_logger(&SINK).is_err() && !core::ptr::addr_eq(log::logger(), &SINK) {
            return Err(dinrail::Error::NameTaken.into());
        }
        log::set_max_level(filter);
        Ok(())
    }
}
