//! Look-ups from a slice in one call, for `const` items.
//!
//! Each call checks the whole header. The compiler's `long_running_const_eval` lint may fire for models with a
//! large vocabulary: allow it, or keep one `const FILE: File` and ask that.

use crate::error::Error;
use crate::file::File;
use crate::tensor::Tensor;
use crate::value::Value;

/// The tensor `name` of the file in `bytes`.
///
/// # Errors
///
/// Those of [`File::parse`], and [`Error::NotFound`].
pub const fn tensor_at<'a>(bytes: &'a [u8], name: &str) -> Result<Tensor<'a>, Error> {
    match tri!(File::parse(bytes)).tensor(name) {
        Some(tensor) => Ok(tensor),
        None => Err(Error::NotFound),
    }
}

const fn value_at<'a>(bytes: &'a [u8], key: &str) -> Result<Value<'a>, Error> {
    match tri!(File::parse(bytes)).get(key) {
        Some(value) => Ok(value),
        None => Err(Error::NotFound),
    }
}

/// The value of `key` in the file in `bytes`, as [`File::u32`] takes it.
///
/// # Errors
///
/// Those of [`File::parse`], [`Error::NotFound`] and [`Error::WrongType`].
pub const fn u32_at(bytes: &[u8], key: &str) -> Result<u32, Error> {
    match tri!(value_at(bytes, key)).as_u32() {
        Some(v) => Ok(v),
        None => Err(Error::WrongType),
    }
}

/// The value of `key` in the file in `bytes`, as [`File::f32`] takes it.
///
/// # Errors
///
/// Those of [`File::parse`], [`Error::NotFound`] and [`Error::WrongType`].
pub const fn f32_at(bytes: &[u8], key: &str) -> Result<f32, Error> {
    match tri!(value_at(bytes, key)).as_f32() {
        Some(v) => Ok(v),
        None => Err(Error::WrongType),
    }
}

/// The tensor of that name in a constant slice, found by the compiler. A file that is wrong, or that has no
/// such tensor, is a compile error that names it.
///
/// ```compile_fail
/// const MODEL: &[u8] = b"GGUF";
/// let t = dinrail_gguf::tensor!(MODEL, "output.weight");
/// ```
#[macro_export]
macro_rules! tensor {
    ($bytes:expr, $name:literal) => {
        const {
            match $crate::tensor_at($bytes, $name) {
                Ok(tensor) => tensor,
                Err($crate::Error::NotFound) => {
                    panic!(concat!("there is no tensor \"", $name, "\" in ", stringify!($bytes)))
                }
                Err(_) => panic!(concat!(stringify!($bytes), " is not a usable GGUF file")),
            }
        }
    };
}
