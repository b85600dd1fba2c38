//! Short names without a heap.

use core::fmt;

/// The name of a tensor or a key, up to 47 bytes; what is longer is cut off.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Name {
    bytes: [u8; Name::MAX],
    len: u8,
}

impl Name {
    /// The most bytes that are kept.
    pub const MAX: usize = 47;

    /// A name.
    pub const fn new(text: &str) -> Self {
        Name { bytes: [0; Name::MAX], len: 0 }.then(text)
    }

    /// `blk.{layer}.{part}`
    pub const fn in_layer(layer: usize, part: &str) -> Self {
        Name::new("blk.").number(layer).then(".").then(part)
    }

    /// This name with `text` behind it.
    pub const fn then(mut self, text: &str) -> Self {
        // A character that does not fit stays out as a whole, so this is always UTF-8.
        let bytes = text.as_bytes();
        let mut take = Name::MAX - self.len as usize;
        if take >= bytes.len() {
            take = bytes.len();
        } else {
            while take > 0 && bytes[take] & 0xC0 == 0x80 {
                take -= 1;
            }
        }
        let mut i = 0;
        while i < take {
            self.bytes[self.len as usize] = bytes[i];
            self.len += 1;
            i += 1;
        }
        self
    }

    /// This name with a decimal number behind it.
    pub const fn number(self, n: usize) -> Self {
        const DIGITS: [&str; 10] = ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"];
        let head = if n >= 10 { self.number(n / 10) } else { self };
        head.then(DIGITS[n % 10])
    }

    /// The text.
    pub const fn as_str(&self) -> &str {
        match self.bytes.split_at_checked(self.len as usize) {
            Some((text, _)) => match core::str::from_utf8(text) {
                Ok(text) => text,
                Err(_) => "",
            },
            None => "",
        }
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_composed_and_cut_between_characters() {
        assert_eq!(Name::in_layer(0, "a").as_str(), "blk.0.a");
        assert_eq!(Name::in_layer(1203, "attn_q.weight").as_str(), "blk.1203.attn_q.weight");
        let long = "é".repeat(25);
        assert_eq!(Name::new("x").then(&long).as_str().len(), 47);
        assert_eq!(Name::new(&long).as_str().len(), 46);
    }
}
