//! SentencePiece-style vocabularies: pairs are merged by score, what is left falls back to bytes.

use super::merge::{self, Rule, Symbol};
use super::partition::{self, Part};
use super::{Error, Find, Ids, Kind, Options, Params, Scan, Tokenizer, Vocab, copy};
use core::ops::Range;

/// How the vocabulary spells a space.
const SPACE: &[u8] = "\u{2581}".as_bytes();

/// Tokenizer for vocabularies of the kind `llama`. It holds no memory of its own.
///
/// A text is cut at special tokens; each part gets a space in front if the vocabulary asks for it
/// and the part is the first one or follows a special token; then neighbours are merged, best score
/// first, left-most of equals; a character without a token of its own becomes one byte token for
/// each of its bytes, or the unknown token where there are no byte tokens.
///
/// Bytes that are not UTF-8 are allowed and become byte tokens. U+2581 in a text can't be told from
/// a space once it is encoded.
///
/// ```
/// use dinrail_llm::tokenizer::{Index, Options, Params, Spm, Symbol, Tokenizer, vocab};
/// # macro_rules! model { () => { include_bytes!("../../../models/stories260K-Q8_0.gguf") } }
/// static MODEL: &[u8] = model!();
/// let file = dinrail_gguf::File::parse(MODEL).unwrap();
///
/// // One word per token to find its spelling, half a word per token to find the token by it.
/// let (mut offsets, mut words) = ([0u32; 512], [0u16; 515]);
/// let vocab = vocab::Gguf::new(file.header(), &mut offsets[..])?;
/// let index = Index::build(&vocab, &mut words[..])?;
/// let params = Params::read(file.header(), &vocab, &index, Params::LLAMA)?;
///
/// let mut scratch = [Symbol::NEW; 100];
/// let mut tokenizer = Spm::new(vocab, index, params).with_scratch(&mut scratch);
/// let mut ids = [0; 32];
/// let count = tokenizer.encode("Once upon a time", Options::PROMPT, &mut ids)?;
/// assert_eq!(ids[..count], [1, 403, 407, 261, 378]);
/// # Ok::<(), dinrail_llm::tokenizer::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Spm<V, F = Scan> {
    vocab: V,
    find: F,
    params: Params,
}

impl<V: Vocab, F: Find> Spm<V, F> {
    /// A tokenizer over `vocab` that finds tokens with `find` ([`Scan`] or an
    /// [`Index`](super::Index)).
    pub const fn new(vocab: V, find: F, params: Params) -> Self {
        Spm { vocab, find, params }
    }

    /// Symbols of scratch for a text of this many bytes.
    pub const fn scratch_len(text_len: usize) -> usize {
        text_len.saturating_add(1)
    }

    /// The vocabulary.
    pub const fn vocab(&self) -> &V {
        &self.vocab
    }

    /// The special tokens and habits.
    pub const fn params(&self) -> &Params {
        &self.params
    }

    /// Writes the token ids of `text` to `out` and returns how many there are.
    ///
    /// `scratch` needs [`Spm::scratch_len`] symbols. There are never more ids than bytes of text
    /// and of the spaces put in, each space counting three, and the begin and the end.
    ///
    /// # Errors
    /// [`Error::Scratch`] and [`Error::Output`] with what is needed, [`Error::Unencodable`],
    /// [`Error::TextLen`]. `out` then holds a part of the ids or nothing.
    pub fn encode(
        &self,
        text: &[u8],
        options: Options,
        scratch: &mut [Symbol],
        out: &mut [u32],
    ) -> Result<usize, Error> {
        let mut ids = Ids::new(out);
        let mut after_special = true;
        if options.add_special && self.params.add_bos {
            self.params.bos.into_iter().for_each(|id| ids.push(id));
        }
        let parse = options.parse_special;
        let mut parts = partition::partition(&self.vocab, &self.find, text, parse, scratch)?;
        while let Some(part) = parts.next(scratch) {
            match part {
                Part::Token(id) => {
                    ids.push(id);
                    after_special = true;
                }
                Part::Text(range) => {
                    let prefix = self.params.add_space_prefix && after_special;
                    let raw = text.get(range.clone()).unwrap_or(&[]);
                    let part = Text { prefix, at: range.start, raw };
                    let (need, got) = (range.start + part.len(), scratch.len());
                    let Some(symbols) = scratch.get_mut(range.start..need) else {
                        return Err(Error::Scratch { need, got });
                    };
                    self.encode_part(part, symbols, &mut ids)?;
                    after_special = false;
                }
            }
        }
        if options.add_special && self.params.add_eos {
            self.params.eos.into_iter().for_each(|id| ids.push(id));
        }
        ids.finish()
    }

