//! Metadata values: scalars, strings and flat arrays, all borrowed from the file.

use core::fmt;
use core::marker::PhantomData;

use crate::cursor::Cursor;

/// The type of a metadata value, with GGUF's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
#[allow(missing_docs)]
pub enum Kind {
    U8 = 0,
    I8 = 1,
    U16 = 2,
    I16 = 3,
    U32 = 4,
    I32 = 5,
    F32 = 6,
    Bool = 7,
    Str = 8,
    Array = 9,
    U64 = 10,
    I64 = 11,
    F64 = 12,
}

impl Kind {
    /// The kind with this number.
    pub const fn from_id(id: u32) -> Option<Kind> {
        Some(match id {
            0 => Kind::U8,
            1 => Kind::I8,
            2 => Kind::U16,
            3 => Kind::I16,
            4 => Kind::U32,
            5 => Kind::I32,
            6 => Kind::F32,
            7 => Kind::Bool,
            8 => Kind::Str,
            9 => Kind::Array,
            10 => Kind::U64,
            11 => Kind::I64,
            12 => Kind::F64,
            _ => return None,
        })
    }

    /// Its number in the file.
    pub const fn id(self) -> u32 {
        self as u32
    }

    /// Bytes of one element, or `None` where it varies (strings and arrays).
    pub const fn bytes(self) -> Option<usize> {
        match self {
            Kind::Str | Kind::Array => None,
            fixed => Some(fixed.min_bytes()),
        }
    }

    /// The fewest bytes that one element takes.
    pub(crate) const fn min_bytes(self) -> usize {
        match self {
            Kind::U8 | Kind::I8 | Kind::Bool => 1,
            Kind::U16 | Kind::I16 => 2,
            Kind::U32 | Kind::I32 | Kind::F32 => 4,
            Kind::U64 | Kind::I64 | Kind::F64 => 8,
            Kind::Str => 8,
            Kind::Array => 4 + 8,
        }
    }
}

/// A metadata string. GGUF says UTF-8, but token pieces in real files are often not, so it is bytes.
///
/// `Display` replaces what is not UTF-8 by U+FFFD.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Str<'a>(&'a [u8]);

impl<'a> Str<'a> {
    /// A string of these bytes.
    pub const fn new(bytes: &'a [u8]) -> Self {
        Str(bytes)
    }

    /// The bytes.
    pub const fn as_bytes(self) -> &'a [u8] {
        self.0
    }

    /// The text, or `None` if it is not UTF-8.
    pub const fn to_str(self) -> Option<&'a str> {
        match core::str::from_utf8(self.0) {
            Ok(s) => Some(s),
            Err(_) => None,
        }
    }

    /// Its length, in bytes.
    pub const fn len(self) -> usize {
        self.0.len()
    }

    /// Whether it has no bytes.
    pub const fn is_empty(self) -> bool {
        self.0.is_empty()
    }
}

impl PartialEq<str> for Str<'_> {
    fn eq(&self, other: &str) -> bool {
        self.0 == other.as_bytes()
    }
}

impl PartialEq<&str> for Str<'_> {
    fn eq(&self, other: &&str) -> bool {
        self.0 == other.as_bytes()
    }
}

impl<'a> From<&'a str> for Str<'a> {
    fn from(s: &'a str) -> Self {
        Str(s.as_bytes())
    }
}

impl fmt::Display for Str<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for chunk in self.0.utf8_chunks() {
            f.write_str(chunk.valid())?;
            if !chunk.invalid().is_empty() {
                f.write_str("\u{fffd}")?;
            }
        }
        Ok(())
    }
}

impl fmt::Debug for Str<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", self.0.escape_ascii())
    }
}

