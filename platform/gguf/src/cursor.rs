//! The one reader of bytes: every field of a GGUF header is decoded here, at run time and at compile time alike.

use dinrail_core::tensor::{DType, size};

use crate::error::{Counted, Error, Item};
use crate::value::{Array, Kind, Str, Value};

/// The longest metadata key, in bytes.
pub const MAX_KEY: u64 = 65_535;

/// The longest tensor name, in bytes. ggml keeps names in 64 bytes with a terminator, and two names that are
/// equal after that cut could not be told apart there.
pub const MAX_NAME: u64 = 63;

/// The smallest encoding of a key with its value: length, one byte of key, value type, one byte of value.
pub(crate) const MIN_ENTRY: u64 = 8 + 1 + 4 + 1;

/// The smallest encoding of a tensor: length, one byte of name, dimension count, type, offset.
pub(crate) const MIN_INFO: u64 = 8 + 1 + 4 + 4 + 8;

/// A position in the first `have` bytes of a file of `len` bytes.
///
/// A field that ends past `len` is [`Error::Truncated`]; one that ends past `have` only is [`Error::NeedMore`].
#[derive(Clone, Copy)]
pub(crate) struct Cursor<'a> {
    rest: &'a [u8],
    at: u64,
    len: u64,
}

/// One metadata entry. The key's text is checked once, in `Header::parse`.
pub(crate) struct Entry<'a> {
    pub(crate) at: u32,
    pub(crate) key: &'a [u8],
    /// Where the value's type is stored.
    pub(crate) value_at: u64,
    pub(crate) value: Value<'a>,
}

/// One tensor description, with the offset as stored: relative to the data section.
pub(crate) struct RawInfo<'a> {
    pub(crate) at: u32,
    pub(crate) name: &'a [u8],
    pub(crate) dtype: DType,
    pub(crate) n_dims: u32,
    pub(crate) ne: [u64; 4],
    pub(crate) offset: u64,
    pub(crate) size: u64,
}

/// `count` things of `each` bytes, or `None` if that wraps.
pub(crate) const fn times(count: u64, each: u64) -> Option<u64> {
    match size::elements(&[count, each, 1, 1]) {
        Ok(n) => Some(n),
        Err(_) => None,
    }
}

impl<'a> Cursor<'a> {
    pub(crate) const fn new(bytes: &'a [u8], len: u64) -> Self {
        Cursor { rest: bytes, at: 0, len }
    }

    /// A cursor at byte `at`, or at the end if there are fewer bytes.
    pub(crate) const fn open(bytes: &'a [u8], len: u64, at: u32) -> Self {
        match bytes.split_at_checked(at as usize) {
            Some((_, rest)) => Cursor { rest, at: at as u64, len },
            None => Cursor { rest: &[], at: len, len },
        }
    }

    pub(crate) const fn at(&self) -> u64 {
        self.at
    }

    /// Bytes of the file from here to its end.
    pub(crate) const fn left(&self) -> u64 {
        self.len.saturating_sub(self.at)
    }

    const fn ran_out(&self, need: u64) -> Error {
        match size::sum(self.at, need) {
            Ok(end) if end <= self.len => Error::NeedMore { bytes: end },
            _ => Error::Truncated { at: self.at, need, len: self.len },
        }
    }

