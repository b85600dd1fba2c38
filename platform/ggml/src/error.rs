//! Why a library could not be used.

use std::path::{Path, PathBuf};

/// How far loading got.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Stage {
    /// Opening the file: not there, not a library, a dependency missing.
    Open,
    /// Looking for the entry point: a library, but no plug-in.
    Symbol,
    /// Finding the functions that all plug-ins of one ggml share (its *base library*).
    Base,
    /// Asking for the score: not for this machine.
    Score,
    /// The entry point gave nothing.
    Init,
    /// The version of the interface is none that is understood.
    Version,
    /// What the plug-in says about its devices can't be.
    Devices,
    /// Giving it back.
    Unload,
}

impl Stage {
    /// One word.
    pub const fn name(self) -> &'static str {
        match self {
            Stage::Open => "open",
            Stage::Symbol => "symbol",
            Stage::Base => "base",
            Stage::Score => "score",
            Stage::Init => "init",
            Stage::Version => "version",
            Stage::Devices => "devices",
            Stage::Unload => "unload",
        }
    }
}

/// A library that could not be used: where, how far it got, and why, in the system's own words where there are any.
#[derive(Clone, Debug)]
pub struct LoadError {
    stage: Stage,
    path: PathBuf,
    reason: String,
    cause: Option<dinrail_core::Error>,
}

impl LoadError {
    pub(crate) fn new(stage: Stage, path: &Path, reason: impl Into<String>) -> Self {
        Self { stage, path: path.to_owned(), reason: reason.into(), cause: None }
    }

    pub(crate) fn because(mut self, cause: dinrail_core::Error) -> Self {
        self.cause = Some(cause);
        self
    }

    pub(crate) fn hint(mut self, hint: Option<String>) -> Self {
        if let Some(hint) = hint {
            self.reason = format!("{} ({hint})", self.reason);
        }
        self
    }

    /// How far it got.
    pub fn stage(&self) -> Stage {
        self.stage
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Why.
    pub fn reason(&self) -> &str {
        &self.reason
    }

    /// The core's error behind it, such as "still in use".
    pub fn cause(&self) -> Option<dinrail_core::Error> {
        self.cause
    }
}

impl core::fmt::Display for LoadError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{}: {}: {}", self.path.display(), self.stage.name(), self.reason)
    }
}

impl std::error::Error for LoadError {}
