//! What an error becomes: one line on standard error, and an exit code.

use crate::output::style;
use std::io;
use std::path::Path;
use std::process::ExitCode;

/// Why a command ended early.
#[derive(Debug)]
pub enum Error {
    /// Something is wrong; the line says what, where, and what to do.
    Message(String),
    /// Whoever read the output has gone away. That is no error.
    Pipe,
    /// Ctrl-C, after what there was to print has been printed.
    Interrupted,
}

/// Exit code after Ctrl-C: 128 and the number of the signal.
const INTERRUPTED: u8 = 130;

impl Error {
    /// An error with its line.
    pub fn new(line: impl core::fmt::Display) -> Self {
        Error::Message(line.to_string())
    }

    /// An error about a file.
    pub fn at(path: &Path, line: impl core::fmt::Display) -> Self {
        Error::Message(format!("{}: {line}", path.display()))
    }

    /// Prints the line, if there is one, and gives the exit code.
    pub fn report(&self) -> ExitCode {
        match self {
            Error::Message(line) => {
                print_line(line);
                ExitCode::FAILURE
            }
            Error::Pipe => ExitCode::SUCCESS,
            Error::Interrupted => ExitCode::from(INTERRUPTED),
        }
    }
}

impl From<io::Error> for Error {
    fn from(e: io::Error) -> Self {
        match e.kind() {
            io::ErrorKind::BrokenPipe => Error::Pipe,
            _ => Error::Message(format!("can't write the output: {e}")),
        }
    }
}

impl From<dinrail::Error> for Error {
    fn from(e: dinrail::Error) -> Self {
        Error::new(e)
    }
}

impl From<dinrail_llm::session::Error> for Error {
    fn from(e: dinrail_llm::session::Error) -> Self {
        Error::new(e)
    }
}

impl From<dinrail_llm::tokenizer::Error> for Error {
    fn from(e: dinrail_llm::tokenizer::Error) -> Self {
        Error::new(e)
    }
}

impl From<dinrail_llm::sampler::Error> for Error {
    fn from(e: dinrail_llm::sampler::Error) -> Self {
        Error::new(e)
    }
}

/// `error: line`, whatever is in it on one line and without control characters: names in a file are a stranger's.
fn print_line(line: &str) {
    use std::io::Write as _;
    let line: String = line.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let bad = style::BAD;
    // Nobody is left to be told when this fails.
    let _ = writeln!(anstream::stderr(), "{bad}error:{bad:#} {line}");
}

/// What the argument parser found: help and version go to standard output; a mistake becomes one line and exit code 2.
pub fn usage(e: &clap::Error) -> ExitCode {
    if !e.use_stderr() {
        return match e.print() {
            Ok(()) => ExitCode::SUCCESS,
            Err(e) => Error::from(e).report(),
        };
    }
    if e.kind() == clap::error::ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        let _ = e.print();
        return ExitCode::from(2);
    }
    let text = e.render().to_string();
    let words = text
        .lines()
        .map(str::trim)
        .take_while(|l| !l.starts_with("Usage:") && !l.starts_with("For more information"))
        .filter(|l| !l.is_empty())
        .collect::<Vec<_>>()
        .join(" ");
    let line = words.strip_prefix("error: ").unwrap_or(&words);
    print_line(&format!("{line}; `dinrail --help` lists what there is"));
    ExitCode::from(2)
}
