//! Model files
//!
//! GGUF, versions 2 and 3, in memory: a file in flash, in the executable, or mapped (`dinrail_file_map`). Nothing is copied.
//! What `dinrail_gguf_open` accepts is sound in all parts; see its errors for what is not. Text and data live as long as the
//! file's memory. All functions on an opened file may be called from any thread. It needs no closing.

use crate::border::{Holder, Out, answer, bytes, filled, guard, holder, some, string};
use crate::error::{Fault, dinrail_error, dinrail_status};
use crate::graph::dinrail_dtype;
use crate::text::dinrail_str;
use core::cell::UnsafeCell;
use core::ffi::{c_char, c_void};
use dinrail::Error;
use dinrail::gguf::{File, Tensor, Value};
use dinrail::tensor::size::to_usize;

/// A model file in memory.
#[repr(C)]
pub struct dinrail_gguf {
    wide_: UnsafeCell<[u64; 6]>,
    words_: UnsafeCell<[usize; 8]>,
}
holder!(dinrail_gguf holds File<'static>, 9, "GGUF file");

/// A tensor of a file. For a graph: bind the file's memory to a slot and pass `offset`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct dinrail_gguf_tensor {
    /// Its name.
    pub name: dinrail_str,
    /// Type of its elements.
    pub dtype: dinrail_dtype,
    /// How many dimensions the file gives.
    pub dims: u32,
    /// Lengths, innermost first; 1 from `dims` on.
    pub ne: [usize; 4],
    /// First byte, counted from the start of the file.
    pub offset: usize,
    /// Number of bytes.
    pub size: usize,
    /// Its bytes.
    pub data: *const c_void,
}

/// Type of a value in a file, with GGUF's numbers.
pub type dinrail_gguf_type = u32;
/// 8 bits, unsigned.
pub const DINRAIL_GGUF_U8: u32 = 0;
/// 8 bits.
pub const DINRAIL_GGUF_I8: u32 = 1;
/// 16 bits, unsigned.
pub const DINRAIL_GGUF_U16: u32 = 2;
/// 16 bits.
pub const DINRAIL_GGUF_I16: u32 = 3;
/// 32 bits, unsigned.
pub const DINRAIL_GGUF_U32: u32 = 4;
/// 32 bits.
pub const DINRAIL_GGUF_I32: u32 = 5;
/// A float.
pub const DINRAIL_GGUF_F32: u32 = 6;
/// 0 or 1.
pub const DINRAIL_GGUF_BOOL: u32 = 7;
/// A string.
pub const DINRAIL_GGUF_STRING: u32 = 8;
/// An array of one of the others.
pub const DINRAIL_GGUF_ARRAY: u32 = 9;
/// 64 bits, unsigned.
pub const DINRAIL_GGUF_U64: u32 = 10;
/// 64 bits.
pub const DINRAIL_GGUF_I64: u32 = 11;
/// A double.
pub const DINRAIL_GGUF_F64: u32 = 12;

/// A value of a file's metadata. Fields that don't apply are 0.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct dinrail_gguf_value {
    /// One of DINRAIL_GGUF_*.
    pub value_type: dinrail_gguf_type,
    /// Type of an array's elements.
    pub element_type: dinrail_gguf_type,
    /// An integer of any type (or 0 or 1), if it fits.
    pub i64: i64,
    /// An integer of any type (or 0 or 1) that isn't negative.
    pub u64: u64,
    /// A number of any type.
    pub f64: f64,
    /// A string's bytes (UTF-8, if whoever wrote the file kept to the rules), or an array's elements as they are in the file,
    /// at any address.
    pub bytes: dinrail_str,
    /// Number of an array's elements.
    pub count: usize,
}

