//! Byte-level byte-pair vocabularies, the kind `gpt2`.

pub mod pre;

use super::merge::{self, NONE, Rule, Symbol};
use super::partition::{self, Part};
use super::{Error, Find, Ids, Index, Kind, Options, Params, Vocab, copy};
use dinrail_gguf::Header;
use std::collections::HashMap;
use std::vec;
use std::vec::Vec;

const MERGES: &str = "tokenizer.ggml.merges";
const PRE: &str = "tokenizer.ggml.pre";

/// Place in the list of merges and the token made, for each pair of tokens.
type Merges = HashMap<(u32, u32), (u32, u32)>;

/// Tokenizer for byte-level byte-pair vocabularies.
///
/// A text is cut at special tokens, then into words by the pattern that the vocabulary was trained
/// with ([`pre`]); within a word neighbours are merged in the order of the vocabulary's list of
/// merges.
#[derive(Debug)]
pub struct Bpe<V> {
    vocab: V,
    index: Index<Vec<u32>>,
    params: Params,
    stages: Vec<pre::Stage>,
    /// Take a word that is a token as it is, without looking whether merging leads to it.
    whole_words: bool,
    /// The token of each byte, or `NONE`.
    bytes: [u32; 256],
    merges: Merges,
}

impl<V: Vocab> Bpe<V> {
    /// Reads what `vocab` does not know from the same model: merges, pattern, special tokens.
    ///
    /// # Errors
    /// [`Error::Metadata`]; a pattern that is not among [`pre::NAMES`] is one.
    pub fn new(header: &Header<'_>, vocab: V) -> Result<Self, Error> {
        let index = Index::build(&vocab, vec![0; super::index::words(&vocab)])?;
        let name = header.get(PRE).and_then(|value| value.as_str());
        let name = name.as_ref().map_or(Some("gpt-2"), |name| name.to_str());
        let pattern = name.and_then(pre::by_name).ok_or(Error::Metadata {
            key: PRE,
            what: "is a splitting pattern that is not known here, see tokenizer::pre::NAMES",
        })?;
        let mut defaults = Params::GPT2;
        defaults.add_bos = pattern.add_bos;
        let params = Params::read(header, &vocab, &index, defaults)?;
        let mut bytes = [NONE; 256];
        for (byte, id) in (0..=255).zip(&mut bytes) {
            let mut spelling = [0; 4];
            let spelling = letter(byte).encode_utf8(&mut spelling);
            *id = index.find(&vocab, spelling.bytes()).unwrap_or(NONE);
        }
        Ok(Bpe {
            merges: merges(header, &vocab)?,
            stages: pattern.compile()?,
            whole_words: pattern.whole_words,
            vocab,
            index,
            params,
            bytes,
        })
    }

    /// The vocabulary.
    pub const fn vocab(&self) -> &V {
        &self.vocab
    }

    /// The special tokens and habits.
    pub const fn params(&self) -> &Params {
        &self.params
    }

    /// Writes the token ids of `text` to `out` and returns how many there are: never more than
    /// bytes of text, and the begin and the end.
    ///
    /// # Errors
    /// [`Error::Output`] with what is needed, [`Error::Unencodable`],
    /// [`Error::TextLen`]. `out` then holds a part of the ids or nothing.
    pub fn encode(&self, text: &[u8], options: Options, out: &mut [u32]) -> Result<usize, Error> {
        let mut ids = Ids::new(out);
        let mut symbols = vec![Symbol::NEW; text.len() + 1];
        let mut tokens = vec![NONE; text.len()];
        if options.add_special && self.params.add_bos {
            self.params.bos.into_iter().for_each(|id| ids.push(id));
        }
        let parse = options.parse_special;
        let mut parts = partition::partition(&self.vocab, &self.index, text, parse, &mut symbols)?;
        while let Some(part) = parts.next(&symbols) {
            match part {
                Part::Token(id) => ids.push(id),
                Part::Text(range) => {
                    let at = range.start;
                    let words = pre::split(&self.stages, &text[range]);
                    for word in words {
                        let word = at + word.start..at + word.end;
                        let row = &mut symbols[word.clone()];
                        let tokens = &mut tokens[word.clone()];
                        self.encode_word(&text[word.clone()], word.start, row, tokens, &mut ids)?;
                    }
                }
            }
        }
        if options.add_special && self.params.add_eos {
            self.params.eos.into_iter().for_each(|id| ids.push(id));
        }
        ids.finish()
    }

