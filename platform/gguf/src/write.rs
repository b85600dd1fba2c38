//! Writing version 3.

use core::sync::atomic::{AtomicU32, Ordering};
use std::format;
use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::string::String;
use std::vec::Vec;

use core::fmt;

use dinrail_core::tensor::{DType, size};

use crate::error::Error;
use crate::header::{DEFAULT_ALIGNMENT, Header};
use crate::value::{Element, Kind, Str, Value};

/// Why a file was not written.
#[derive(Debug)]
pub enum WriteError {
    /// What was put in would make a file that [`File::parse`](crate::File::parse) refuses, for this reason.
    Format {
        /// The reason.
        error: Error,
        /// The same in words, with names.
        text: String,
    },
    /// A tensor's data is not as long as its type and lengths say.
    DataSize {
        /// The tensor.
        name: String,
        /// The size that type and lengths give.
        size: u64,
        /// The length of the data.
        data: u64,
    },
    /// More than four dimensions.
    Dimensions {
        /// The tensor.
        name: String,
        /// How many.
        n_dims: usize,
    },
    /// The system's answer.
    Io(io::Error),
}

impl fmt::Display for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WriteError::Format { text, .. } => f.write_str(text),
            WriteError::DataSize { name, size, data } => write!(
                f,
                "tensor \"{name}\" has {data} bytes of data: its type and lengths need {size}"
            ),
            WriteError::Dimensions { name, n_dims } => {
                write!(f, "tensor \"{name}\" has {n_dims} dimensions: at most 4 are supported")
            }
            WriteError::Io(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for WriteError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            WriteError::Io(error) => Some(error),
            WriteError::Format { error, .. } => Some(error),
            _ => None,
        }
    }
}

impl From<io::Error> for WriteError {
    fn from(error: io::Error) -> Self {
        WriteError::Io(error)
    }
}

struct Entry<'a> {
    name: String,
    dtype: DType,
    ne: Vec<u64>,
    data: &'a [u8],
}

/// Collects metadata and tensors and writes a version 3 file. Tensor data is borrowed.
///
/// The header is read back by this crate's own parser before a byte is written, so what comes out is what
/// [`File::parse`](crate::File::parse) accepts.
///
/// ```
/// use dinrail_core::tensor::DType;
/// let mut w = dinrail_gguf::Writer::new();
/// w.value("general.architecture", "demo".into());
/// w.array("demo.sizes", &[1u32, 2, 3]);
/// w.tensor("w", DType::I8, &[4], &[1, 2, 3, 4])?;
/// let bytes = w.to_vec()?;
/// assert_eq!(dinrail_gguf::File::parse(&bytes)?.tensor("w").unwrap().bytes(), [1, 2, 3, 4]);
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
pub struct Writer<'a> {
    alignment: u32,
    keys: u64,
    metadata: Vec<u8>,
    tensors: Vec<Entry<'a>>,
}

impl Default for Writer<'_> {
    fn default() -> Self {
        Self::new()
    }
}

fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
    out.extend_from_slice(bytes);
}

fn put_value(out: &mut Vec<u8>, value: &Value<'_>) {
    match value {
        Value::U8(v) => out.extend_from_slice(&v.to_le_bytes()),
        Value::I8(v) => out.extend_from_slice(&v.to_le_bytes()),
        Value::U16(v) => out.extend_from_slice(&v.to_le_bytes()),
        Value::I16(v) => out.extend_from_slice(&v.to_le_bytes()),
        Value::U32(v) => out.extend_from_slice(&v.to_le_bytes()),
        Value::I32(v) => out.extend_from_slice(&v.to_le_bytes()),
        Value::U64(v) => out.extend_from_slice(&v.to_le_bytes()),
        Value::I64(v) => out.extend_from_slice(&v.to_le_bytes()),
        Value::F32(v) => out.extend_from_slice(&v.to_le_bytes()),
        Value::F64(v) => out.extend_from_slice(&v.to_le_bytes()),
        Value::Bool(v) => out.push(u8::from(*v)),
        Value::Str(v) => put_bytes(out, v.as_bytes()),
        Value::Array(v) => {
            out.extend_from_slice(&v.kind().id().to_le_bytes());
            out.extend_from_slice(&(v.len() as u64).to_le_bytes());
            out.extend_from_slice(v.as_bytes());
        }
    }
}