fn value_of(value: Value<'_>) -> dinrail_gguf_value {
    let mut out = dinrail_gguf_value {
        value_type: value.kind().id(),
        element_type: 0,
        i64: 0,
        u64: 0,
        f64: 0.0,
        bytes: dinrail_str::NONE,
        count: 0,
    };
    match value {
        Value::Str(s) => out.bytes = dinrail_str::bytes(s.as_bytes()),
        Value::Array(a) => {
            out.element_type = a.kind().id();
            out.bytes = dinrail_str::bytes(a.as_bytes());
            out.count = a.len();
        }
        Value::F32(x) => out.f64 = f64::from(x),
        Value::F64(x) => out.f64 = x,
        Value::Bool(b) => {
            (out.i64, out.u64, out.f64) = (i64::from(b), u64::from(b), f64::from(u8::from(b)));
        }
        integer => {
            out.i64 = integer.as_i64().unwrap_or(0);
            out.u64 = integer.as_u64().unwrap_or(0);
            out.f64 = if out.i64 == 0 { out.u64 as f64 } else { out.i64 as f64 };
        }
    }
    out
}

fn tensor_of(t: Tensor<'_>) -> Result<dinrail_gguf_tensor, Fault> {
    let mut ne = [0; 4];
    for (to, from) in ne.iter_mut().zip(t.ne) {
        *to = to_usize(from).map_err(Error::from)?;
    }
    Ok(dinrail_gguf_tensor {
        name: dinrail_str::of(t.name),
        dtype: t.dtype.to_ggml(),
        dims: t.n_dims,
        ne,
        offset: to_usize(t.offset).map_err(Error::from)?,
        size: to_usize(t.size).map_err(Error::from)?,
        data: t.bytes().as_ptr().cast(),
    })
}

/// Checks a whole file. `scratch` is working memory, free again on return: one word for each key or tensor, whichever are more,
/// makes the check fast. With NULL and 0 a small part of the stack does for it; DINRAIL_ERROR_GGUF_SCRATCH says how many
/// words it takes when there are too many names for that.
///
/// Threads: the file's.
///
/// # Safety
/// `data` has `size` bytes, which live and don't change as long as the file is used; `scratch` is NULL or has
/// `scratch_words` words.
#[unsafe(export_name = symbol!("gguf_open"))]
pub unsafe extern "C" fn dinrail_gguf_open(
    file: Option<&mut dinrail_gguf>,
    data: *const c_void,
    size: usize,
    scratch: *mut u32,
    scratch_words: usize,
    error: Out<dinrail_error>,
) -> dinrail_status {
    // SAFETY: the caller promises it.
    let data = unsafe { bytes::<'static>(data.cast(), size, "data") };
    answer(error, || {
        let file = some(file, "file")?;
        let parsed = if scratch_words == 0 {
            File::parse(data?)
        } else {
            // SAFETY: the caller promises it.
            let scratch = unsafe { filled(scratch, scratch_words, 0u32, "scratch") }?;
            File::parse_with(data?, scratch)
        };
        file.put(parsed?);
        Ok(())
    })
}

fn file(file: Option<&dinrail_gguf>) -> Option<&File<'static>> {
    file.and_then(|f| f.value().ok())
}

/// Number of tensors.
///
/// Threads: any.
#[unsafe(export_name = symbol!("gguf_tensor_count"))]
pub extern "C" fn dinrail_gguf_tensor_count(gguf: Option<&dinrail_gguf>) -> usize {
    guard(0, || file(gguf).map_or(0, |f| f.tensors().len()))
}

/// Tensor `index`, in the file's order. Reads over those before it.
///
/// Threads: any.
#[unsafe(export_name = symbol!("gguf_tensor_at"))]
pub extern "C" fn dinrail_gguf_tensor_at(
    gguf: Option<&dinrail_gguf>,
    index: usize,
    out: Out<dinrail_gguf_tensor>,
    error: Out<dinrail_error>,
) -> dinrail_status {
    answer(error, || {
        let tensor = some(gguf, "gguf")?
            .value()?
            .tensors()
            .nth(index)
            .ok_or(Fault::Missing("tensor of this number in the file"))?;
        some(out, "out")?.write(tensor_of(tensor)?);
        Ok(())
    })
}

