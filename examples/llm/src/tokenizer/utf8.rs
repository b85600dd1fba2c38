/// Turns a stream of byte pieces into a stream of whole characters.
///
/// A character may be spread over several tokens. What is complete is handed on at once; the
/// beginning of a character waits. Bytes that can't be UTF-8 come out as U+FFFD, one for each
/// maximal part of a character, as `String::from_utf8_lossy` has it.
#[derive(Clone, Debug, Default)]
pub struct Utf8Stream {
    /// The beginning of a character.
    held: [u8; 4],
    count: usize,
}

impl Utf8Stream {
    /// An empty stream.
    pub const fn new() -> Self {
        Utf8Stream { held: [0; 4], count: 0 }
    }

    /// Adds `bytes`; `sink` gets what has become complete, in one or more parts.
    pub fn push(&mut self, mut bytes: &[u8], mut sink: impl FnMut(&str)) {
        while self.count > 0 {
            let Some((&byte, rest)) = bytes.split_first() else { return };
            self.held[self.count] = byte;
            match core::str::from_utf8(&self.held[..=self.count]) {
                Ok(text) => {
                    sink(text);
                    self.count = 0;
                    bytes = rest;
                }
                // Four bytes are never an incomplete character, so `held` has room for one more.
                Err(error) if error.error_len().is_none() => {
                    self.count += 1;
                    bytes = rest;
                }
                // The new byte does not belong to what is held; it is looked at afresh below.
                Err(_) => {
                    sink("\u{FFFD}");
                    self.count = 0;
                }
            }
        }
        let mut chunks = bytes.utf8_chunks().peekable();
        while let Some(chunk) = chunks.next() {
            if !chunk.valid().is_empty() {
                sink(chunk.valid());
            }
            let invalid = chunk.invalid();
            if invalid.is_empty() {
                continue;
            }
            match core::str::from_utf8(invalid) {
                // Only at the very end more bytes could complete it; at most three are missing one.
                Err(error) if error.error_len().is_none() && chunks.peek().is_none() => {
                    self.held[..invalid.len()].copy_from_slice(invalid);
                    self.count = invalid.len();
                }
                _ => sink("\u{FFFD}"),
            }
        }
    }

    /// Ends the stream: the beginning of a character that never came to its end becomes U+FFFD.
    pub fn finish(&mut self, sink: impl FnOnce(&str)) {
        if self.count > 0 {
            self.count = 0;
            sink("\u{FFFD}");
        }
    }

    /// Whether the beginning of a character is waiting for the rest.
    pub const fn is_waiting(&self) -> bool {
        self.count > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::String;
    use std::vec::Vec;

    #[test]
    fn any_cut_gives_the_same_text() {
        let mut rng = crate::sampler::Rng::new(1);
        for round in 0..2000 {
            let mut bytes = Vec::new();
            for _ in 0..rng.next_u32() % 12 {
                let character = char::from_u32(rng.next_u32() % 0x11_0000).unwrap_or('é');
                let mut buffer = [0; 4];
                bytes.extend_from_slice(character.encode_utf8(&mut buffer).as_bytes());
                if round % 2 == 1 && rng.next_u32().is_multiple_of(3) {
                    bytes.pop();
                    bytes.push(rng.next_u32() as u8);
                }
            }
            let mut stream = Utf8Stream::new();
            let mut text = String::new();
            let mut rest = &bytes[..];
            while !rest.is_empty() {
                let (now, later) = rest.split_at(1 + rng.next_u32() as usize % rest.len());
                stream.push(now, |part| text.push_str(part));
                rest = later;
            }
            stream.finish(|part| text.push_str(part));
            assert_eq!(text, String::from_utf8_lossy(&bytes), "{bytes:x?}");
            assert!(!stream.is_waiting());
        }
    }

    #[test]
    fn nothing_is_emitted_before_it_is_whole() {
        let mut stream = Utf8Stream::new();
        let rocket = "🚀".as_bytes();
        for byte in &rocket[..3] {
            stream.push(&[*byte], |part| panic!("{part:?} too early"));
            assert!(stream.is_waiting());
        }
        let mut text = String::new();
        stream.push(&rocket[3..], |part| text.push_str(part));
        assert_eq!(text, "🚀");
    }
}
