//! Reading a header from something that is not in memory.

use core::fmt;

#[cfg(feature = "std")]
use crate::cursor::MIN_ENTRY;
use crate::error::Error;
use crate::header::{Header, Layout};
use crate::order::STACK_SCRATCH;

/// The first request of [`Header::read`]; each further one doubles what is there.
const FIRST_READ: u64 = 4096;

/// Bytes at an offset: a file, external flash behind a bus, an object store.
///
/// Offsets count from the start and reads need not be in order; nothing is ever read relative to the end.
// An `is_empty` would ask nothing that a caller wants to know.
#[allow(clippy::len_without_is_empty)]
pub trait ReadAt {
    /// Why a read failed.
    type Error;

    /// The length of the whole file, in bytes. Tensor offsets are held against it.
    ///
    /// # Errors
    ///
    /// Whatever keeps the source from telling.
    fn len(&mut self) -> Result<u64, Self::Error>;

    /// Reads bytes from `offset` on into `buf` and says how many.
    ///
    /// # Implementors
    ///
    /// MAY read fewer than `buf.len()`. MUST return 0 only at or after the end (or if `buf` is empty), and MUST
    /// NOT return more than `buf.len()` (a larger number is taken for `buf.len()`).
    ///
    /// # Errors
    ///
    /// Whatever keeps the source from reading. It is not asked again.
    fn read_at(&mut self, offset: u64, buf: &mut [u8]) -> Result<usize, Self::Error>;
}

impl ReadAt for &[u8] {
    type Error = core::convert::Infallible;

    fn len(&mut self) -> Result<u64, Self::Error> {
        Ok(<[u8]>::len(self) as u64)
    }

    fn read_at(&mut self, offset: u64, buf: &mut [u8]) -> Result<usize, Self::Error> {
        let rest = usize::try_from(offset).ok().and_then(|at| self.get(at..)).unwrap_or(&[]);
        let n = rest.len().min(buf.len());
        if let (Some(to), Some(from)) = (buf.get_mut(..n), rest.get(..n)) {
            to.copy_from_slice(from);
        }
        Ok(n)
    }
}

#[cfg(feature = "std")]
impl ReadAt for std::fs::File {
    type Error = std::io::Error;

    fn len(&mut self) -> Result<u64, Self::Error> {
        self.metadata().map(|m| m.len())
    }

    fn read_at(&mut self, offset: u64, buf: &mut [u8]) -> Result<usize, Self::Error> {
        use std::io::{ErrorKind, Read, Seek, SeekFrom};
        self.seek(SeekFrom::Start(offset))?;
        loop {
            match self.read(buf) {
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                result => return result,
            }
        }
    }
}

/// Why reading from a source failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadError<E> {
    /// The bytes are wrong, or the buffer is.
    Format(Error),
    /// The source failed.
    Source {
        /// Where it was asked to read; 0 if it was asked for its length.
        at: u64,
        /// What it said.
        error: E,
    },
}

impl<E> From<Error> for ReadError<E> {
    fn from(error: Error) -> Self {
        ReadError::Format(error)
    }
}

impl<E: fmt::Display> fmt::Display for ReadError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReadError::Format(error) => error.fmt(f),
            ReadError::Source { at, error } => write!(f, "reading at byte {at}: {error}"),
        }
    }
}

impl<E: core::error::Error + 'static> core::error::Error for ReadError<E> {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            ReadError::Format(_) => None,
            ReadError::Source { error, .. } => Some(error),
        }
    }
}

/// Fills `buf` from `offset` on, however short the reads are.
///
/// # Errors
///
/// What the source answers, and [`Error::SourceEnded`] if it ends first.
pub fn read_exact_at<S: ReadAt + ?Sized>(
    source: &mut S,
    offset: u64,
    buf: &mut [u8],
) -> Result<(), ReadError<S::Error>> {
    let mut at = offset;
    let mut rest = buf;
    while !rest.is_empty() {
        let n = source.read_at(at, rest).map_err(|error| ReadError::Source { at, error })?;
        if n == 0 {
            let len = source.len().map_err(|error| ReadError::Source { at: 0, error })?;
            return Err(Error::SourceEnded { at, len }.into());
        }
        at = at.saturating_add(n as u64);
        rest = rest.get_mut(n..).unwrap_or(&mut []);
    }
    Ok(())
}

