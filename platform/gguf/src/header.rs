//! Everything of a file but its tensor data, and the checks.

use core::fmt;

use dinrail_core::tensor::size;

use crate::cursor::{Cursor, MIN_ENTRY, MIN_INFO, times};
use crate::error::{Counted, Error, Item};
use crate::order::{By, Index, Items, STACK_SCRATCH, equal};
use crate::tensor::{Info, Infos};
use crate::value::{Array, Value};

/// The alignment of tensor data in a file that does not set `general.alignment`.
pub const DEFAULT_ALIGNMENT: u32 = 32;

const ALIGNMENT_KEY: &[u8] = b"general.alignment";

/// The numbers that parsing finds; positions are bytes from the start of the file.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Layout {
    version: u32,
    alignment: u32,
    keys: u32,
    tensors: u32,
    /// Where the first key, the first tensor description and the padding before the data start.
    keys_at: u32,
    infos_at: u32,
    end: u32,
    /// Where the data section starts.
    data_at: u64,
    /// The length of the file.
    len: u64,
}

impl Layout {
    /// Checks the header of a file of `len` bytes, of which `bytes` are the first.
    pub(crate) const fn parse(
        bytes: &[u8],
        len: u64,
        scratch: &mut [u32],
    ) -> Result<Layout, Error> {
        let mut at = Cursor::new(bytes, len);
        let found = tri!(at.array());
        if !equal(&found, b"GGUF") {
            return Err(Error::Magic { found });
        }
        let version = tri!(at.u32());
        if version != 2 && version != 3 {
            // The magic is four bytes in either order, so the version's low half tells.
            return Err(if version != 0 && version & 0xffff == 0 {
                Error::BigEndian { version: version.swap_bytes() }
            } else {
                Error::Version { version }
            });
        }
        let tensors = tri!(at.u64());
        let keys = tri!(at.u64());
        let left = at.left();
        let left = tri!(room(Counted::Tensors, 8, tensors, MIN_INFO, left));
        tri!(room(Counted::Keys, 16, keys, MIN_ENTRY, left));
        // Items of more than one byte each: the header would go past 4 GiB long before.
        if tensors > u32::MAX as u64 || keys > u32::MAX as u64 {
            return Err(Error::HeaderTooLarge);
        }
        let (tensors, keys) = (tensors as u32, keys as u32);
        let keys_at = at.at() as u32;
        let alignment = tri!(read_keys(&mut at, keys));
        let infos_at = at.at() as u32;
        tri!(read_infos(&mut at, tensors, alignment));
        if at.at() > u32::MAX as u64 {
            return Err(Error::HeaderTooLarge);
        }
        let end = at.at() as u32;
        // Below 2^33, so it can't wrap.
        let data_at = match size::padded(end as u64, alignment as u64) {
            Ok(n) => n,
            Err(_) => return Err(Error::HeaderTooLarge),
        };
        let layout =
            Layout { version, alignment, keys, tensors, keys_at, infos_at, end, data_at, len };
        let in_order = tri!(layout.check_extents(bytes));
        tri!(layout.items(bytes, By::Key).check(scratch));
        tri!(layout.items(bytes, By::TensorName).check(scratch));
        if !in_order {
            tri!(layout.items(bytes, By::TensorOffset).check(scratch));
        }
        Ok(layout)
    }

    /// That every tensor lies inside the file. Returns whether each starts at or after the end of the ones
    /// before it, which is how files are written; then none can overlap.
    const fn check_extents(&self, bytes: &[u8]) -> Result<bool, Error> {
        let available = self.len.saturating_sub(self.data_at);
        let mut at = Cursor::open(bytes, self.len, self.infos_at);
        let mut in_order = true;
        let mut reach = 0;
        let mut index = 0;
        while index < self.tensors {
            let info = tri!(at.info(index));
            let (offset, size) = (info.offset, info.size);
            if offset > available || size > available - offset {
                let tensor = Item { index, at: info.at };
                return Err(Error::OutOfFile { tensor, offset, size, data_len: available });
            }
            if size > 0 {
                in_order = in_order && offset >= reach;
                reach = offset + size;
            }
            index += 1;
        }
        Ok(in_order)
    }

    const fn items<'a>(&self, bytes: &'a [u8], by: By) -> Items<'a> {
        let (start, end, count) = match by {
            By::Key => (self.keys_at, self.infos_at, self.keys),
            By::TensorName | By::TensorOffset => (self.infos_at, self.end, self.tensors),
        };
        Items { bytes, len: self.len, start, end, count, by }
    }
}

