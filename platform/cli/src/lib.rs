//! The program `dinrail`: a small front end to everything in the workspace.
//!
//! One file per command. [`errors`] says what an error becomes (one line and an exit code), [`output`] is the only place
//! that prints.
#![warn(missing_docs)]

pub mod args;
pub mod bench;
pub mod devices;
pub mod engine;
pub mod errors;
pub mod inspect;
pub mod load;
pub mod models;
pub mod output;
pub mod plan;
pub mod registry;
pub mod run;
pub mod story;
pub mod team;

use clap::{Parser, Subcommand};
use errors::Error;
use std::process::ExitCode;

/// Tensor computing for programs that must fit: runs language models on the best backend that is compiled in.
///
/// Without a command, shows the devices and tells a story.
#[derive(Debug, Parser)]
#[command(name = "dinrail", version, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Lists the backends and devices that are compiled in, and those that are loaded
    Devices(devices::Args),
    /// Loads a backend from a shared library and lists its devices
    Load(load::Args),
    /// Continues a text
    Run(run::Args),
    /// Shows what is in a GGUF file, and whether it can be run here
    Inspect(inspect::Args),
    /// Measures tokens per second of prompt and generation
    Bench(bench::Args),
    /// Shows how the planner packs a model's intermediate results
    Plan(plan::Args),
}

/// Runs the program on the process's arguments.
pub fn main() -> ExitCode {
    refuse_signals();
    let cli = match Cli::try_parse_from(args::spelt_out(std::env::args_os())) {
        Ok(cli) => cli,
        Err(e) => return errors::usage(&e),
    };
    if let Err(e) = dinrail::environment::apply() {
        return Error::new(e).report();
    }
    let result = match &cli.command {
        None => story::run(),
        Some(Command::Devices(args)) => devices::run(args),
        Some(Command::Load(args)) => load::run(args),
        Some(Command::Run(args)) => run::run(args),
        Some(Command::Inspect(args)) => inspect::run(args),
        Some(Command::Bench(args)) => bench::run(args),
        Some(Command::Plan(args)) => plan::run(args),
    };
    match result.and_then(|()| output::flush()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => e.report(),
    }
}

/// A file that grows past the system's limit becomes an error of the write, so that no part of it is left behind; by
/// default the system ends the program there.
fn refuse_signals() {
    #[cfg(unix)]
    {
        // SAFETY: no handler runs; the signal is only ignored.
        unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
    }
}

/// What a command answers.
pub type Result<T = (), E = Error> = core::result::Result<T, E>;
