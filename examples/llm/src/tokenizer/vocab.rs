//! Vocabularies: what the tokenizers read, wherever it lies.

mod gguf;

pub use gguf::{Gguf, offsets_len};

/// What a token is for. The numbers are those of `tokenizer.ggml.token_type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// A piece of text.
    Normal = 1,
    /// Stands for what the vocabulary can't express.
    Unknown = 2,
    /// Steers the model; has no text.
    Control = 3,
    /// A piece of text that is never split.
    UserDefined = 4,
    /// A gap in the numbering.
    Unused = 5,
    /// One byte, spelled `<0xXX>`.
    Byte = 6,
}

impl Kind {
    /// From the number in a model file.
    pub const fn from_ggml(number: i32) -> Option<Kind> {
        Some(match number {
            1 => Kind::Normal,
            2 => Kind::Unknown,
            3 => Kind::Control,
            4 => Kind::UserDefined,
            5 => Kind::Unused,
            6 => Kind::Byte,
            _ => return None,
        })
    }

    /// Whether the token is looked for in the text as a whole before anything is merged.
    pub const fn is_special(self) -> bool {
        matches!(self, Kind::Unknown | Kind::Control | Kind::UserDefined)
    }
}

/// A list of tokens. Ids are places in it.
///
/// # Implementors
/// The answers must not change while a tokenizer uses the vocabulary. `bytes` is called in inner
/// loops and should take constant time. An id of `len()` or above has no bytes, a score of 0 and
/// the kind `Unused`; nothing may panic.
pub trait Vocab {
    /// Number of tokens.
    fn len(&self) -> u32;

    /// Whether there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The token as the model file spells it: `▁` for a space in SentencePiece vocabularies, the
    /// byte alphabet of GPT-2 in byte-level ones.
    fn bytes(&self, id: u32) -> Option<&[u8]>;

    /// How gladly the token is merged: higher goes first. Byte-pair vocabularies have none (0).
    fn score(&self, id: u32) -> f32;

    /// What the token is for.
    fn kind(&self, id: u32) -> Kind;
}

impl<V: Vocab + ?Sized> Vocab for &V {
    fn len(&self) -> u32 {
        (**self).len()
    }
    fn bytes(&self, id: u32) -> Option<&[u8]> {
        (**self).bytes(id)
    }
    fn score(&self, id: u32) -> f32 {
        (**self).score(id)
    }
    fn kind(&self, id: u32) -> Kind {
        (**self).kind(id)
    }
}

/// One token of a [`Table`].
#[derive(Clone, Copy, Debug)]
pub struct Token<'a> {
    /// See [`Vocab::bytes`].
    pub text: &'a str,
    /// See [`Vocab::score`].
    pub score: f32,
    /// See [`Vocab::kind`].
    pub kind: Kind,
}

/// A vocabulary in a slice, for instance a `const` in flash.
#[derive(Clone, Copy, Debug)]
pub struct Table<'a>(pub &'a [Token<'a>]);

impl Vocab for Table<'_> {
    fn len(&self) -> u32 {
        u32::try_from(self.0.len()).unwrap_or(u32::MAX)
    }
    fn bytes(&self, id: u32) -> Option<&[u8]> {
        self.0.get(id as usize).map(|token| token.text.as_bytes())
    }
    fn score(&self, id: u32) -> f32 {
        self.0.get(id as usize).map_or(0.0, |token| token.score)
    }
    fn kind(&self, id: u32) -> Kind {
        self.0.get(id as usize).map_or(Kind::Unused, |token| token.kind)
    }
}