    fn encode_word(
        &self,
        word: &[u8],
        at: usize,
        symbols: &mut [Symbol],
        tokens: &mut [u32],
        ids: &mut Ids<'_>,
    ) -> Result<(), Error> {
        if self.whole_words {
            let spelling = word.iter().flat_map(|&byte| utf8(letter(byte)));
            if let Some(id) = self.index.find(&self.vocab, spelling) {
                ids.push(id);
                return Ok(());
            }
        }
        for ((symbol, token), &byte) in symbols.iter_mut().zip(&mut *tokens).zip(word) {
            symbol.len = 1;
            *token = self.bytes[usize::from(byte)];
        }
        merge::run(symbols, &mut ByRank { merges: &self.merges, tokens });
        for (inner, (symbol, &token)) in symbols.iter().zip(&*tokens).enumerate() {
            match (symbol.len, token) {
                (0, _) => {}
                (_, NONE) => {
                    return Err(Error::Unencodable { at: at + inner, byte: word[inner] });
                }
                (_, id) => ids.push(id),
            }
        }
        Ok(())
    }

    /// Writes the bytes of token `id` to `out`, see [`Tokenizer::piece`](super::Tokenizer::piece).
    ///
    /// # Errors
    /// [`Error::Token`] for an id outside the vocabulary, [`Error::Bytes`] with the size needed.
    pub fn piece(&self, id: u32, special: bool, out: &mut [u8]) -> Result<usize, Error> {
        let len = self.vocab.len();
        let spelling = self.vocab.bytes(id).ok_or(Error::Token { id, len })?;
        match self.vocab.kind(id) {
            Kind::Normal | Kind::Byte => match core::str::from_utf8(spelling) {
                Ok(letters) => copy(letters.chars().flat_map(letter_bytes), out),
                Err(_) => copy(spelling.iter().copied(), out),
            },
            Kind::UserDefined => copy(spelling.iter().copied(), out),
            Kind::Control | Kind::Unknown if special => copy(spelling.iter().copied(), out),
            Kind::Control | Kind::Unknown | Kind::Unused => Ok(0),
        }
    }
}

impl<V: Vocab> Bpe<V> {
    /// Writes the bytes of `ids` to `out` and returns how many there are.
    ///
    /// # Errors
    /// [`Error::Token`] for an id outside the vocabulary; [`Error::Bytes`] if `out` is too small,
    /// where `need` counts the bytes up to the end of the token that had no room.
    pub fn decode(&self, ids: &[u32], special: bool, out: &mut [u8]) -> Result<usize, Error> {
        let (mut count, got) = (0, out.len());
        for &id in ids {
            count += self.piece(id, special, &mut out[count..]).map_err(|error| match error {
                Error::Bytes { need, .. } => Error::Bytes { need: count + need, got },
                other => other,
            })?;
        }
        Ok(count)
    }
}

struct ByRank<'a> {
    merges: &'a Merges,
    tokens: &'a mut [u32],
}

impl Rule for ByRank<'_> {
    fn key(&mut self, left: usize, mid: usize, _end: usize) -> Option<f32> {
        let &(rank, _) = self.merges.get(&(self.tokens[left], self.tokens[mid]))?;
        // Exact: `merges` admits no rank of 2^24 or above.
        Some(-(rank as f32))
    }
    fn merged(&mut self, left: usize, mid: usize) {
        if let Some(&(_, token)) = self.merges.get(&(self.tokens[left], self.tokens[mid])) {
            self.tokens[left] = token;
        }
    }
}

