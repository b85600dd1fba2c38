//! What the loader needs of a kind of plug-in.

use dinrail_core::Error;
use dinrail_core::hal::Backend;
use std::path::{Path, PathBuf};

/// How far a file got on its way to being a backend.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Stage {
    /// The directory entry: gone, unreadable, or no regular file.
    Find,
    /// Its name is denied. Nothing was opened.
    Denied,
    /// Others can change it. Nothing was opened.
    Refused,
    /// Opening: not a library, a dependency missing.
    Open,
    /// A library, but no plug-in.
    Symbol,
    /// The functions that all plug-ins of one release share.
    Base,
    /// Its score: not for this machine.
    Score,
    /// Another one is better.
    Ranked,
    /// The entry point gave nothing.
    Init,
    /// An interface version that is not understood.
    Version,
    /// What it says about its devices can't be.
    Devices,
    /// The registry did not take it.
    Register,
    /// Registered.
    Loaded,
    /// Giving it back.
    Unload,
}

impl Stage {
    /// One word.
    pub const fn name(self) -> &'static str {
        match self {
            Stage::Find => "find",
            Stage::Denied => "denied",
            Stage::Refused => "refused",
            Stage::Open => "open",
            Stage::Symbol => "symbol",
            Stage::Base => "base",
            Stage::Score => "score",
            Stage::Ranked => "ranked",
            Stage::Init => "init",
            Stage::Version => "version",
            Stage::Devices => "devices",
            Stage::Register => "register",
            Stage::Loaded => "loaded",
            Stage::Unload => "unload",
        }
    }

    /// Whether this is nothing that a user has to be told without asking: a file that is none of ours, one that was
    /// ruled out, one that lost.
    pub(crate) const fn is_ordinary(self) -> bool {
        matches!(
            self,
            Stage::Find
                | Stage::Denied
                | Stage::Symbol
                | Stage::Score
                | Stage::Ranked
                | Stage::Loaded
        )
    }
}

/// Why a library could not be loaded or unloaded: where, how far it got, and why, in the system's own words where there
/// are any.
#[derive(Clone, Debug, PartialEq)]
pub struct Failure {
    stage: Stage,
    path: PathBuf,
    reason: String,
    cause: Option<Error>,
}

impl Failure {
    /// A failure of this file at this stage.
    pub fn new(stage: Stage, path: &Path, reason: impl Into<String>) -> Self {
        Self { stage, path: path.to_owned(), reason: reason.into(), cause: None }
    }

    /// A failure that is an error of the core's.
    pub fn from_error(stage: Stage, path: &Path, error: Error) -> Self {
        Self::new(stage, path, error.to_string()).because(error)
    }

    /// With the error behind it.
    pub fn because(mut self, cause: Error) -> Self {
        self.cause = Some(cause);
        self
    }

    /// How far it got.
    pub fn stage(&self) -> Stage {
        self.stage
    }

    /// The file, or an empty path where a handle leads to none.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Why.
    pub fn reason(&self) -> &str {
        &self.reason
    }

    /// The core's error behind it, such as "still in use".
    pub fn cause(&self) -> Option<Error> {
        self.cause
    }
}

impl core::fmt::Display for Failure {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        if !self.path.as_os_str().is_empty() {
            write!(f, "{}: ", self.path.display())?;
        }
        write!(f, "{}: {}", self.stage.name(), self.reason)
    }
}

impl std::error::Error for Failure {}

/// A library that was opened and of which nothing was called. Dropping it closes the library.
pub trait Candidate {
    /// How well it suits this machine: more is better, 0 is "not at all", `None` where it has no opinion.
    ///
    /// # Errors
    /// [`Stage::Score`] for a score that can't be.
    fn score(&self) -> Result<Option<u32>, Failure>;

    /// Starts it. A library that runs already gives the backend that it has.
    ///
    /// # Errors
    /// [`Stage::Init`], [`Stage::Version`], [`Stage::Base`], [`Stage::Devices`]. It is closed then.
    fn init(self: Box<Self>) -> Result<&'static dyn Backend, Failure>;
}

/// A kind of plug-in.
///
/// # Implementors
/// * MUST NOT call anything in a library whose interface version it has not read, but for the functions that read it.
/// * MUST NOT write to standard output or standard error.
/// * The loader calls one function at a time.
pub trait Format: Sync {
    /// Opens a file, whose initialisers run. The path is absolute.
    ///
    /// # Errors
    /// [`Stage::Open`] with the system's words, [`Stage::Symbol`].
    fn open(&self, path: &Path) -> Result<Box<dyn Candidate>, Failure>;

    /// Closes the library behind a backend that [`Candidate::init`] gave.
    ///
    /// # Errors
    /// [`Stage::Unload`]; the cause is [`Error::InUse`] while objects of it are alive, [`Error::NotFound`] for a backend
    /// that this format has not loaded. Nothing is changed then.
    fn unload(&self, backend: &'static dyn Backend) -> Result<(), Failure>;

    /// The file behind a backend that this format has loaded.
    fn file(&self, backend: &'static dyn Backend) -> Option<PathBuf>;

    /// What was odd about a backend while it was loaded, such as devices that it counts and does not give.
    fn notes(&self, backend: &'static dyn Backend) -> Vec<String>;
}