/// What is left of `left` bytes after `count` items of at least `each` bytes. A count is held against the bytes
/// that its items need, not against their number.
const fn room(what: Counted, at: u64, count: u64, each: u64, left: u64) -> Result<u64, Error> {
    match times(count, each) {
        Some(bytes) if bytes <= left => Ok(left - bytes),
        _ => Err(Error::Count { what, at, count, left }),
    }
}

/// Reads all keys. Returns the alignment.
const fn read_keys(at: &mut Cursor<'_>, keys: u32) -> Result<u32, Error> {
    let mut alignment = DEFAULT_ALIGNMENT;
    let mut index = 0;
    while index < keys {
        let entry = tri!(at.entry());
        if core::str::from_utf8(entry.key).is_err() {
            return Err(Error::NotUtf8 { item: Item { index, at: entry.at } });
        }
        if equal(entry.key, ALIGNMENT_KEY) {
            alignment = match entry.value {
                Value::U32(value) if value.is_power_of_two() => value,
                Value::U32(value) => return Err(Error::Alignment { at: entry.value_at, value }),
                other => {
                    let id = other.kind().id();
                    return Err(Error::AlignmentType { at: entry.value_at, id });
                }
            };
        }
        index += 1;
    }
    if at.at() > u32::MAX as u64 { Err(Error::HeaderTooLarge) } else { Ok(alignment) }
}

/// Reads all tensor descriptions and checks what does not depend on where the data starts.
const fn read_infos(at: &mut Cursor<'_>, tensors: u32, alignment: u32) -> Result<(), Error> {
    let mut total = 0;
    let mut index = 0;
    while index < tensors {
        let info = tri!(at.info(index));
        let tensor = Item { index, at: info.at };
        if core::str::from_utf8(info.name).is_err() {
            return Err(Error::NotUtf8 { item: tensor });
        }
        if info.offset & (alignment as u64 - 1) != 0 {
            return Err(Error::Misaligned { tensor, offset: info.offset, alignment });
        }
        let padded = match size::padded(info.size, alignment as u64) {
            Ok(n) => n,
            Err(error) => return Err(Error::Size { tensor, error }),
        };
        total = match size::sum(total, padded) {
            Ok(n) => n,
            Err(error) => return Err(Error::Size { tensor, error }),
        };
        index += 1;
    }
    Ok(())
}

/// The head of a file: metadata and tensor descriptions. Two words and a few numbers, freely copied.
///
/// [`Header::read`] makes one from a [`ReadAt`](crate::ReadAt); [`File::header`](crate::File::header) gives that of a file in
/// memory.
#[derive(Clone, Copy)]
pub struct Header<'a> {
    bytes: &'a [u8],
    layout: Layout,
}

