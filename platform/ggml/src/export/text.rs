//! C strings in place, without a heap: what a plug-in leaks stays behind each time it is loaded and unloaded.

use core::ffi::{CStr, c_char};

/// Up to 95 bytes and a zero.
#[derive(Clone, Copy)]
pub(crate) struct Text([u8; 96]);

impl Text {
    pub(crate) const EMPTY: Self = Self([0; 96]);

    /// The parts one after the other, cut where there is no more room, at a character's border, and at a zero.
    pub(crate) fn of(parts: &[&str]) -> Self {
        let mut this = Self::EMPTY;
        let mut len = 0;
        for c in parts.iter().flat_map(|p| p.chars()).take_while(|c| *c != '\0') {
            let Some(to) = this.0.get_mut(len..len + c.len_utf8()) else { break };
            if len + c.len_utf8() >= 96 {
                break;
            }
            c.encode_utf8(to);
            len += c.len_utf8();
        }
        this
    }

    pub(crate) const fn as_ptr(&self) -> *const c_char {
        self.0.as_ptr().cast()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0[0] == 0
    }

    pub(crate) fn as_str(&self) -> &str {
        let text = CStr::from_bytes_until_nul(&self.0).unwrap_or(c"");
        text.to_str().unwrap_or("")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_cut_between_characters() {
        assert_eq!(Text::of(&["a-", "b", ""]).as_str(), "a-b");
        assert_eq!(Text::of(&["a\0b"]).as_str(), "a");
        let long = "é".repeat(100);
        let cut = Text::of(&["x", &long]);
        assert_eq!(cut.as_str().len(), 95);
        assert!(Text::of(&[""]).is_empty());
    }
}
