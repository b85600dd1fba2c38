//! Files built byte by byte, so that every field can be wrong.
#![allow(dead_code)]

pub const U8: u32 = 0;
pub const U32: u32 = 4;
pub const I32: u32 = 5;
pub const BOOL: u32 = 7;
pub const STR: u32 = 8;
pub const ARRAY: u32 = 9;
pub const I64: u32 = 11;

pub const F32: u32 = 0;
pub const Q8_0: u32 = 8;

#[derive(Clone, Default)]
pub struct Raw(pub Vec<u8>);

impl Raw {
    /// The first 24 bytes.
    pub fn new(tensors: u64, keys: u64) -> Raw {
        Raw(b"GGUF".to_vec()).u32(3).u64(tensors).u64(keys)
    }

    pub fn u8(mut self, v: u8) -> Raw {
        self.0.push(v);
        self
    }

    pub fn u32(mut self, v: u32) -> Raw {
        self.0.extend(v.to_le_bytes());
        self
    }

    pub fn u64(mut self, v: u64) -> Raw {
        self.0.extend(v.to_le_bytes());
        self
    }

    pub fn raw(mut self, bytes: &[u8]) -> Raw {
        self.0.extend(bytes);
        self
    }

    pub fn str(self, s: impl AsRef<[u8]>) -> Raw {
        self.u64(s.as_ref().len() as u64).raw(s.as_ref())
    }

    /// A key and the type of its value.
    pub fn key(self, key: impl AsRef<[u8]>, kind: u32) -> Raw {
        self.str(key).u32(kind)
    }

    pub fn tensor(self, name: impl AsRef<[u8]>, ne: &[u64], dtype: u32, offset: u64) -> Raw {
        let mut out = self.str(name).u32(ne.len() as u32);
        for n in ne {
            out = out.u64(*n);
        }
        out.u32(dtype).u64(offset)
    }

    /// Zeros up to a multiple of 32, and `bytes` more of them.
    pub fn data(mut self, bytes: usize) -> Raw {
        self.0.resize(self.0.len().next_multiple_of(32) + bytes, 0);
        self
    }
}

/// A small good file with every kind of value and tensors of two types.
pub fn sample() -> Vec<u8> {
    let mut raw = Raw::new(3, 17)
        .key("general.architecture", STR)
        .str("llama")
        .key("general.alignment", U32)
        .u32(32)
        .key("t.u8", U8)
        .u8(200)
        .key("t.i8", 1)
        .u8(0x80)
        .key("t.u16", 2)
        .raw(&0xfff0u16.to_le_bytes())
        .key("t.i16", 3)
        .raw(&(-300i16).to_le_bytes())
        .key("t.u32", U32)
        .u32(0xdead_beef)
        .key("t.i32", I32)
        .u32(-7i32 as u32)
        .key("t.f32", 6)
        .raw(&1.5f32.to_le_bytes())
        .key("t.bool", BOOL)
        .u8(1)
        .key("t.u64", 10)
        .u64(1 << 40)
        .key("t.i64", I64)
        .u64(-9i64 as u64)
        .key("t.f64", 12)
        .raw(&0.25f64.to_le_bytes())
        .key("t.i32s", ARRAY)
        .u32(I32)
        .u64(3)
        .u32(1)
        .u32(-2i32 as u32)
        .u32(3)
        .key("t.strs", ARRAY)
        .u32(STR)
        .u64(3)
        .str("one")
        .str(b"\xff\xfe")
        .str("")
        .key("t.bools", ARRAY)
        .u32(BOOL)
        .u64(2)
        .u8(0)
        .u8(1)
        .key("t.empty", ARRAY)
        .u32(STR)
        .u64(0)
        .tensor("a", &[8, 2], F32, 0)
        .tensor("b", &[32, 3], Q8_0, 64)
        .tensor("c", &[], F32, 192)
        .data(0)
        .0;
    raw.extend((0..196u32).map(|i| i as u8));
    raw
}
