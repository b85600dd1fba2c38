//! Text
//!
//! Strings that the library gives are pieces of memory with a length, without a 0 at the end: they may lie in the middle of
//! a model file. `printf("%.*s", DINRAIL_TEXT(s))` prints one. Strings that the library takes end with a 0. All text is UTF-8.

use core::ffi::c_char;

/// A string that is not the caller's to change or free.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct dinrail_str {
    /// The first byte; not NULL where `size` isn't 0.
    pub data: *const c_char,
    /// Number of bytes.
    pub size: usize,
}

impl dinrail_str {
    pub(crate) const NONE: Self = Self { data: core::ptr::null(), size: 0 };

    /// Text that lives as long as what it is about, which the documentation of each function tells.
    pub(crate) const fn of(text: &str) -> Self {
        Self { data: text.as_ptr().cast(), size: text.len() }
    }

    pub(crate) const fn bytes(bytes: &[u8]) -> Self {
        Self { data: bytes.as_ptr().cast(), size: bytes.len() }
    }
}

/// The caller's memory for text.
///
/// # Safety
/// * `text` is NULL or has room for `size` bytes.
pub(crate) unsafe fn copy_out<'a>(
    text: *mut c_char,
    size: usize,
) -> &'a mut [core::mem::MaybeUninit<u8>] {
    if text.is_null() || size > isize::MAX as usize {
        return &mut [];
    }
    // SAFETY: the caller promises it; bytes that may be uninitialised are all that is asked.
    unsafe { core::slice::from_raw_parts_mut(text.cast(), size) }
}

/// Text that goes into memory that may be too small for it.
pub(crate) struct Cut<'a> {
    out: &'a mut [core::mem::MaybeUninit<u8>],
    /// Bytes that are there, and bytes that there would be.
    used: usize,
    whole: usize,
}

impl<'a> Cut<'a> {
    pub(crate) fn new(out: &'a mut [core::mem::MaybeUninit<u8>]) -> Self {
        Self { out, used: 0, whole: 0 }
    }

    /// Ends the text with a 0; the length of the whole.
    pub(crate) fn finish(self) -> usize {
        if let Some(last) = self.out.get_mut(self.used) {
            last.write(0);
        }
        self.whole
    }
}

impl core::fmt::Write for Cut<'_> {
    fn write_str(&mut self, s: &str) -> core::fmt::Result {
        let cut = self.used < self.whole;
        self.whole += s.len();
        let room = self.out.len().saturating_sub(self.used + 1);
        if cut || room == 0 {
            return Ok(());
        }
        let n = s.floor_char_boundary_(room);
        for (to, from) in self.out.iter_mut().skip(self.used).zip(s.as_bytes().iter().take(n)) {
            to.write(*from);
        }
        self.used += n;
        Ok(())
    }
}

/// `str::floor_char_boundary`, which is younger than the oldest Rust that builds this.
trait Floor {
    fn floor_char_boundary_(&self, n: usize) -> usize;
}

impl Floor for str {
    fn floor_char_boundary_(&self, n: usize) -> usize {
        let mut n = n.min(self.len());
        while !self.is_char_boundary(n) {
            n -= 1;
        }
        n
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::fmt::Write;

    #[test]
    fn cut_between_characters() {
        for (size, want) in
            [(0, ""), (1, ""), (2, "a"), (3, "a"), (4, "aß"), (5, "aßb"), (9, "aßb")]
        {
            let mut buffer = vec![core::mem::MaybeUninit::new(b'#'); size];
            let mut cut = Cut::new(&mut buffer);
            cut.write_str("aß").unwrap();
            cut.write_str("b").unwrap();
            assert_eq!(cut.finish(), 4);
            // SAFETY: all bytes were written when the vector was made.
            let bytes: Vec<u8> = buffer.iter().map(|b| unsafe { b.assume_init() }).collect();
            let end = bytes.iter().position(|b| *b == 0).unwrap_or(0);
            assert_eq!(&bytes[..end], want.as_bytes(), "{size}");
        }
    }
}
