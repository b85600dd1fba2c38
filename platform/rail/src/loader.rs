//! Backends from shared libraries, into the table of this program.
//!
//! ```no_run
//! use dinrail::loader::{self, Options};
//! let report = loader::load_all(&Options::default());
//! for entry in report.taken() {
//!     println!("{}: {}", entry.name(), entry.path().display());
//! }
//! ```
//!
//! Where they are looked for, which are taken and which are never opened is told in [`dinrail_host::loader`]. Plug-ins have
//! ggml's interface: `ggml_backend_init` and, if they have an opinion on the machine, `ggml_backend_score`.
//!
//! The compiled-in CPU backend competes by the score that ggml gives to its variants, so that the numbers mean the same:
//!
//! | level | score |
//! |---|---|
//! | `scalar`, `neon` | 1 |
//! | `dotprod` | 3 |
//! | `avx2` | 64, as ggml's `haswell` |
//!
//! Other compiled-in backends keep their place.

use crate::table::{BACKENDS, REGISTRY, SLOTS};
use dinrail_core::hal::Backend;
use dinrail_core::registry::Handle;
pub use dinrail_host::loader::*;
use std::boxed::Box;
use std::path::{Path, PathBuf};
use std::string::String;
use std::vec::Vec;

/// The loader of this program's table.
pub static LOADER: Loader<SLOTS> = Loader::new(&REGISTRY, BACKENDS, score, &Ggml);

/// [`Loader::load`] into this program's table.
///
/// # Errors
/// As there.
pub fn load(path: &Path, options: &Options) -> Result<Handle, Failure> {
    LOADER.load(path, options)
}

/// [`Loader::load_file`] into this program's table.
pub fn load_file(path: &Path, options: &Options) -> Report {
    LOADER.load_file(path, options)
}

/// [`Loader::load_best`] into this program's table.
pub fn load_best(name: &str, dir: Option<&Path>, options: &Options) -> Report {
    LOADER.load_best(name, dir, options)
}

/// [`Loader::load_all`] into this program's table.
pub fn load_all(options: &Options) -> Report {
    LOADER.load_all(options)
}

/// [`Loader::load_all_from`] into this program's table.
pub fn load_all_from(dir: &Path, options: &Options) -> Report {
    LOADER.load_all_from(dir, options)
}

/// [`Loader::unload`] from this program's table.
///
/// # Errors
/// As there.
pub fn unload(handle: Handle) -> Result<(), Failure> {
    LOADER.unload(handle)
}

/// How the compiled-in backends compete; `None` for those that do not.
fn score(backend: &'static dyn Backend) -> Option<u32> {
    #[cfg(feature = "cpu")]
    if core::ptr::addr_eq(backend, crate::table::cpu()) {
        return Some(dinrail_cpu::level().score());
    }
    let _ = backend;
    None
}

/// Libraries with ggml's plug-in interface, for programs that make a [`Loader`] of their own.
#[derive(Clone, Copy, Debug)]
pub struct Ggml;

struct Opened(dinrail_ggml::Candidate);

fn failure(e: dinrail_ggml::LoadError) -> Failure {
    use dinrail_ggml::Stage as Theirs;
    let stage = match e.stage() {
        Theirs::Open => Stage::Open,
        Theirs::Symbol => Stage::Symbol,
        Theirs::Base => Stage::Base,
        Theirs::Score => Stage::Score,
        Theirs::Version => Stage::Version,
        Theirs::Devices => Stage::Devices,
        Theirs::Unload => Stage::Unload,
        _ => Stage::Init,
    };
    let failure = Failure::new(stage, e.path(), e.reason());
    match e.cause() {
        Some(cause) => failure.because(cause),
        None => failure,
    }
}

impl Candidate for Opened {
    fn score(&self) -> Result<Option<u32>, Failure> {
        self.0.score().map_err(failure)
    }

    fn init(self: Box<Self>) -> Result<&'static dyn Backend, Failure> {
        self.0.init().map(|l| l as &dyn Backend).map_err(failure)
    }
}

fn library(backend: &'static dyn Backend) -> Option<&'static dinrail_ggml::Library> {
    dinrail_ggml::loaded().into_iter().find(|l| core::ptr::addr_eq(*l, backend))
}

impl Format for Ggml {
    fn open(&self, path: &Path) -> Result<Box<dyn Candidate>, Failure> {
        let candidate = dinrail_ggml::Candidate::open(path).map_err(failure)?;
        Ok(Box::new(Opened(candidate)))
    }

    fn unload(&self, backend: &'static dyn Backend) -> Result<(), Failure> {
        dinrail_ggml::unload(backend).map_err(failure)
    }

    fn file(&self, backend: &'static dyn Backend) -> Option<PathBuf> {
        library(backend).map(|l| l.path().into())
    }

    fn notes(&self, backend: &'static dyn Backend) -> Vec<String> {
        library(backend).map(|l| l.notes()).unwrap_or_default()
    }
}
