//! The vocabulary, where it lies in the model file.

use super::Model;
use crate::tokenizer::{Kind, Vocab};
use core::marker::PhantomData;
use dinrail::gguf::File;

/// Bytes in front of each string of an array: its length.
const LENGTH: usize = 8;
/// Tokens from one known place to the next; those between are walked over.
#[doc(hidden)]
pub const STRIDE: usize = 8;

/// The arrays of a vocabulary, with the place of every eighth token.
#[derive(Clone, Copy, Debug)]
pub struct Arrays {
    tokens: &'static [u8],
    scores: &'static [u8],
    kinds: &'static [u8],
    places: &'static [u16],
}

impl Arrays {
    /// Finds them. For `const`s: a file without a vocabulary does not build.
    pub const fn find(file: &File<'static>) -> Self {
        let arrays = Self {
            tokens: array(file, "tokenizer.ggml.tokens"),
            scores: array(file, "tokenizer.ggml.scores"),
            kinds: array(file, "tokenizer.ggml.token_type"),
            places: &[],
        };
        assert!(arrays.kinds.len() == arrays.scores.len(), "scores and kinds differ in number");
        arrays
    }

    /// With the places that [`places`] has found.
    #[doc(hidden)]
    pub const fn with_places(self, places: &'static [u16]) -> Self {
        Self { places, ..self }
    }

    /// Number of tokens.
    pub const fn len(&self) -> usize {
        self.scores.len() / 4
    }

    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

const fn array(file: &File<'static>, key: &str) -> &'static [u8] {
    match file.get(key) {
        Some(value) => match value.as_array() {
            Some(array) => array.as_bytes(),
            None => panic!("the model's vocabulary is damaged"),
        },
        None => panic!("the model has no SentencePiece vocabulary"),
    }
}

/// The place of every eighth token.
#[doc(hidden)]
pub const fn places<const N: usize>(arrays: &Arrays) -> [u16; N] {
    let tokens = arrays.tokens;
    let mut places = [0; N];
    let (mut at, mut i) = (0, 0);
    while i < arrays.len() {
        assert!(at <= u16::MAX as usize, "the vocabulary is too large for 16-bit places");
        if i.is_multiple_of(STRIDE) {
            places[i / STRIDE] = at as u16;
        }
        assert!(tokens[at + 1] == 0, "a token is longer than 255 bytes");
        at += LENGTH + tokens[at] as usize;
        i += 1;
    }
    assert!(at == tokens.len(), "tokens and scores differ in number");
    places
}

/// A vocabulary in flash, read where it lies.
#[derive(Debug)]
pub struct Vocabulary<M>(PhantomData<fn() -> M>);

impl<M> Vocabulary<M> {
    /// There is nothing to it.
    pub const NEW: Self = Vocabulary(PhantomData);
}

impl<M> Clone for Vocabulary<M> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<M> Copy for Vocabulary<M> {}

impl<M: Model> Vocab for Vocabulary<M> {
    fn len(&self) -> u32 {
        M::ARRAYS.len() as u32
    }

    fn bytes(&self, id: u32) -> Option<&[u8]> {
        let tokens = M::ARRAYS.tokens;
        let mut at = usize::from(*M::ARRAYS.places.get(id as usize / STRIDE)?);
        let mut len = usize::from(*tokens.get(at)?);
        for _ in 0..id as usize % STRIDE {
            at += LENGTH + len;
            len = usize::from(*tokens.get(at)?);
        }
        tokens.get(at + LENGTH..)?.get(..len)
    }

    fn score(&self, id: u32) -> f32 {
        match M::ARRAYS.scores.get(4 * id as usize..).and_then(|b| b.first_chunk()) {
            Some(b) => f32::from_le_bytes(*b),
            None => 0.0,
        }
    }

    fn kind(&self, id: u32) -> Kind {
        let number = M::ARRAYS.kinds.get(4 * id as usize..).and_then(|b| b.first_chunk());
        number.and_then(|b| Kind::from_ggml(i32::from_le_bytes(*b))).unwrap_or(Kind::Unused)
    }
}
