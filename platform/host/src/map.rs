//! A file as bytes.

use crate::HEAP;
use core::ops::{Deref, Range};
use core::ptr::NonNull;
use dinrail_core::hal::host::Heap as _;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Alignment of the first byte, in both modes: that of tensors in a buffer.
pub const ALIGN: usize = 64;

/// What could not be done with a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stage {
    /// Opening it.
    Open,
    /// Mapping it into memory.
    Map,
    /// Reading it into memory.
    Read,
}

/// A file could not be used. Says which one, and what the system said.
#[derive(Debug)]
pub struct Error {
    path: PathBuf,
    stage: Stage,
    source: std::io::Error,
}

impl Error {
    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What was being done.
    pub fn stage(&self) -> Stage {
        self.stage
    }

    /// The kind of the system's error.
    pub fn kind(&self) -> std::io::ErrorKind {
        self.source.kind()
    }
}

impl core::fmt::Display for Error {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let doing = match self.stage {
            Stage::Open => "open",
            Stage::Map => "map",
            Stage::Read => "read",
        };
        // A path that isn't Unicode is printed as well as it can be.
        write!(f, "can't {doing} {}: {}", self.path.display(), self.source)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}

/// The bytes of a file, read-only, starting at a multiple of [`ALIGN`].
///
/// [`open`](Self::open) maps the file: pages are read when they are touched, and given up first when memory is short.
/// Whoever cuts the file short while it is mapped makes the next touch of a lost page a fault of this process (`SIGBUS`);
/// where that may happen, or where the file lies on a slow network, [`copy`](Self::copy) takes it into memory instead.
pub struct Mapped(Bytes);

enum Bytes {
    Map(memmap2::Mmap),
    Copy(Block),
}

impl core::fmt::Debug for Mapped {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Mapped")
            .field("len", &self.len())
            .field("mapped", &self.is_mapped())
            .finish_non_exhaustive()
    }
}

impl Mapped {
    /// Maps a file.
    ///
    /// # Errors
    /// [`Error`] where it isn't there, may not be read, is no ordinary file, or the system can't map it.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        let (file, _) = open(path)?;
        // SAFETY: the map is private to this value and only read. That nobody else changes the file is what the type's
        // documentation asks of users; changed bytes are seen as other bytes, which every reader checks.
        let map = unsafe { memmap2::Mmap::map(&file) }.map_err(|e| failed(path, Stage::Map, e))?;
        Ok(Self(Bytes::Map(map)))
    }

    /// Reads a file into memory of the [`HEAP`].
    ///
    /// # Errors
    /// As [`open`](Self::open), and when memory does not suffice or the file changes while it is read.
    pub fn copy(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        let (mut file, len) = open(path)?;
        let fail = |e| failed(path, Stage::Read, e);
        let len = usize::try_from(len).map_err(|_| {
            fail(std::io::Error::new(
                std::io::ErrorKind::FileTooLarge,
                "larger than the address space",
            ))
        })?;
        let mut block = Block::new(len)
            .map_err(|e| fail(std::io::Error::new(std::io::ErrorKind::OutOfMemory, e)))?;
        file.read_exact(block.bytes_mut()).map_err(fail)?;
        Ok(Self(Bytes::Copy(block)))
    }

    /// Whether it is a map, and not a copy.
    pub fn is_mapped(&self) -> bool {
        matches!(self.0, Bytes::Map(_))
    }

    /// Tells the system that these bytes will be used soon, so that it reads them ahead. A hint: does nothing for a copy,
    /// for a range outside, or where the system has no such call.
    pub fn will_need(&self, range: Range<usize>) {
        #[cfg(unix)]
        self.advise(memmap2::Advice::WillNeed, range);
        #[cfg(not(unix))]
        let _ = range;
    }

    /// Tells the system that bytes will be used in no particular order, so that reading ahead is of no use. A hint, as
    /// [`will_need`](Self::will_need).
    pub fn random(&self, range: Range<usize>) {
        #[cfg(unix)]
        self.advise(memmap2::Advice::Random, range);
        #[cfg(not(unix))]
        let _ = range;
    }

    #[cfg(unix)]
    fn advise(&self, advice: memmap2::Advice, range: Range<usize>) {
        let Bytes::Map(map) = &self.0 else { return };
        if range.start < range.end && range.end <= map.len() {
            // A hint that isn't taken harms nobody.
            let _ = map.advise_range(advice, range.start, range.end - range.start);
        }
    }
}

impl Deref for Mapped {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.0 {
            Bytes::Map(m) => m,
            Bytes::Copy(b) => b.bytes(),
        }
    }
}

impl AsRef<[u8]> for Mapped {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

fn failed(path: &Path, stage: Stage, source: std::io::Error) -> Error {
    Error { path: path.to_path_buf(), stage, source }
}

/// Opens an ordinary file. Asked before opening, because opening a pipe waits for somebody to write to it.
fn open(path: &Path) -> Result<(File, u64), Error> {
    let fail = |e| failed(path, Stage::Open, e);
    let kind = std::fs::metadata(path).map_err(fail)?;
    if kind.is_dir() {
        return Err(fail(std::io::Error::new(
            std::io::ErrorKind::IsADirectory,
            "this is a directory; name a file in it",
        )));
    }
    if !kind.is_file() {
        return Err(fail(std::io::Error::new(
            std::io::ErrorKind::InvalidInput,
            "not an ordinary file; save it to disk first",
        )));
    }
    let file = File::open(path).map_err(fail)?;
    let len = file.metadata().map_err(fail)?.len();
    Ok((file, len))
}

/// Owned memory of the heap.
struct Block {
    first: NonNull<u8>,
    len: usize,
}

// SAFETY: the block owns its memory, and hands out references by the rules of its own borrow.
unsafe impl Send for Block {}
// SAFETY: as above.
unsafe impl Sync for Block {}

impl Block {
    fn new(len: usize) -> dinrail_core::Result<Self> {
        let first = match len {
            0 => NonNull::<Aligned>::dangling().cast(),
            _ => HEAP.alloc(len, ALIGN)?,
        };
        Ok(Self { first, len })
    }

    fn bytes(&self) -> &[u8] {
        // SAFETY: the heap gave `len` initialised bytes (or `len` is 0), and they live as long as this value.
        unsafe { core::slice::from_raw_parts(self.first.as_ptr(), self.len) }
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `bytes`, and this value is borrowed exclusively.
        unsafe { core::slice::from_raw_parts_mut(self.first.as_ptr(), self.len) }
    }
}

#[repr(align(64))]
struct Aligned;

const _: () = assert!(align_of::<Aligned>() == ALIGN);

impl Drop for Block {
    fn drop(&mut self) {
        if self.len > 0 {
            // SAFETY: `new` took exactly this.
            unsafe { HEAP.free(self.first, self.len, ALIGN) };
        }
    }
}