    fn encode_part(
        &self,
        text: Text<'_>,
        symbols: &mut [Symbol],
        ids: &mut Ids<'_>,
    ) -> Result<(), Error> {
        symbols.iter_mut().for_each(|symbol| symbol.len = 0);
        let mut at = 0;
        while at < text.len() {
            let len = text.char_len(at);
            if let Some(symbol) = symbols.get_mut(at) {
                symbol.len = len as u32;
            }
            at += len;
        }
        merge::run(symbols, &mut ByScore { spm: self, text });
        let mut at = 0;
        while let Some(symbol) = symbols.get(at) {
            let end = at + symbol.len as usize;
            match self.find.find(&self.vocab, text.spelling(at..end)) {
                Some(id) => ids.push(id),
                None => self.encode_bytes(text, at..end, ids)?,
            }
            at = end;
        }
        Ok(())
    }

    fn encode_bytes(
        &self,
        text: Text<'_>,
        range: Range<usize>,
        ids: &mut Ids<'_>,
    ) -> Result<(), Error> {
        let at = text.position(range.start);
        for byte in text.spelling(range.clone()) {
            let id = self
                .find
                .find(&self.vocab, byte_spelling(byte).into_iter())
                .or_else(|| self.find.find(&self.vocab, core::iter::once(byte)));
            match (id, self.params.unknown) {
                (Some(id), _) => ids.push(id),
                // One unknown for the whole character.
                (None, Some(unknown)) => {
                    ids.push(unknown);
                    return Ok(());
                }
                (None, None) => return Err(Error::Unencodable { at, byte }),
            }
        }
        Ok(())
    }

    /// Writes the bytes of token `id` to `out`, see [`Tokenizer::piece`].
    ///
    /// A space in front of a word is part of the piece; [`Spm::decode`] knows about the first one.
    ///
    /// # Errors
    /// [`Error::Token`] for an id outside the vocabulary, [`Error::Bytes`] with the size needed.
    pub fn piece(&self, id: u32, special: bool, out: &mut [u8]) -> Result<usize, Error> {
        let len = self.vocab.len();
        let spelling = self.vocab.bytes(id).ok_or(Error::Token { id, len })?;
        match self.vocab.kind(id) {
            Kind::Normal => copy(Spaces { rest: spelling }, out),
            Kind::Byte => match parse_byte(spelling) {
                Some(byte) => copy(core::iter::once(byte), out),
                None => copy(spelling.iter().copied(), out),
            },
            Kind::UserDefined => copy(spelling.iter().copied(), out),
            Kind::Control | Kind::Unknown if special => copy(spelling.iter().copied(), out),
            Kind::Control | Kind::Unknown | Kind::Unused => Ok(0),
        }
    }

    /// Writes the text of `ids` to `out` and returns its bytes: the reverse of
    /// [`encode`](Spm::encode). The space that encoding put in front of the text and after special
    /// tokens is taken away again.
    ///
    /// # Errors
    /// [`Error::Token`] for an id outside the vocabulary; [`Error::Bytes`] if `out` is too small,
    /// where `need` counts the bytes up to the end of the token that had no room.
    pub fn decode(&self, ids: &[u32], special: bool, out: &mut [u8]) -> Result<usize, Error> {
        let mut count = 0;
        let mut after_special = true;
        for &id in ids {
            let got = out.len();
            let whole = |error| match error {
                Error::Bytes { need, .. } => Error::Bytes { need: count + need, got },
                other => other,
            };
            let rest = out.get_mut(count..).unwrap_or(&mut []);
            let len = self.piece(id, special, rest).map_err(whole)?;
            let kind = self.vocab.kind(id);
            let prefix = self.params.add_space_prefix
                && after_special
                && kind == Kind::Normal
                && rest.first() == Some(&b' ')
                && len > 0;
            if prefix {
                rest.copy_within(1..len, 0);
            }
            count += len - usize::from(prefix);
            after_special = kind.is_special();
        }
        Ok(count)
    }

    /// This tokenizer with scratch of its own, as a [`Tokenizer`].
    pub const fn with_scratch(self, scratch: &mut [Symbol]) -> Scratched<'_, V, F> {
        Scratched { spm: self, scratch }
    }
}

/// An [`Spm`] that has its scratch.
#[derive(Debug)]
pub struct Scratched<'s, V, F = Scan> {
    spm: Spm<V, F>,
    scratch: &'s mut [Symbol],
}