impl<'a> Writer<'a> {
    /// An empty file with the default alignment, 32.
    pub const fn new() -> Self {
        Writer { alignment: DEFAULT_ALIGNMENT, keys: 0, metadata: Vec::new(), tensors: Vec::new() }
    }

    fn key(&mut self, key: &str, kind: Kind) {
        self.keys += 1;
        put_bytes(&mut self.metadata, key.as_bytes());
        self.metadata.extend_from_slice(&kind.id().to_le_bytes());
    }

    /// Adds a value; also one of another file, arrays included. `general.alignment` sets the alignment too.
    pub fn value(&mut self, key: &str, value: Value<'_>) -> &mut Self {
        if key == "general.alignment"
            && let Value::U32(alignment) = value
        {
            self.alignment = alignment;
        }
        self.key(key, value.kind());
        put_value(&mut self.metadata, &value);
        self
    }

    /// Adds an array.
    pub fn array<T: Element>(&mut self, key: &str, elements: &[T]) -> &mut Self {
        self.key(key, Kind::Array);
        self.metadata.extend_from_slice(&T::KIND.id().to_le_bytes());
        self.metadata.extend_from_slice(&(elements.len() as u64).to_le_bytes());
        for element in elements {
            put_value(&mut self.metadata, &element.value());
        }
        self
    }

    /// Adds an array of strings.
    pub fn strs<'s, I>(&mut self, key: &str, strs: I) -> &mut Self
    where
        I: IntoIterator<Item: Into<Str<'s>>, IntoIter: ExactSizeIterator>,
    {
        let strs = strs.into_iter();
        self.key(key, Kind::Array);
        self.metadata.extend_from_slice(&Kind::Str.id().to_le_bytes());
        let count_at = self.metadata.len();
        self.metadata.extend_from_slice(&[0; 8]);
        let mut count = 0u64;
        for s in strs {
            put_bytes(&mut self.metadata, s.into().as_bytes());
            count += 1;
        }
        self.metadata[count_at..count_at + 8].copy_from_slice(&count.to_le_bytes());
        self
    }

    /// Adds a tensor with lengths `ne`, innermost first, and its little-endian data.
    ///
    /// # Errors
    ///
    /// [`WriteError::Dimensions`] for more than four lengths, [`WriteError::DataSize`] if `data` is not exactly
    /// as long as they need, [`WriteError::Format`] if that can't be computed. Nothing is added then.
    pub fn tensor(
        &mut self,
        name: &str,
        dtype: DType,
        ne: &[u64],
        data: &'a [u8],
    ) -> Result<&mut Self, WriteError> {
        let mut full = [1; 4];
        match full.get_mut(..ne.len()) {
            Some(full) => full.copy_from_slice(ne),
            None => return Err(WriteError::Dimensions { name: name.into(), n_dims: ne.len() }),
        }
        let need = size::tensor_bytes(dtype, &full).map_err(|error| {
            let tensor = crate::Item { index: self.tensors.len() as u32, at: 0 };
            let text = format!("tensor \"{name}\": {error}");
            WriteError::Format { error: Error::Size { tensor, error }, text }
        })?;
        if need != data.len() as u64 {
            let data = data.len() as u64;
            return Err(WriteError::DataSize { name: name.into(), size: need, data });
        }
        self.tensors.push(Entry { name: name.into(), dtype, ne: ne.into(), data });
        Ok(self)
    }

    /// The header, padded to where the data starts, and checked.
    fn header(&self) -> Result<Vec<u8>, WriteError> {
        let mut out = Vec::new();
        out.extend_from_slice(b"GGUF");
        out.extend_from_slice(&3u32.to_le_bytes());
        out.extend_from_slice(&(self.tensors.len() as u64).to_le_bytes());
        out.extend_from_slice(&self.keys.to_le_bytes());
        out.extend_from_slice(&self.metadata);
        // An alignment that is none is refused by the check below; any other number serves until then.
        let alignment = if self.alignment.is_power_of_two() { self.alignment } else { 1 };
        let pad = |n: u64| size::padded(n, alignment.into());
        let too_large = |_| io::Error::new(io::ErrorKind::InvalidInput, "file past 2^64 bytes");
        let mut offset = 0u64;
        for t in &self.tensors {
            put_bytes(&mut out, t.name.as_bytes());
            out.extend_from_slice(&(t.ne.len() as u32).to_le_bytes());
            for n in &t.ne {
                out.extend_from_slice(&n.to_le_bytes());
            }
            out.extend_from_slice(&t.dtype.to_ggml().to_le_bytes());
            out.extend_from_slice(&offset.to_le_bytes());
            let size = pad(t.data.len() as u64).map_err(too_large)?;
            offset = size::sum(offset, size).map_err(too_large)?;
        }
        let data_at = pad(out.len() as u64).map_err(too_large)?;
        let len = size::sum(data_at, offset).map_err(too_large)?;
        let mut scratch = std::vec![0; self.tensors.len().max(self.keys as usize).max(1)];
        Header::parse_with(&out, len, &mut scratch).map_err(|error| WriteError::Format {
            error,
            text: format!("{}", error.describe(&out)),
        })?;
        let data_at = size::to_usize(data_at).map_err(too_large)?;
        out.resize(data_at, 0);
        Ok(out)
    }

