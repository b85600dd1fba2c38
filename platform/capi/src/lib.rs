//! dinrail for C: the functions of `dinrail.h`.
//!
//! The header is made from this crate's source by cbindgen (`tests/header.rs`), and the comments here are the ones that
//! C programmers read there. Every file is one chapter of it.
//!
//! # Rules of this crate
//!
//! * All objects lie in memory of the caller's. Those that hold something (stream, buffer, event) are closed by the
//!   caller; the others need no closing.
//! * A pointer is either NULL or what its type says; NULL where something is needed is an error value.
//! * An object knows its own address: one that was never opened, was closed or was copied is an error value.
//! * No panic crosses the border.
#![cfg_attr(not(any(test, feature = "std")), no_std)]
#![warn(missing_docs)]
#![allow(non_camel_case_types)]

/// A function's name in the library.
macro_rules! symbol {
    ($name:literal) => {
        concat!(env!("DINRAIL_C_PREFIX"), $name)
    };
}

mod border;

mod buffer;
mod device;
mod driver;
mod error;
#[cfg(feature = "std")]
mod file;
mod gguf;
mod graph;
mod log;
mod ops;
mod params;
mod plan;
mod plugin;
mod program;
mod stamp;
mod stream;
mod text;
mod transfer;
mod version;

pub use buffer::*;
pub use device::*;
pub use driver::*;
pub use error::*;
#[cfg(feature = "std")]
pub use file::*;
pub use gguf::*;
pub use graph::*;
pub use log::*;
pub use ops::*;
pub use params::*;
pub use plan::*;
pub use plugin::*;
pub use program::*;
pub use stream::*;
pub use text::*;
pub use transfer::*;
pub use version::*;

/// Without an operating system there is nobody to tell: the processor stops at an instruction that it has not.
#[cfg(all(feature = "trap", not(any(test, feature = "std")), panic = "abort"))]
mod trap {
    #[panic_handler]
    fn trap(_: &core::panic::PanicInfo<'_>) -> ! {
        crate::border::trap()
    }

    /// Unwinding tables of the compiled `core` name it. Nothing unwinds, so nobody calls it; `install.sh` hides it.
    #[unsafe(no_mangle)]
    extern "C" fn rust_eh_personality() -> ! {
        crate::border::trap()
    }
}
