//! `dinrail load`, and `--load` of the other commands

use crate::{Error, Result, output};
use dinrail::loader::{self, Entry, Options, Place, Policy, Report};
use serde_json::json;
use std::path::{Path, PathBuf};

/// Backends to load before anything else.
#[derive(Debug, clap::Args)]
pub struct Choice {
    /// Loads backends from shared libraries: one file, all of a directory, or all that are found
    #[arg(long, value_name = "PATH", num_args = 0..=1)]
    load: Option<Option<PathBuf>>,
    /// Never opens libraries of this name, such as `vulkan` or `cpu-haswell`
    #[arg(long, value_name = "NAME", requires = "load")]
    deny: Vec<String>,
}

impl Choice {
    /// Loads them. `None` if none was asked for.
    pub fn load(&self) -> Option<Report> {
        let policy = Policy { deny: self.deny.clone(), ..Policy::default() };
        let options = Options { policy, ..Options::default() };
        Some(match self.load.as_ref()? {
            None => loader::load_all(&options),
            Some(path) if path.is_dir() => loader::load_all_from(path, &options),
            Some(path) => loader::load_file(path, &options),
        })
    }

    /// Loads them and says on standard error what was taken, or everything if nothing was.
    pub fn load_aloud(&self, quiet: bool) {
        let Some(report) = self.load() else { return };
        if report.taken().next().is_none() {
            output::note(report.to_string().trim_end());
        } else if !quiet {
            for entry in report.taken() {
                let line = format!("loaded {}: {}", entry.path().display(), entry.reason());
                output::note(output::printable(&line));
            }
        }
    }
}

/// Arguments.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The library
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// As JSON
    #[arg(long)]
    json: bool,
}

/// Loads one library and lists its devices.
///
/// # Errors
/// Why it could not be loaded.
pub fn run(args: &Args) -> Result {
    let report = loader::load_file(&args.file, &Options::default());
    if args.json {
        output::json(&as_json(&report))?;
    } else {
        output::text(&report)?;
    }
    let Some(entry) = report.taken().next() else {
        return Err(why(&report, &args.file));
    };
    let backend = entry.handle().and_then(|h| dinrail::registry().backend(h).ok());
    if let (Some(backend), false) = (backend, args.json) {
        for device in (0..backend.device_count()).filter_map(|i| backend.device(i)) {
            let line = format!("{}: {}", device.name(), device.description());
            output::line(output::printable(&line))?;
        }
    }
    Ok(())
}

fn why(report: &Report, file: &Path) -> Error {
    match report.entries().first() {
        Some(e) => Error::at(e.path(), format_args!("{}: {}", e.stage().name(), e.reason())),
        None => Error::at(file, report.warnings().join("; ")),
    }
}

/// A report for programs.
pub fn as_json(report: &Report) -> serde_json::Value {
    let entry = |e: &Entry| {
        json!({
            "path": e.path().to_string_lossy(),
            "name": e.name(),
            "score": e.score(),
            "stage": e.stage().name(),
            "reason": e.reason(),
            "taken": e.is_taken(),
            "notes": e.notes(),
        })
    };
    let place = |p: &Place| {
        json!({
            "path": p.path().to_string_lossy(),
            "origin": p.origin().name(),
            "candidates": p.candidates(),
            "error": p.wrong(),
        })
    };
    json!({
        "candidates": report.entries().iter().map(entry).collect::<Vec<_>>(),
        "searched": report.places().iter().map(place).collect::<Vec<_>>(),
        "warnings": report.warnings(),
    })
}