/// The merges as tokens. One with a part that is no token can never happen and is left out.
fn merges<V: Vocab>(header: &Header<'_>, vocab: &V) -> Result<Merges, Error> {
    let error = |what| Error::Metadata { key: MERGES, what };
    let list = header
        .get(MERGES)
        .and_then(|value| value.as_array())
        .filter(|list| list.strs().is_some())
        .ok_or(error("no array of strings, which a byte-pair vocabulary needs"))?;
    if list.len() >= 1 << 24 {
        return Err(error("must hold less than 2^24 merges"));
    }
    let ids: HashMap<&[u8], u32> =
        (0..vocab.len()).filter_map(|id| Some((vocab.bytes(id)?, id))).collect();
    let mut merges = HashMap::with_capacity(list.len());
    let mut both = Vec::new();
    for (rank, merge) in (0..).zip(list.strs().into_iter().flatten()) {
        let merge = merge.as_bytes();
        // A part may begin with a space of its own only in other kinds of vocabulary.
        let space = merge.iter().skip(1).position(|&byte| byte == b' ').map(|at| at + 1);
        let Some((left, right)) = space.and_then(|at| merge.split_at_checked(at)) else {
            return Err(error("has an entry that is not two parts with a space between them"));
        };
        let right = &right[1..];
        both.clear();
        both.extend_from_slice(left);
        both.extend_from_slice(right);
        if let (Some(&left), Some(&right), Some(&both)) =
            (ids.get(left), ids.get(right), ids.get(&both[..]))
        {
            merges.entry((left, right)).or_insert((rank, both));
        }
    }
    Ok(merges)
}

/// GPT-2's alphabet: printable Latin-1 stands for itself, the other bytes for the characters from
/// U+0100 on, in order.
fn letter(byte: u8) -> char {
    let shifted = match byte {
        b'!'..=b'~' | 0xA1..=0xAC | 0xAE..=0xFF => return char::from(byte),
        0..=0x20 => u32::from(byte),
        0x7F..=0xA0 => u32::from(byte) - 0x7F + 0x21,
        0xAD => 0x43,
    };
    char::from_u32(0x100 + shifted).unwrap_or(char::REPLACEMENT_CHARACTER)
}

/// The reverse of [`letter`].
fn byte(letter: char) -> Option<u8> {
    Some(match u32::from(letter) {
        code @ (0x21..=0x7E | 0xA1..=0xAC | 0xAE..=0xFF) => code as u8,
        code @ 0x100..=0x120 => (code - 0x100) as u8,
        code @ 0x121..=0x142 => (code - 0x121 + 0x7F) as u8,
        0x143 => 0xAD,
        _ => return None,
    })
}

/// What a letter of a token stands for; one outside the alphabet stands for itself.
fn letter_bytes(letter: char) -> impl Iterator<Item = u8> + Clone {
    let (buffer, len) = match byte(letter) {
        Some(byte) => ([byte, 0, 0, 0], 1),
        None => encode(letter),
    };
    buffer.into_iter().take(len)
}

fn utf8(letter: char) -> impl Iterator<Item = u8> + Clone {
    let (buffer, len) = encode(letter);
    buffer.into_iter().take(len)
}

fn encode(letter: char) -> ([u8; 4], usize) {
    let mut buffer = [0; 4];
    let len = letter.encode_utf8(&mut buffer).len();
    (buffer, len)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_alphabet_goes_both_ways() {
        for value in 0..=255 {
            assert_eq!(byte(letter(value)), Some(value));
        }
        assert_eq!((letter(b' '), letter(b'\n'), letter(0xAD)), ('Ġ', 'Ċ', '\u{143}'));
        assert_eq!((letter(0x7F), letter(0xA0)), ('\u{121}', '\u{142}'));
        assert_eq!(byte('\u{144}'), None);
    }
}
