//! ggml's plug-in interface, both ways: a shared library that ggml built becomes a dinrail backend.
//!
//! ```no_run
//! use dinrail_core::hal::{Backend, Device};
//! let candidate = dinrail_ggml::Candidate::open("/usr/lib/ggml/libggml-cpu-haswell.so".as_ref())?;
//! if candidate.score()? != Some(0) {
//!     let backend = candidate.init()?;
//!     println!("{}: {} devices", backend.name(), backend.device_count());
//! }
//! # Ok::<(), dinrail_ggml::LoadError>(())
//! ```
//!
//! The other way round, [`export_backend!`] makes a backend of dinrail's a plug-in of ggml's: see [`export`].
//!
//! Both versions of the interface are understood, with and without the `lm_` prefix. What differs between ggml's
//! releases is asked of the library itself when it is loaded: numbers of operations and types by name, layouts by what
//! it exports. A program is translated once and computed any number of times: a stream keeps its translations.
//!
//! Nothing is trusted that can be checked: a null pointer, a count that can't be, an operation that the release does
//! not have are errors. What can't be checked is that a library's code does what its names say: opening one is
//! trusting it.
#![warn(missing_docs)]

pub mod abi;
mod backend;
mod base;
mod brought;
mod buffer;
mod buffer_type;
mod cache;
mod device;
mod dl;
mod error;
pub mod export;
mod graph;
mod library;
mod limits;
mod logging;
mod numbers;
mod own;
mod pool;
mod rows;
mod stream;
mod text;

pub use backend::{Library, loaded, unload};
pub use error::{LoadError, Stage};
pub use library::Candidate;
pub use logging::{Sink, set_log};