/// The tensor of this name. Reads over those before it.
///
/// Threads: any.
///
/// # Safety
/// `name` is NULL or a string.
#[unsafe(export_name = symbol!("gguf_find_tensor"))]
pub unsafe extern "C" fn dinrail_gguf_find_tensor(
    gguf: Option<&dinrail_gguf>,
    name: *const c_char,
    out: Out<dinrail_gguf_tensor>,
    error: Out<dinrail_error>,
) -> dinrail_status {
    // SAFETY: the caller promises it.
    let name = unsafe { string(name, "name") };
    answer(error, || {
        let file = some(gguf, "gguf")?.value()?;
        let tensor = file.tensor(some(name?, "name")?);
        let tensor = tensor.ok_or(Fault::Missing("tensor of this name in the file"))?;
        some(out, "out")?.write(tensor_of(tensor)?);
        Ok(())
    })
}

/// Number of keys.
///
/// Threads: any.
#[unsafe(export_name = symbol!("gguf_key_count"))]
pub extern "C" fn dinrail_gguf_key_count(gguf: Option<&dinrail_gguf>) -> usize {
    guard(0, || file(gguf).map_or(0, |f| f.metadata().len()))
}

/// Key `index` and its value, in the file's order. Reads over those before it. NULL for `key` or `value` leaves that out.
///
/// Threads: any.
#[unsafe(export_name = symbol!("gguf_key_at"))]
pub extern "C" fn dinrail_gguf_key_at(
    gguf: Option<&dinrail_gguf>,
    index: usize,
    key: Out<dinrail_str>,
    value: Out<dinrail_gguf_value>,
    error: Out<dinrail_error>,
) -> dinrail_status {
    answer(error, || {
        let file = some(gguf, "gguf")?.value()?;
        let (name, found) =
            file.metadata().nth(index).ok_or(Fault::Missing("key of this number in the file"))?;
        if let Some(key) = key {
            key.write(dinrail_str::of(name));
        }
        if let Some(value) = value {
            value.write(value_of(found));
        }
        Ok(())
    })
}

/// The value of a key. Reads over those before it.
///
/// Threads: any.
///
/// # Safety
/// `key` is NULL or a string.
#[unsafe(export_name = symbol!("gguf_find_value"))]
pub unsafe extern "C" fn dinrail_gguf_find_value(
    gguf: Option<&dinrail_gguf>,
    key: *const c_char,
    out: Out<dinrail_gguf_value>,
    error: Out<dinrail_error>,
) -> dinrail_status {
    // SAFETY: the caller promises it.
    let key = unsafe { string(key, "key") };
    answer(error, || {
        let file = some(gguf, "gguf")?.value()?;
        let value =
            file.get(some(key?, "key")?).ok_or(Fault::Missing("key of this name in the file"))?;
        some(out, "out")?.write(value_of(value));
        Ok(())
    })
}

/// Element `index` of the array of a key. Reads over those before it where they are strings.
///
/// Threads: any.
///
/// # Safety
/// `key` is NULL or a string.
#[unsafe(export_name = symbol!("gguf_find_element"))]
pub unsafe extern "C" fn dinrail_gguf_find_element(
    gguf: Option<&dinrail_gguf>,
    key: *const c_char,
    index: usize,
    out: Out<dinrail_gguf_value>,
    error: Out<dinrail_error>,
) -> dinrail_status {
    // SAFETY: the caller promises it.
    let key = unsafe { string(key, "key") };
    answer(error, || {
        let file = some(gguf, "gguf")?.value()?;
        let value = file.array(some(key?, "key")?).and_then(|a| a.get(index));
        let value =
            value.ok_or(Fault::Missing("array of this name with such an element in the file"))?;
        some(out, "out")?.write(value_of(value));
        Ok(())
    })
}
