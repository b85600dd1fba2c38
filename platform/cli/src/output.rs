//! Printing: standard output, colours where there is a terminal, tables, sizes, progress.

use crate::{Error, Result};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{self, Write};
use std::time::{Duration, Instant};

/// Colours. `anstream` takes them out again where the output is no terminal or `NO_COLOR` is set.
pub mod style {
    use anstyle::{AnsiColor, Style};

    /// Headings.
    pub const HEAD: Style = Style::new().bold();
    /// Less important.
    pub const DIM: Style = Style::new().dimmed();
    /// Good news.
    pub const GOOD: Style = AnsiColor::Green.on_default();
    /// Bad news.
    pub const BAD: Style = AnsiColor::Red.on_default().bold();
}

/// Prints text, as it is.
///
/// # Errors
/// [`Error::Pipe`] when nobody reads any more.
pub fn text(text: impl core::fmt::Display) -> Result {
    write!(anstream::stdout(), "{text}")?;
    Ok(())
}

/// Prints a line.
///
/// # Errors
/// As [`text`].
pub fn line(line: impl core::fmt::Display) -> Result {
    writeln!(anstream::stdout(), "{line}")?;
    Ok(())
}

/// Prints what must be seen at once: a piece of a story.
///
/// # Errors
/// As [`text`].
pub fn piece(piece: &str) -> Result {
    text(piece)?;
    flush()
}

/// Prints what a model says: as it is, but to a terminal without characters that it would obey.
///
/// # Errors
/// As [`text`].
pub fn story(text: &str) -> Result {
    use std::io::IsTerminal as _;
    let mut out = io::stdout();
    if out.is_terminal() && text.contains(obeyed) {
        out.write_all(text.replace(obeyed, "\u{FFFD}").as_bytes())?;
    } else {
        out.write_all(text.as_bytes())?;
    }
    Ok(())
}

/// Whether a terminal does something else than print this. Lines and tabs are part of a text.
fn obeyed(c: char) -> bool {
    c.is_control() && !matches!(c, '\n' | '\t')
}

/// Prints a JSON document.
///
/// # Errors
/// As [`text`].
pub fn json(value: &serde_json::Value) -> Result {
    line(format_args!("{value:#}"))
}

/// Hands everything on.
///
/// # Errors
/// As [`text`].
pub fn flush() -> Result {
    Ok(io::stdout().flush()?)
}

/// A remark on standard error. Nobody's absence there is an error.
pub fn note(note: impl core::fmt::Display) {
    let dim = style::DIM;
    let _ = writeln!(anstream::stderr(), "{dim}{note}{dim:#}");
}

/// A number of bytes for people.
pub fn bytes(n: u64) -> String {
    const UNITS: [&str; 6] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
    let mut value = n as f64;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    match unit {
        0 => format!("{n} B"),
        _ => format!("{value:.1} {}", UNITS[unit]),
    }
}

/// Text that may come from a file, without characters that a terminal would obey.
pub fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{FFFD}' } else { c }).collect()
}

/// Which side of a column is flush.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// Words.
    Left,
    /// Numbers.
    Right,
}

/// A table whose columns are as wide as what is in them.
#[derive(Debug)]
pub struct Table {
    columns: Vec<(&'static str, Align)>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// An empty one.
    pub fn new(columns: &[(&'static str, Align)]) -> Self {
        Table { columns: columns.to_vec(), rows: Vec::new() }
    }

    /// Adds a row.
    pub fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    /// Its lines, without the spaces at their ends; the first is the heading.
    pub fn lines(&self) -> Vec<String> {
        let width = |i: usize| {
            let head = self.columns[i].0.chars().count();
            let cells = self.rows.iter().filter_map(|r| r.get(i)).map(|c| c.chars().count());
            cells.chain([head]).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.columns.len()).map(width).collect();
        let row = |cells: &mut dyn Iterator<Item = &str>| {
            let mut text = String::new();
            for ((cell, width), (_, align)) in cells.zip(&widths).zip(&self.columns) {
                let pad = " ".repeat(width.saturating_sub(cell.chars().count()));
                match align {
                    Align::Left => text.extend([cell, &pad, "  "]),
                    Align::Right => text.extend([&pad, cell, "  "]),
                }
            }
            text.trim_end().to_owned()
        };
        let mut lines = vec![row(&mut self.columns.iter().map(|c| c.0))];
        lines.extend(self.rows.iter().map(|cells| row(&mut cells.iter().map(String::as_str))));
        lines
    }

    /// Prints it.
    ///
    /// # Errors
    /// As [`text`].
    pub fn print(&self) -> Result {
        let head = style::HEAD;
        for (i, text) in self.lines().iter().enumerate() {
            match i {
                0 => line(format_args!("{head}{text}{head:#}"))?,
                _ => line(text)?,
            }
        }
        Ok(())
    }

    /// Prints it as a remark, on standard error.
    pub fn note(&self) {
        self.lines().into_iter().for_each(note);
    }
}

/// A bar on standard error that shows itself only where something takes longer than a second, and only on a terminal.
#[derive(Debug)]
pub struct Progress {
    what: &'static str,
    all: u64,
    start: Instant,
    bar: Option<ProgressBar>,
    quiet: bool,
}

impl Progress {
    /// For `all` steps.
    pub fn new(what: &'static str, all: u64, quiet: bool) -> Self {
        Progress { what, all, start: Instant::now(), bar: None, quiet }
    }

    /// `done` steps are done.
    pub fn at(&mut self, done: u64) {
        if !self.quiet && self.bar.is_none() && self.start.elapsed() > Duration::from_secs(1) {
            let bar = ProgressBar::with_draw_target(Some(self.all), ProgressDrawTarget::stderr());
            if let Ok(style) = ProgressStyle::with_template("{msg} {bar:30} {pos}/{len} {eta}") {
                bar.set_style(style);
            }
            bar.set_message(self.what);
            self.bar = Some(bar);
        }
        if let Some(bar) = &self.bar {
            bar.set_position(done);
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

impl From<core::fmt::Error> for Error {
    fn from(e: core::fmt::Error) -> Self {
        Error::new(e)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_short() {
        assert_eq!(bytes(0), "0 B");
        assert_eq!(bytes(1023), "1023 B");
        assert_eq!(bytes(1536), "1.5 KiB");
        assert_eq!(bytes(u64::MAX), "16384.0 PiB");
    }

    #[test]
    fn a_files_text_gives_a_terminal_no_orders() {
        assert_eq!(printable("a\u{1b}[2Jb\n"), "a\u{FFFD}[2Jb\u{FFFD}");
        assert!(['\u{1b}', '\u{7}', '\u{9b}', '\r'].into_iter().all(obeyed));
        assert!(!['\n', '\t', 'a', '\u{e9}'].into_iter().any(obeyed));
    }
}
