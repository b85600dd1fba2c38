//! Text to token ids and back.
//!
//! | vocabulary (`tokenizer.ggml.model`) | type | needs |
//! |---|---|---|
//! | `llama` (SentencePiece style) | [`Spm`] | no heap; scratch of the caller |
//! | `gpt2` (byte-pair, byte level) | `Bpe` | feature `std` |
//!
//! A program that takes whatever model it is given uses `Any` (feature `std`); a program for one
//! model uses the type itself. Both speak [`Tokenizer`].
//!
//! Tokens arrive one at a time and a character may be spread over several of them: write a
//! stream of pieces through [`Utf8Stream`].

mod error;
pub mod index;
mod merge;
mod params;
mod partition;
mod spm;
mod utf8;
pub mod vocab;

#[cfg(feature = "std")]
mod any;
#[cfg(feature = "std")]
mod bpe;

pub use error::Error;
pub use index::{Find, Index, Scan};
pub use merge::Symbol;
pub use params::Params;
pub use spm::{Scratched, Spm};
pub use utf8::Utf8Stream;
pub use vocab::{Kind, Vocab};

#[cfg(feature = "std")]
pub use any::Any;
#[cfg(feature = "std")]
pub use bpe::{Bpe, pre};

/// How a text is to be encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Put the tokens that the vocabulary asks for (begin, end) round the text.
    pub add_special: bool,
    /// Recognise control tokens such as `</s>` or `<|im_start|>` when they are spelled out in the
    /// text. Off for text that a stranger wrote. User-defined tokens are recognised either way.
    pub parse_special: bool,
}

impl Options {
    /// A prompt written by the program itself: both on.
    pub const PROMPT: Options = Options { add_special: true, parse_special: true };
    /// Plain text in the middle of a conversation: both off.
    pub const PLAIN: Options = Options { add_special: false, parse_special: false };
}

/// What a program needs of a tokenizer, whatever its kind.
pub trait Tokenizer {
    /// Writes the token ids of `text` to `out` and returns how many there are.
    ///
    /// # Errors
    /// [`Error::Output`] with the number of ids that the text needs, [`Error::Scratch`],
    /// [`Error::Unencodable`]. `out` then holds a part of the ids or nothing.
    fn encode(&mut self, text: &str, options: Options, out: &mut [u32]) -> Result<usize, Error>;

    /// Writes the bytes that token `id` stands for to `out` and returns how many there are.
    ///
    /// Control tokens (`<s>`, `<|im_end|>`) and the unknown token have no bytes unless `special`
    /// is true; then their names are written. The bytes may be a part of a character.
    ///
    /// # Errors
    /// [`Error::Token`] for an id outside the vocabulary, [`Error::Bytes`] with the size needed.
    fn piece(&self, id: u32, special: bool, out: &mut [u8]) -> Result<usize, Error>;

    /// Whether a model ends its answer with this token.
    fn is_eog(&self, id: u32) -> bool;

    /// The special tokens and habits of the vocabulary.
    fn params(&self) -> &Params;

    /// Number of tokens; ids are below it.
    fn vocab_len(&self) -> u32;
}

/// Collects ids; goes on counting when the memory is full, so that the error can say how many.
pub(crate) struct Ids<'a> {
    out: &'a mut [u32],
    count: usize,
}

impl<'a> Ids<'a> {
    pub(crate) fn new(out: &'a mut [u32]) -> Self {
        Ids { out, count: 0 }
    }

    pub(crate) fn push(&mut self, id: u32) {
        if let Some(slot) = self.out.get_mut(self.count) {
            *slot = id;
        }
        self.count += 1;
    }

    pub(crate) fn finish(self) -> Result<usize, Error> {
        if self.count > self.out.len() {
            return Err(Error::Output { need: self.count, got: self.out.len() });
        }
        Ok(self.count)
    }
}

/// Copies `bytes` to the front of `out`.
pub(crate) fn copy(
    bytes: impl Iterator<Item = u8> + Clone,
    out: &mut [u8],
) -> Result<usize, Error> {
    let need = bytes.clone().count();
    let got = out.len();
    let Some(out) = out.get_mut(..need) else {
        return Err(Error::Bytes { need, got });
    };
    for (slot, byte) in out.iter_mut().zip(bytes) {
        *slot = byte;
    }
    Ok(need)
}