/// A metadata value.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum Value<'a> {
    U8(u8),
    I8(i8),
    U16(u16),
    I16(i16),
    U32(u32),
    I32(i32),
    F32(f32),
    Bool(bool),
    Str(Str<'a>),
    Array(Array<'a>),
    U64(u64),
    I64(i64),
    F64(f64),
}

impl<'a> Value<'a> {
    /// Its type.
    pub const fn kind(&self) -> Kind {
        match self {
            Value::U8(_) => Kind::U8,
            Value::I8(_) => Kind::I8,
            Value::U16(_) => Kind::U16,
            Value::I16(_) => Kind::I16,
            Value::U32(_) => Kind::U32,
            Value::I32(_) => Kind::I32,
            Value::F32(_) => Kind::F32,
            Value::Bool(_) => Kind::Bool,
            Value::Str(_) => Kind::Str,
            Value::Array(_) => Kind::Array,
            Value::U64(_) => Kind::U64,
            Value::I64(_) => Kind::I64,
            Value::F64(_) => Kind::F64,
        }
    }

    /// An integer of any width, if it is not negative.
    pub const fn as_u64(&self) -> Option<u64> {
        match *self {
            Value::U64(v) => Some(v),
            _ => match self.as_i64() {
                Some(v) if v >= 0 => Some(v as u64),
                _ => None,
            },
        }
    }

    /// An integer of any width, if it fits.
    pub const fn as_i64(&self) -> Option<i64> {
        match *self {
            Value::U8(v) => Some(v as i64),
            Value::I8(v) => Some(v as i64),
            Value::U16(v) => Some(v as i64),
            Value::I16(v) => Some(v as i64),
            Value::U32(v) => Some(v as i64),
            Value::I32(v) => Some(v as i64),
            Value::I64(v) => Some(v),
            Value::U64(v) if v <= i64::MAX as u64 => Some(v as i64),
            _ => None,
        }
    }

    /// An integer of any width, if it fits.
    pub const fn as_u32(&self) -> Option<u32> {
        match self.as_u64() {
            Some(v) if v <= u32::MAX as u64 => Some(v as u32),
            _ => None,
        }
    }

    /// An integer of any width, if it fits.
    pub const fn as_i32(&self) -> Option<i32> {
        match self.as_i64() {
            Some(v) if v >= i32::MIN as i64 && v <= i32::MAX as i64 => Some(v as i32),
            _ => None,
        }
    }

    /// A float; an `f64` is rounded.
    pub const fn as_f32(&self) -> Option<f32> {
        match *self {
            Value::F32(v) => Some(v),
            Value::F64(v) => Some(v as f32),
            _ => None,
        }
    }

    /// A bool.
    pub const fn as_bool(&self) -> Option<bool> {
        match *self {
            Value::Bool(v) => Some(v),
            _ => None,
        }
    }

    /// A string.
    pub const fn as_str(&self) -> Option<Str<'a>> {
        match *self {
            Value::Str(v) => Some(v),
            _ => None,
        }
    }

    /// An array.
    pub const fn as_array(&self) -> Option<Array<'a>> {
        match *self {
            Value::Array(v) => Some(v),
            _ => None,
        }
    }
}

impl<'a> From<&'a str> for Value<'a> {
    fn from(s: &'a str) -> Self {
        Value::Str(s.into())
    }
}

/// A flat array: its elements are scalars or strings.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Array<'a> {
    kind: Kind,
    len: usize,
    bytes: &'a [u8],
}

impl<'a> Array<'a> {
    pub(crate) const fn new(kind: Kind, len: usize, bytes: &'a [u8]) -> Self {
        Array { kind, len, bytes }
    }

    /// The type of its elements; never [`Kind::Array`].
    pub const fn kind(&self) -> Kind {
        self.kind
    }

    /// How many elements it has.
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether it has no elements.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The elements as they are in the file: little-endian, or lengths (`u64`) and bytes for strings.
    pub const fn as_bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Element `index`: O(1), but O(`index`) in an array of strings.
    pub const fn get(&self, index: usize) -> Option<Value<'a>> {
        if index >= self.len {
            return None;
        }
        let mut at = Cursor::new(self.bytes, self.bytes.len() as u64);
        match self.kind.bytes() {
            // In range: `index` is below `len`, and `len` elements lie in the slice.
            Some(size) => {
                if at.take((index * size) as u64).is_err() {
                    return None;
                }
            }
            None => {
                let mut i = 0;
                while i < index {
                    if at.string().is_err() {
                        return None;
                    }
                    i += 1;
                }
            }
        }
        match at.scalar(self.kind) {
            Ok(value) => Some(value),
            Err(_) => None,
        }
    }

    /// The elements, whatever their type.
    pub const fn iter(&self) -> Values<'a> {
        Values {
            at: Cursor::new(self.bytes, self.bytes.len() as u64),
            kind: self.kind,
            left: self.len,
        }
    }

    /// The elements as `T`, or `None` if they have another type. No conversion takes place.
    pub fn of<T: Element>(&self) -> Option<Elements<'a, T>> {
        (self.kind == T::KIND).then_some(Elements { bytes: self.bytes, of: PhantomData })
    }

    /// The elements as strings, or `None` if they have another type.
    pub const fn strs(&self) -> Option<Strs<'a>> {
        match self.kind {
            Kind::Str => Some(Strs(self.iter())),
            _ => None,
        }
    }
}