macro_rules! getters {
    ($($(#[$doc:meta])* $name:ident($value:ident): $t:ty = $get:expr;)*) => {$(
        $(#[$doc])*
        pub const fn $name(&self, key: &str) -> Option<$t> {
            match self.get(key) {
                Some($value) => $get,
                None => None,
            }
        }
    )*};
}

/// The typed look-ups, for [`Header`] and `File` alike.
macro_rules! metadata_getters {
    () => {
        getters! {
            /// An unsigned integer: the value of `key` if it is an integer of any width that fits.
            u32(v): u32 = v.as_u32();
            /// An unsigned integer: the value of `key` if it is an integer of any width that fits.
            u64(v): u64 = v.as_u64();
            /// An integer: the value of `key` if it is an integer of any width that fits.
            i32(v): i32 = v.as_i32();
            /// An integer: the value of `key` if it is an integer of any width that fits.
            i64(v): i64 = v.as_i64();
            /// A float: the value of `key` if it is an `f32`, or an `f64`, which is rounded.
            f32(v): f32 = v.as_f32();
            /// The value of `key` if it is a bool.
            bool(v): bool = v.as_bool();
            /// The value of `key` if it is a string and UTF-8. [`get`](Self::get) gives any string, as bytes.
            str(v): &'a str = match v.as_str() {
                Some(s) => s.to_str(),
                None => None,
            };
            /// The value of `key` if it is an array.
            array(v): Array<'a> = v.as_array();
        }
    };
}
pub(crate) use {getters, metadata_getters};

impl<'a> Header<'a> {
    pub(crate) const fn new(bytes: &'a [u8], layout: Layout) -> Self {
        match bytes.split_at_checked(layout.end as usize) {
            Some((bytes, _)) => Header { bytes, layout },
            None => Header { bytes, layout },
        }
    }

    /// Checks the header of a file of `len` bytes, of which `bytes` are the first, including that the tensors
    /// lie inside `len`.
    ///
    /// # Errors
    ///
    /// [`Error::NeedMore`] if the header goes on after `bytes`; anything else is final.
    pub const fn parse(bytes: &'a [u8], len: u64) -> Result<Self, Error> {
        Self::parse_with(bytes, len, &mut [0; STACK_SCRATCH])
    }

    /// [`parse`](Header::parse) with the caller's scratch memory; see [scratch memory](crate#scratch-memory).
    pub const fn parse_with(bytes: &'a [u8], len: u64, scratch: &mut [u32]) -> Result<Self, Error> {
        Ok(Header::new(bytes, tri!(Layout::parse(bytes, len, scratch))))
    }

    /// 2 or 3.
    pub const fn version(&self) -> u32 {
        self.layout.version
    }

    /// The alignment of tensor data in the file, in bytes: a power of two.
    pub const fn alignment(&self) -> u32 {
        self.layout.alignment
    }

    /// How long the file is, in bytes.
    pub const fn file_len(&self) -> u64 {
        self.layout.len
    }

    /// Where the data section starts, from the start of the file.
    pub const fn data_offset(&self) -> u64 {
        self.layout.data_at
    }

    /// The header's bytes, without the padding after it.
    pub const fn as_bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The keys and their values, in the file's order.
    pub const fn metadata(&self) -> Metadata<'a> {
        Metadata {
            at: Cursor::open(self.bytes, self.layout.len, self.layout.keys_at),
            left: self.layout.keys,
        }
    }

    /// The value of `key`: O(n), reading over all keys before it and over their strings.
    pub const fn get(&self, key: &str) -> Option<Value<'a>> {
        let mut at = self.metadata().at;
        let mut i = 0;
        while i < self.layout.keys {
            match at.entry() {
                Ok(entry) if equal(entry.key, key.as_bytes()) => return Some(entry.value),
                Ok(_) => i += 1,
                Err(_) => return None,
            }
        }
        None
    }

    metadata_getters!();

    /// The tensors, in the file's order.
    pub const fn tensors(&self) -> Infos<'a> {
        Infos {
            header: *self,
            at: Cursor::open(self.bytes, self.layout.len, self.layout.infos_at),
            left: self.layout.tensors,
        }
    }

    /// The tensor of this name: O(n). [`index`](Header::index) is faster for many.
    pub const fn tensor(&self, name: &str) -> Option<Info<'a>> {
        let Infos { mut at, left, .. } = self.tensors();
        let mut i = 0;
        while i < left {
            let here = at.at() as u32;
            match at.info(i) {
                Ok(info) if equal(info.name, name.as_bytes()) => return self.info_at(here),
                Ok(_) => i += 1,
                Err(_) => return None,
            }
        }
        None
    }

    /// Sorts the tensors by name in `scratch`, for look-ups in O(log n).
    ///
    /// # Errors
    ///
    /// [`Error::Scratch`] if `scratch` has less than one word for each tensor.
    pub const fn index<'s>(&self, scratch: &'s mut [u32]) -> Result<Index<'a, 's>, Error> {
        Index::new(*self, scratch)
    }

    pub(crate) const fn items(&self, by: By) -> Items<'a> {
        self.layout.items(self.bytes, by)
    }

    pub(crate) const fn info_at(&self, at: u32) -> Option<Info<'a>> {
        self.next_info(&mut Cursor::open(self.bytes, self.layout.len, at))
    }

    pub(crate) const fn next_info(&self, at: &mut Cursor<'a>) -> Option<Info<'a>> {
        let Ok(info) = at.info(0) else { return None };
        let Ok(name) = core::str::from_utf8(info.name) else { return None };
        let Ok(offset) = size::sum(self.layout.data_at, info.offset) else { return None };
        Some(Info {
            name,
            dtype: info.dtype,
            n_dims: info.n_dims,
            ne: info.ne,
            offset,
            size: info.size,
            data: (),
        })
    }
}

impl fmt::Debug for Header<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Header")
            .field("version", &self.layout.version)
            .field("alignment", &self.layout.alignment)
            .field("keys", &self.layout.keys)
            .field("tensors", &self.layout.tensors)
            .field("data_offset", &self.layout.data_at)
            .field("file_len", &self.layout.len)
            .finish()
    }
}

/// Iterator over keys and values, in the file's order.
#[derive(Clone)]
pub struct Metadata<'a> {
    at: Cursor<'a>,
    left: u32,
}

impl<'a> Iterator for Metadata<'a> {
    type Item = (&'a str, Value<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        let entry = self.at.entry().ok()?;
        Some((core::str::from_utf8(entry.key).ok()?, entry.value))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left as usize, Some(self.left as usize))
    }
}

impl ExactSizeIterator for Metadata<'_> {}
