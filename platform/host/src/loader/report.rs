//! What happened to every file that was looked at.

use super::format::{Failure, Stage};
use dinrail_core::Error;
use dinrail_core::registry::Handle;
use std::path::{Path, PathBuf};

/// One candidate.
#[derive(Clone, Debug)]
pub struct Entry {
    pub(super) path: PathBuf,
    pub(super) name: String,
    pub(super) score: Option<u32>,
    pub(super) stage: Stage,
    pub(super) reason: String,
    pub(super) handle: Option<Handle>,
    pub(super) notes: Vec<String>,
    pub(super) cause: Option<Error>,
}

impl Entry {
    /// The file, as an absolute path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The name that it is a candidate for, such as `cpu`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its score, if it was asked and has one.
    pub fn score(&self) -> Option<u32> {
        self.score
    }

    /// How far it got.
    pub fn stage(&self) -> Stage {
        self.stage
    }

    /// Why it got no further, in the system's words where there are any; what there is to know about one that was taken.
    pub fn reason(&self) -> &str {
        &self.reason
    }

    /// The backend in the registry, if it was taken.
    pub fn handle(&self) -> Option<Handle> {
        self.handle
    }

    /// Whether it was taken.
    pub fn is_taken(&self) -> bool {
        self.handle.is_some()
    }

    /// What was odd about it all the same, such as devices that it counts and does not give.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    pub(super) fn fail(&mut self, failure: Failure) {
        self.cause = failure.cause();
        self.end(failure.stage(), failure.reason());
    }

    pub(super) fn end(&mut self, stage: Stage, reason: impl Into<String>) {
        self.stage = stage;
        self.reason = reason.into();
    }
}

/// Why a directory was searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Origin {
    /// The caller gave it.
    Given,
    /// This environment variable names it.
    Variable(&'static str),
    /// The executable lies in it.
    Executable,
    /// It was chosen when the program was built.
    BuildTime,
    /// It is the user's.
    User,
    /// The program stands in it.
    Working,
}

impl Origin {
    /// In a few words.
    pub const fn name(self) -> &'static str {
        match self {
            Origin::Given => "given",
            Origin::Variable(name) => name,
            Origin::Executable => "executable",
            Origin::BuildTime => "build time",
            Origin::User => "user",
            Origin::Working => "working directory",
        }
    }
}

/// A directory that was searched, or could not be.
#[derive(Clone, Debug)]
pub struct Place {
    pub(super) path: PathBuf,
    pub(super) origin: Origin,
    pub(super) candidates: usize,
    pub(super) wrong: Option<String>,
}

impl Place {
    pub(super) fn new(path: PathBuf, origin: Origin) -> Self {
        Self { path, origin, candidates: 0, wrong: None }
    }

    /// The directory, as an absolute path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Why it was searched.
    pub fn origin(&self) -> Origin {
        self.origin
    }

    /// How many candidates it has.
    pub fn candidates(&self) -> usize {
        self.candidates
    }

    /// Why it could not be searched, in the system's words.
    pub fn wrong(&self) -> Option<&str> {
        self.wrong.as_deref()
    }
}

/// What loading came to. [`Display`](core::fmt::Display) makes a table of it.
#[derive(Clone, Debug, Default)]
#[must_use = "it says what was not loaded, and why"]
pub struct Report {
    pub(super) entries: Vec<Entry>,
    pub(super) places: Vec<Place>,
    pub(super) warnings: Vec<String>,
}

impl Report {
    /// Every candidate, in the order in which they were dealt with.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The candidates that were taken.
    pub fn taken(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().filter(|e| e.is_taken())
    }

    /// The directories, in the order in which they were searched.
    pub fn places(&self) -> &[Place] {
        &self.places
    }

    /// What the user should be told: settings that lead nowhere, a build that can't load.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    pub(super) fn warn(&mut self, text: String) {
        log::warn!("{text}");
        self.warnings.push(text);
    }
}

/// A path or a text of a stranger's on one line, without characters that a terminal would obey.
fn plain(text: impl core::fmt::Display) -> String {
    text.to_string().chars().map(|c| if c.is_control() { '\u{FFFD}' } else { c }).collect()
}

impl core::fmt::Display for Report {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let paths: Vec<String> = self.entries.iter().map(|e| plain(e.path.display())).collect();
        let width = paths.iter().map(|p| p.chars().count()).max().unwrap_or(0);
        for (entry, path) in self.entries.iter().zip(&paths) {
            let mark = if entry.is_taken() { '*' } else { ' ' };
            let score = entry.score.map_or("-".into(), |s| s.to_string());
            let (stage, reason) = (entry.stage.name(), plain(&entry.reason));
            writeln!(f, "{mark} {stage:<8} {score:>6} {path:<width$}  {reason}")?;
            for note in &entry.notes {
                writeln!(f, "{:18}{}", "", plain(note))?;
            }
        }
        let none = self.taken().next().is_none();
        if none {
            writeln!(f, "no backend was loaded")?;
        }
        for place in &self.places {
            let (path, origin) = (plain(place.path.display()), place.origin.name());
            match (&place.wrong, place.candidates) {
                (Some(e), _) => writeln!(f, "searched {path} ({origin}): {}", plain(e))?,
                (None, 1) => writeln!(f, "searched {path} ({origin}): 1 candidate")?,
                (None, n) => writeln!(f, "searched {path} ({origin}): {n} candidates")?,
            }
        }
        for warning in &self.warnings {
            writeln!(f, "warning: {}", plain(warning))?;
        }
        Ok(())
    }
}