impl<'a> Header<'a> {
    /// Reads the header of a file into `buf`, in growing requests, and checks it as [`File::parse`] would,
    /// including that the tensors lie inside the source's length.
    ///
    /// # Errors
    ///
    /// [`Error::NeedMore`] if `buf` is too small: it says a lower bound, so grow by at least a half again or
    /// double. What the source answers. Anything else says what is wrong with the file.
    ///
    /// [`File::parse`]: crate::File::parse
    pub fn read<S: ReadAt + ?Sized>(
        source: &mut S,
        buf: &'a mut [u8],
    ) -> Result<Self, ReadError<S::Error>> {
        Self::read_with(source, buf, &mut [0; STACK_SCRATCH])
    }

    /// [`read`](Header::read) with the caller's scratch memory; see [scratch memory](crate#scratch-memory).
    ///
    /// # Errors
    ///
    /// Those of [`read`](Header::read).
    pub fn read_with<S: ReadAt + ?Sized>(
        source: &mut S,
        buf: &'a mut [u8],
        scratch: &mut [u32],
    ) -> Result<Self, ReadError<S::Error>> {
        let len = source.len().map_err(|error| ReadError::Source { at: 0, error })?;
        let most = usize::try_from(len).unwrap_or(usize::MAX).min(buf.len());
        let mut have = 0;
        let mut want = most.min(FIRST_READ as usize);
        let layout = loop {
            if let Some(new) = buf.get_mut(have..want) {
                read_exact_at(source, have as u64, new)?;
            }
            have = want;
            match Layout::parse(buf.get(..have).unwrap_or(&[]), len, scratch) {
                Ok(layout) => break layout,
                Err(Error::NeedMore { bytes }) if have < most => {
                    let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
                    if bytes > most {
                        return Err(Error::NeedMore { bytes: bytes as u64 }.into());
                    }
                    want = have.saturating_mul(2).max(bytes).min(most);
                }
                Err(error) => return Err(error.into()),
            }
        };
        Ok(Header::new(buf, layout))
    }

    /// [`read`](Header::read) into a `Vec` that grows as needed, with scratch memory from the heap. Both
    /// grow with what was read, at most to some two and a half times the header.
    ///
    /// # Errors
    ///
    /// Those of [`read`](Header::read), except [`Error::NeedMore`] and [`Error::Scratch`].
    #[cfg(feature = "std")]
    pub fn read_to_vec<S: ReadAt + ?Sized>(
        source: &mut S,
        buf: &'a mut std::vec::Vec<u8>,
    ) -> Result<Self, ReadError<S::Error>> {
        let len = source.len().map_err(|error| ReadError::Source { at: 0, error })?;
        let mut scratch = std::vec::Vec::new();
        buf.clear();
        let mut want = len.min(FIRST_READ);
        let layout = loop {
            let have = buf.len();
            let size = usize::try_from(want).map_err(|_| Error::HeaderTooLarge)?;
            buf.resize(size.max(have), 0);
            if let Some(new) = buf.get_mut(have..) {
                read_exact_at(source, have as u64, new)?;
            }
            // A word for each key or tensor that these bytes can hold, so that one pass is enough.
            scratch.resize(buf.len() / MIN_ENTRY as usize + 1, 0);
            match Layout::parse(buf, len, &mut scratch) {
                Ok(layout) => break layout,
                Err(Error::NeedMore { bytes }) => want = bytes.max(2 * want).min(len),
                Err(error) => return Err(error.into()),
            }
        };
        Ok(Header::new(buf, layout))
    }
}