    /// Writes the file. The data of each tensor, also of the last, is padded to the alignment.
    ///
    /// # Errors
    ///
    /// [`WriteError::Format`] before anything is written; [`WriteError::Io`].
    pub fn write_to(&self, out: &mut (impl Write + ?Sized)) -> Result<(), WriteError> {
        out.write_all(&self.header()?)?;
        let zeros = [0; 64];
        for t in &self.tensors {
            out.write_all(t.data)?;
            let mut pad = t.data.len().next_multiple_of(self.alignment as usize) - t.data.len();
            while pad > 0 {
                let n = pad.min(zeros.len());
                out.write_all(&zeros[..n])?;
                pad -= n;
            }
        }
        Ok(())
    }

    /// The file in memory.
    ///
    /// # Errors
    ///
    /// [`WriteError::Format`].
    pub fn to_vec(&self) -> Result<Vec<u8>, WriteError> {
        let mut out = Vec::new();
        self.write_to(&mut out)?;
        Ok(out)
    }

    /// Writes the file at `path`, complete or not at all; see [`replace_file`].
    ///
    /// # Errors
    ///
    /// As [`write_to`](Writer::write_to). A file that was at `path` is then still there.
    pub fn write_file(&self, path: impl AsRef<Path>) -> Result<(), WriteError> {
        replace_file(path, |file| {
            let mut out = io::BufWriter::new(file);
            self.write_to(&mut out)?;
            Ok(out.flush()?)
        })
    }
}

/// Lets `write` fill a new file next to `path`, and puts it in `path`'s place once it is on disk.
///
/// Readers see the old file or the new one, never a part; one that has the old file mapped keeps it. If anything
/// fails, the new file is removed and `path` is as it was.
///
/// A link is followed: the file that it leads to is replaced. What is no ordinary file, such as a pipe or a device, is
/// written to and never replaced.
///
/// # Errors
///
/// What `write` answers, and what the system does.
pub fn replace_file<E: From<io::Error>>(
    path: impl AsRef<Path>,
    write: impl FnOnce(&mut fs::File) -> Result<(), E>,
) -> Result<(), E> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let path = path.as_ref();
    let target;
    let path = match fs::metadata(path) {
        Ok(there) if there.is_dir() => {
            return Err(io::Error::new(io::ErrorKind::IsADirectory, "this is a directory").into());
        }
        Ok(there) if !there.is_file() => {
            return write(&mut fs::OpenOptions::new().write(true).open(path)?);
        }
        Ok(_) => {
            target = fs::canonicalize(path)?;
            &target
        }
        // A link that leads nowhere is left alone.
        Err(e) if path.is_symlink() => return Err(e.into()),
        Err(_) => path,
    };
    let Some(name) = path.file_name() else {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "path without a file name").into());
    };
    // Paths stay in the system's own form: they need not be text.
    let mut temporary_name = std::ffi::OsString::from(".");
    temporary_name.push(name);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    temporary_name.push(format!(".{}-{number}.part", std::process::id()));
    let temporary = path.with_file_name(temporary_name);

    let mut file = fs::OpenOptions::new().write(true).create_new(true).open(&temporary)?;
    let guard = Remove(&temporary);
    write(&mut file)?;
    file.sync_all()?;
    drop(file);
    fs::rename(&temporary, path)?;
    core::mem::forget(guard);
    Ok(())
}

/// Removes the file on every way out, a panic of the closure included.
struct Remove<'a>(&'a Path);

impl Drop for Remove<'_> {
    fn drop(&mut self) {
        let _ = fs::remove_file(self.0);
    }
}
