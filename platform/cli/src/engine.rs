//! A model on a device: from a path to something that evaluates tokens.

use crate::output::{self, Progress};
use crate::{Error, Result};
use dinrail::hal::{Buffer, Device, Stream, Usage};
use dinrail::host::map::Mapped;
use dinrail_gguf::{Error as GgufError, File, STACK_SCRATCH};
use dinrail_llm::session::{self, Packed};
use std::path::{Path, PathBuf};

/// A model file: where it is, and its bytes.
#[derive(Debug)]
pub struct Model {
    path: PathBuf,
    bytes: Bytes,
}

#[derive(Debug)]
enum Bytes {
    Mapped(Mapped),
    Static(&'static [u8]),
}

impl Model {
    /// Maps a file.
    ///
    /// # Errors
    /// Whatever the system says, with the path.
    pub fn open(path: &Path) -> Result<Self> {
        let mapped = Mapped::open(path).map_err(Error::new)?;
        Ok(Model { path: path.to_owned(), bytes: Bytes::Mapped(mapped) })
    }

    /// A model that is part of the program.
    pub fn embedded(name: &str, bytes: &'static [u8]) -> Self {
        Model { path: PathBuf::from(name), bytes: Bytes::Static(bytes) }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Checks the whole file.
    ///
    /// # Errors
    /// What is wrong with it, with the path.
    pub fn file(&self) -> Result<File<'_>> {
        let bytes: &[u8] = match &self.bytes {
            Bytes::Mapped(m) => m,
            Bytes::Static(b) => b,
        };
        let parsed = match File::parse_with(bytes, &mut [0; STACK_SCRATCH]) {
            Err(GgufError::Scratch { words }) => {
                let words = usize::try_from(words).unwrap_or(usize::MAX);
                // Never more than the file itself has entries, which take dozens of bytes each.
                File::parse_with(bytes, &mut vec![0; words.min(bytes.len())])
            }
            other => other,
        };
        parsed.map_err(|e| self.wrong(e.describe(bytes)))
    }

    /// An error about this file.
    pub fn wrong(&self, line: impl core::fmt::Display) -> Error {
        Error::at(&self.path, line)
    }
}

/// The file's bytes where a device can use them: in place if it can, else copied.
///
/// # Errors
/// What the device says.
pub fn weights<'m>(
    device: &'static dyn Device,
    file: &File<'m>,
    quiet: bool,
) -> Result<Buffer<'m>> {
    let bytes = file.as_bytes();
    if device.caps().buffer_from_host {
        let largest = file.tensors().map(|t| t.size).max().unwrap_or(0);
        let largest = usize::try_from(largest).unwrap_or(usize::MAX);
        let buffer = device.buffer_from_host(bytes, largest)?;
        buffer.set_usage(Usage::Weights);
        return Ok(buffer);
    }
    let buffer = Buffer::new(device.buffer_type(), bytes.len())?;
    buffer.set_usage(Usage::Weights);
    let mut progress = Progress::new("loading", bytes.len() as u64, quiet);
    const PIECE: usize = 4 << 20;
    for (i, piece) in bytes.chunks(PIECE).enumerate() {
        buffer.write(i * PIECE, piece)?;
        progress.at((i * PIECE + piece.len()) as u64);
    }
    Ok(buffer)
}

/// Copies of the matrices that the device's kernels want in another order, if there are any.
///
/// # Errors
/// What is wrong with the file, or what the device says.
pub fn packed(
    device: &'static dyn Device,
    model: &Model,
    file: &File<'_>,
    choice: &Repack,
) -> Result<Option<Packed>> {
    if choice.no_repack {
        return Ok(None);
    }
    Packed::new(device, file.header(), file.as_bytes()).map_err(|e| match e {
        session::Error::Core(dinrail::Error::OutOfMemory { .. }) => {
            model.wrong(format_args!("{e}; --no-repack takes less"))
        }
        _ => model.wrong(e),
    })
}

/// Whether to store weights in another order.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub struct Repack {
    /// Leaves weights as they are in the file, also where the device has memory that re-orders them for its kernels
    #[arg(long)]
    no_repack: bool,
}

/// One line about what will be run.
pub fn headline(
    model: &Model,
    file: &File<'_>,
    stream: &Stream,
    packed: Option<&Packed>,
) -> String {
    let name = file.str("general.name").map(output::printable);
    let device = stream.device();
    let level = match device.level() {
        "" => String::new(),
        level => format!(" ({level})"),
    };
    let path = model.path().display().to_string();
    let packed = packed.map_or(String::new(), |p| {
        format!(
            ", of which {} in {} matrices re-ordered",
            output::bytes(p.bytes() as u64),
            p.matrices()
        )
    });
    format!(
        "{} on {}{level}: {}{packed}",
        name.unwrap_or(path),
        device.name(),
        output::bytes(file.as_bytes().len() as u64),
    )
}