    pub(crate) const fn take(&mut self, need: u64) -> Result<&'a [u8], Error> {
        if let Ok(n) = size::to_usize(need)
            && let Some((head, rest)) = self.rest.split_at_checked(n)
        {
            self.rest = rest;
            self.at += need;
            return Ok(head);
        }
        Err(self.ran_out(need))
    }

    pub(crate) const fn array<const N: usize>(&mut self) -> Result<[u8; N], Error> {
        match self.rest.split_first_chunk::<N>() {
            Some((head, rest)) => {
                self.rest = rest;
                self.at += N as u64;
                Ok(*head)
            }
            None => Err(self.ran_out(N as u64)),
        }
    }

    pub(crate) const fn u32(&mut self) -> Result<u32, Error> {
        Ok(u32::from_le_bytes(tri!(self.array())))
    }

    pub(crate) const fn u64(&mut self) -> Result<u64, Error> {
        Ok(u64::from_le_bytes(tri!(self.array())))
    }

    /// A length and that many bytes.
    pub(crate) const fn string(&mut self) -> Result<&'a [u8], Error> {
        let len = tri!(self.u64());
        self.take(len)
    }

    /// The position as 32 bits, which is how sorted positions are kept.
    const fn position(&self) -> Result<u32, Error> {
        if self.at > u32::MAX as u64 {
            return Err(Error::HeaderTooLarge);
        }
        Ok(self.at as u32)
    }

    /// A string that may be neither empty nor longer than `max`.
    const fn name(&mut self, max: u64) -> Result<&'a [u8], Error> {
        let at = self.at;
        let len = tri!(self.u64());
        if len == 0 {
            return Err(Error::EmptyName { at });
        }
        // Before the length is held against the file: a length field that is nonsense is named as such.
        if len > max {
            return Err(Error::NameTooLong { at, len, max });
        }
        self.take(len)
    }

    const fn kind(&mut self) -> Result<Kind, Error> {
        let at = self.at;
        let id = tri!(self.u32());
        match Kind::from_id(id) {
            Some(kind) => Ok(kind),
            None => Err(Error::ValueType { at, id }),
        }
    }

    const fn bool(&mut self) -> Result<bool, Error> {
        let at = self.at;
        match tri!(self.array()) {
            [0] => Ok(false),
            [1] => Ok(true),
            [value] => Err(Error::Bool { at, value }),
        }
    }

    /// The next key and its value.
    pub(crate) const fn entry(&mut self) -> Result<Entry<'a>, Error> {
        let at = tri!(self.position());
        let key = tri!(self.name(MAX_KEY));
        let value_at = self.at;
        let value = match tri!(self.kind()) {
            Kind::Array => Value::Array(tri!(self.elements())),
            kind => tri!(self.scalar(kind)),
        };
        Ok(Entry { at, key, value_at, value })
    }

    /// A value of a kind other than [`Kind::Array`].
    pub(crate) const fn scalar(&mut self, kind: Kind) -> Result<Value<'a>, Error> {
        Ok(match kind {
            Kind::U8 => Value::U8(u8::from_le_bytes(tri!(self.array()))),
            Kind::I8 => Value::I8(i8::from_le_bytes(tri!(self.array()))),
            Kind::U16 => Value::U16(u16::from_le_bytes(tri!(self.array()))),
            Kind::I16 => Value::I16(i16::from_le_bytes(tri!(self.array()))),
            Kind::U32 => Value::U32(tri!(self.u32())),
            Kind::I32 => Value::I32(i32::from_le_bytes(tri!(self.array()))),
            Kind::U64 => Value::U64(tri!(self.u64())),
            Kind::I64 => Value::I64(i64::from_le_bytes(tri!(self.array()))),
            Kind::F32 => Value::F32(f32::from_le_bytes(tri!(self.array()))),
            Kind::F64 => Value::F64(f64::from_le_bytes(tri!(self.array()))),
            Kind::Bool => Value::Bool(tri!(self.bool())),
            Kind::Str => Value::Str(Str::new(tri!(self.string()))),
            Kind::Array => return Err(Error::NestedArray { at: self.at }),
        })
    }

    /// The rest of an array, after its own type id.
    const fn elements(&mut self) -> Result<Array<'a>, Error> {
        let at = self.at;
        let kind = tri!(self.kind());
        if let Kind::Array = kind {
            return Err(Error::NestedArray { at });
        }
        let at = self.at;
        let count = tri!(self.u64());
        let bytes = match times(count, kind.min_bytes() as u64) {
            Some(n) if n <= self.left() => n,
            _ => {
                return Err(Error::Count { what: Counted::Elements, at, count, left: self.left() });
            }
        };
        let start = *self;
        match kind {
            Kind::Str => {
                let mut i = 0;
                while i < count {
                    tri!(self.string());
                    i += 1;
                }
            }
            Kind::Bool => {
                let mut i = 0;
                while i < count {
                    tri!(self.bool());
                    i += 1;
                }
            }
            _ => {
                tri!(self.take(bytes));
            }
        }
        let mut again = start;
        let bytes = tri!(again.take(self.at - start.at));
        // `count` elements of at least one byte each lie in a slice, so it fits.
        Ok(Array::new(kind, count as usize, bytes))
    }

    /// The next tensor description, the `index`-th.
    pub(crate) const fn info(&mut self, index: u32) -> Result<RawInfo<'a>, Error> {
        let at = tri!(self.position());
        let tensor = Item { index, at };
        let name = tri!(self.name(MAX_NAME));
        let n_dims = tri!(self.u32());
        if n_dims > 4 {
            return Err(Error::Dimensions { tensor, n_dims });
        }
        let mut ne = [1; 4];
        let mut i = 0;
        while i < n_dims as usize && i < ne.len() {
            ne[i] = tri!(self.u64());
            i += 1;
        }
        let id = tri!(self.u32());
        let dtype = match DType::from_ggml(id) {
            Some(dtype) => dtype,
            None => return Err(Error::TensorType { tensor, id }),
        };
        let offset = tri!(self.u64());
        let size = match size::tensor_bytes(dtype, &ne) {
            Ok(n) => n,
            Err(error) => return Err(Error::Size { tensor, error }),
        };
        Ok(RawInfo { at, name, dtype, n_dims, ne, offset, size })
    }
}
