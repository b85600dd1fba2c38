//! Strings from the other side.

use core::ffi::c_char;

/// Longest string that is believed.
const MOST: usize = 1024;

/// A copy of a C string; `None` for null or one that does not end.
///
/// # Safety
/// `p` is null, or readable up to its zero or for 1024 bytes.
pub(crate) unsafe fn copy(p: *const c_char) -> Option<String> {
    if p.is_null() {
        return None;
    }
    let mut bytes = Vec::new();
    while bytes.len() < MOST {
        let at = p.wrapping_add(bytes.len());
        // SAFETY: the caller promises that it is readable up to here.
        let c = unsafe { at.read() };
        if c == 0 {
            return Some(String::from_utf8_lossy(&bytes).into_owned());
        }
        bytes.push(c.cast_unsigned_byte());
    }
    None
}

trait Byte {
    fn cast_unsigned_byte(self) -> u8;
}

impl Byte for c_char {
    /// `c_char` is signed on some targets and not on others.
    #[allow(clippy::unnecessary_cast)]
    fn cast_unsigned_byte(self) -> u8 {
        self as u8
    }
}