impl<V: Vocab, F: Find> Tokenizer for Scratched<'_, V, F> {
    fn encode(&mut self, text: &str, options: Options, out: &mut [u32]) -> Result<usize, Error> {
        self.spm.encode(text.as_bytes(), options, self.scratch, out)
    }
    fn piece(&self, id: u32, special: bool, out: &mut [u8]) -> Result<usize, Error> {
        self.spm.piece(id, special, out)
    }
    fn is_eog(&self, id: u32) -> bool {
        self.spm.params.is_eog(id)
    }
    fn params(&self) -> &Params {
        &self.spm.params
    }
    fn vocab_len(&self) -> u32 {
        self.spm.vocab.len()
    }
}

struct ByScore<'a, V, F> {
    spm: &'a Spm<V, F>,
    text: Text<'a>,
}

impl<V: Vocab, F: Find> Rule for ByScore<'_, V, F> {
    fn key(&mut self, left: usize, _mid: usize, end: usize) -> Option<f32> {
        let Spm { vocab, find, .. } = self.spm;
        let score = vocab.score(find.find(vocab, self.text.spelling(left..end))?);
        Some(if score.is_nan() { f32::NEG_INFINITY } else { score })
    }
}

/// A part of the text with or without a space in front, read in place.
#[derive(Clone, Copy)]
struct Text<'t> {
    prefix: bool,
    /// Where in the whole text the part begins.
    at: usize,
    raw: &'t [u8],
}

impl<'t> Text<'t> {
    fn len(self) -> usize {
        self.raw.len() + usize::from(self.prefix)
    }

    /// The part of the raw text that `range` covers, and whether the space in front is in it.
    fn slice(self, range: Range<usize>) -> (bool, &'t [u8]) {
        let shift = usize::from(self.prefix);
        let raw = range.start.saturating_sub(shift)..range.end.saturating_sub(shift);
        (self.prefix && range.start == 0 && range.end > 0, self.raw.get(raw).unwrap_or(&[]))
    }

    fn position(self, at: usize) -> usize {
        self.at + at.saturating_sub(usize::from(self.prefix))
    }

    /// Bytes of the character that begins at `at`; 1 for a byte that is not UTF-8.
    fn char_len(self, at: usize) -> usize {
        let (space, rest) = self.slice(at..self.len());
        if space {
            return 1;
        }
        let len = match rest.first() {
            Some(0xC2..=0xDF) => 2,
            Some(0xE0..=0xEF) => 3,
            Some(0xF0..=0xF4) => 4,
            _ => 1,
        };
        match rest.get(..len) {
            Some(bytes) if core::str::from_utf8(bytes).is_ok() => len,
            _ => 1,
        }
    }

    /// `range` as the vocabulary spells it.
    fn spelling(self, range: Range<usize>) -> Spelling<'t> {
        let (space, rest) = self.slice(range);
        Spelling { pending: if space { SPACE } else { &[] }, rest }
    }
}

/// Text with its spaces spelled out.
#[derive(Clone)]
struct Spelling<'t> {
    pending: &'t [u8],
    rest: &'t [u8],
}

impl Iterator for Spelling<'_> {
    type Item = u8;
    fn next(&mut self) -> Option<u8> {
        if let Some((&byte, pending)) = self.pending.split_first() {
            self.pending = pending;
            return Some(byte);
        }
        let (&byte, rest) = self.rest.split_first()?;
        self.rest = rest;
        if byte == b' ' {
            let (first, pending) = SPACE.split_first()?;
            self.pending = pending;
            return Some(*first);
        }
        Some(byte)
    }
}

/// A token's spelling with its spaces turned back.
#[derive(Clone)]
struct Spaces<'t> {
    rest: &'t [u8],
}

impl Iterator for Spaces<'_> {
    type Item = u8;
    fn next(&mut self) -> Option<u8> {
        if let Some(rest) = self.rest.strip_prefix(SPACE) {
            self.rest = rest;
            return Some(b' ');
        }
        let (&byte, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(byte)
    }
}

/// `<0xXX>`, with upper-case digits.
fn byte_spelling(byte: u8) -> [u8; 6] {
    let digit = |value: u8| if value < 10 { b'0' + value } else { b'A' + value - 10 };
    [b'<', b'0', b'x', digit(byte >> 4), digit(byte & 15), b'>']
}

fn parse_byte(spelling: &[u8]) -> Option<u8> {
    let digits = spelling.strip_prefix(b"<0x")?.strip_suffix(b">")?;
    let [high, low] = digits else { return None };
    let digit = |byte: u8| char::from(byte).to_digit(16);
    u8::try_from(digit(*high)? * 16 + digit(*low)?).ok()
}