impl fmt::Debug for Array<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{:?}; {}]", self.kind, self.len)
    }
}

impl<'a> IntoIterator for Array<'a> {
    type Item = Value<'a>;
    type IntoIter = Values<'a>;

    fn into_iter(self) -> Values<'a> {
        self.iter()
    }
}

/// Iterator over the elements of an [`Array`] as [`Value`]s. Skipping is O(n).
#[derive(Clone)]
pub struct Values<'a> {
    at: Cursor<'a>,
    kind: Kind,
    left: usize,
}

impl<'a> Iterator for Values<'a> {
    type Item = Value<'a>;

    fn next(&mut self) -> Option<Value<'a>> {
        self.left = self.left.checked_sub(1)?;
        self.at.scalar(self.kind).ok()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for Values<'_> {}

/// Iterator over the strings of an [`Array`]. Reaching the n-th one is O(n).
#[derive(Clone)]
pub struct Strs<'a>(Values<'a>);

impl<'a> Iterator for Strs<'a> {
    type Item = Str<'a>;

    fn next(&mut self) -> Option<Str<'a>> {
        self.0.next()?.as_str()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl ExactSizeIterator for Strs<'_> {}

mod sealed {
    pub trait Sealed {}
}

/// A fixed-size element type of metadata arrays. Sealed: GGUF has no others.
pub trait Element: Copy + sealed::Sealed {
    /// Its type.
    const KIND: Kind;
    /// Bytes of one.
    const SIZE: usize;
    /// One from the first [`SIZE`](Element::SIZE) little-endian bytes, or `None` if there are fewer.
    fn read(bytes: &[u8]) -> Option<Self>;
    /// The value as a [`Value`].
    fn value(self) -> Value<'static>;
}

macro_rules! elements {
    ($($t:ty => $kind:ident),*) => {$(
        impl sealed::Sealed for $t {}
        impl Element for $t {
            const KIND: Kind = Kind::$kind;
            const SIZE: usize = size_of::<$t>();
            fn read(bytes: &[u8]) -> Option<Self> {
                bytes.first_chunk().map(|b| <$t>::from_le_bytes(*b))
            }
            fn value(self) -> Value<'static> {
                Value::$kind(self)
            }
        }
        impl From<$t> for Value<'_> {
            fn from(v: $t) -> Self {
                v.value()
            }
        }
    )*};
}
elements!(u8 => U8, i8 => I8, u16 => U16, i16 => I16, u32 => U32, i32 => I32, u64 => U64, i64 => I64,
    f32 => F32, f64 => F64);

impl From<bool> for Value<'_> {
    fn from(v: bool) -> Self {
        Value::Bool(v)
    }
}

impl sealed::Sealed for bool {}
impl Element for bool {
    const KIND: Kind = Kind::Bool;
    const SIZE: usize = 1;
    fn read(bytes: &[u8]) -> Option<Self> {
        bytes.first().map(|b| *b != 0)
    }
    fn value(self) -> Value<'static> {
        Value::Bool(self)
    }
}

/// The elements of an [`Array`] of a fixed-size type: an iterator from both ends, with O(1) access.
#[derive(Clone)]
pub struct Elements<'a, T> {
    bytes: &'a [u8],
    of: PhantomData<T>,
}

impl<T: Element> Elements<'_, T> {
    /// Element `index` of those not taken yet: O(1).
    pub fn get(&self, index: usize) -> Option<T> {
        T::read(self.bytes.get(index.checked_mul(T::SIZE)?..)?)
    }
}

impl<T: Element> Iterator for Elements<'_, T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        let value = T::read(self.bytes)?;
        self.bytes = self.bytes.get(T::SIZE..)?;
        Some(value)
    }

    fn nth(&mut self, n: usize) -> Option<T> {
        let skip = n.checked_mul(T::SIZE).and_then(|at| self.bytes.get(at..));
        self.bytes = skip.unwrap_or(&[]);
        self.next()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let n = self.bytes.len() / T::SIZE;
        (n, Some(n))
    }
}

impl<T: Element> DoubleEndedIterator for Elements<'_, T> {
    fn next_back(&mut self) -> Option<T> {
        let (rest, last) = self.bytes.split_at_checked(self.bytes.len().checked_sub(T::SIZE)?)?;
        self.bytes = rest;
        T::read(last)
    }
}

impl<T: Element> ExactSizeIterator for Elements<'_, T> {}
