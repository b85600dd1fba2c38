//! A model on a device: from a path to something that evaluates tokens.

use crate::args::Placement;
use crate::output::{self, Progress};
use crate::team::{self, Team};
use crate::{Error, Result};
use dinrail::hal::{Buffer, Device, Stream, Usage};
use dinrail::host::map::Mapped;
use dinrail::program::Binding;
use dinrail_gguf::{Error as GgufError, File, STACK_SCRATCH};
use dinrail_llm::model::Config;
use dinrail_llm::session::{self, Evaluate, Memory, Packed, split};
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
    place: &Placement,
) -> Result<Option<Packed>> {
    if place.no_repack {
        return Ok(None);
    }
    Packed::new(device, file.header(), file.as_bytes()).map_err(|e| match e {
        session::Error::Core(dinrail::Error::OutOfMemory { .. }) => {
            model.wrong(format_args!("{e}; --no-repack takes less"))
        }
        _ => model.wrong(e),
    })
}

/// Where a model is about to run.
#[derive(Clone, Debug)]
pub struct Place {
    /// The devices, in words.
    pub name: String,
    /// Instruction level of the host's.
    pub level: &'static str,
    /// Matrices that were stored in another order, and their bytes.
    pub packed: Option<(usize, usize)>,
}

/// Runs `f` on a session of a model: on one device, or split over several. `large` is what to do about sizes that are
/// too large.
///
/// # Errors
/// Whatever is wrong with file, devices or sizes, and what `f` gives.
pub fn with_session<R>(
    model: &Model,
    file: &File<'_>,
    team: &Team,
    place: &Placement,
    options: &session::Options,
    quiet: bool,
    large: &str,
    f: impl FnOnce(&mut dyn Evaluate, &Place) -> Result<R>,
) -> Result<R> {
    let header = file.header();
    if let (Some(one), [stream], false) = (team.alone(), team.streams(), place.split) {
        let weights = weights(one.device, file, quiet)?;
        let packed = packed(one.device, model, file, place)?;
        let mut memory = Memory::with_packed(header, stream, options, packed)
            .map_err(|e| too_large(model, &e, large))?;
        let at = Place {
            name: one.device.name().to_owned(),
            level: one.device.level(),
            packed: memory.packed().map(|p| (p.matrices(), p.bytes())),
        };
        let mut bindings = [Binding::NONE; session::BINDINGS];
        let mut session = memory
            .session(stream, header, &weights, &mut bindings)
            .map_err(|e| unusable(model, &e))?;
        return f(&mut session, &at);
    }
    let streams: Vec<&Stream> = team.streams().iter().collect();
    let host = team.host();
    let bytes = weights(host.device, file, quiet)?;
    let layers = Config::read(header).map_err(|e| model.wrong(e))?.layers;
    let placement = team.placement(place, layers);
    let mut memory = split::Memory::new(header, &streams, bytes.buffer_type(), options, placement)
        .map_err(|e| too_large(model, &e, large))?;
    if place.split {
        memory.show(&streams, &bytes, 1, team::show).map_err(|e| unusable(model, &e))?;
    }
    let mut progress = None;
    memory
        .allocate(&streams, file.as_bytes(), |done, all| {
            progress
                .get_or_insert_with(|| Progress::new("loading", all as u64, quiet))
                .at(done as u64);
        })
        .map_err(|e| too_large(model, &e, &format!("{large}, and so do fewer --gpu-layers")))?;
    drop(progress);
    let mut room = Vec::new();
    let mut session =
        memory.session(&streams, &bytes, &mut room).map_err(|e| unusable(model, &e))?;
    f(&mut session, &Place { name: team.name(), level: host.device.level(), packed: None })
}

/// An error of sizes, with what to do where those that were asked for are too large.
pub fn too_large(model: &Model, e: &session::Error, what_to_do: &str) -> Error {
    match e {
        session::Error::Core(
            dinrail::Error::OutOfMemory { .. }
            | dinrail::Error::Size(_)
            | dinrail::Error::Node { .. }
            | dinrail::Error::Full { .. },
        ) => model.wrong(format_args!("{e}; {what_to_do}")),
        _ => model.wrong(e),
    }
}

/// An error of making a session: the file and the device don't go together.
pub fn unusable(model: &Model, e: &session::Error) -> Error {
    match e {
        session::Error::Core(dinrail::Error::Misaligned { align, .. }) => {
            model.wrong(format_args!(
                "a tensor does not lie at a multiple of {align} bytes: convert the model anew with a general.alignment \
                 of 32"
            ))
        }
        _ => model.wrong(e),
    }
}

/// One line about what will be run.
pub fn headline(model: &Model, file: &File<'_>, place: &Place) -> String {
    let name = file.str("general.name").map(output::printable);
    let level = match place.level {
        "" => String::new(),
        level => format!(" ({level})"),
    };
    let path = model.path().display().to_string();
    let packed = place.packed.map_or(String::new(), |(matrices, bytes)| {
        format!(", of which {} in {matrices} matrices re-ordered", output::bytes(bytes as u64))
    });
    format!(
        "{} on {}{level}: {}{packed}",
        name.unwrap_or(path),
        place.name,
        output::bytes(file.as_bytes().len() as u64),
    )
}
