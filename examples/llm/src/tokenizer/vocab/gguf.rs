//! The vocabulary of a model file, read where it lies.

use super::{Kind, Vocab};
use crate::tokenizer::Error;
use core::ops::{Deref, DerefMut};
use dinrail_gguf::{Array, Elements, Header};

const TOKENS: &str = "tokenizer.ggml.tokens";
const SCORES: &str = "tokenizer.ggml.scores";
const TYPES: &str = "tokenizer.ggml.token_type";

/// Bytes in front of each string of an array: its length.
const LENGTH: usize = 8;

/// The tokens of a model file. Strings in a file are found only by walking past the ones before,
/// so the places where they begin are kept in `S`, a slice of the caller or with a heap a `Vec`.
#[derive(Clone)]
pub struct Gguf<'a, S> {
    tokens: &'a [u8],
    offsets: S,
    len: u32,
    scores: Option<Elements<'a, f32>>,
    kinds: Option<Elements<'a, i32>>,
}

impl<S> core::fmt::Debug for Gguf<'_, S> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Gguf({} tokens)", self.len)
    }
}

fn tokens<'a>(header: &Header<'a>) -> Result<Array<'a>, Error> {
    let error = |what| Error::Metadata { key: TOKENS, what };
    let tokens = header
        .get(TOKENS)
        .and_then(|value| value.as_array())
        .filter(|array| array.strs().is_some())
        .ok_or(error("no array of strings, the model has no vocabulary"))?;
    if tokens.is_empty() || tokens.len() >= u32::MAX as usize {
        return Err(error("must hold 1 to 2^32 - 2 tokens"));
    }
    Ok(tokens)
}

/// Words that [`Gguf::new`] needs for this model: one per token.
///
/// # Errors
/// [`Error::Metadata`] if the file has no vocabulary.
pub fn offsets_len(header: &Header<'_>) -> Result<usize, Error> {
    Ok(tokens(header)?.len())
}

impl<'a, S: Deref<Target = [u32]>> Gguf<'a, S> {
    /// Reads the vocabulary of a model; `offsets` needs [`offsets_len`] words.
    ///
    /// # Errors
    /// [`Error::Index`] if there are too few words, [`Error::Metadata`] if an array is missing, of
    /// another type, or not as long as the others.
    pub fn new(header: &Header<'a>, mut offsets: S) -> Result<Self, Error>
    where
        S: DerefMut,
    {
        let array = tokens(header)?;
        let need = array.len();
        let got = offsets.len();
        let Some(space) = offsets.get_mut(..need) else {
            return Err(Error::Index { need, got });
        };
        let mut at = 0;
        for (slot, token) in space.iter_mut().zip(array.strs().into_iter().flatten()) {
            at += LENGTH;
            *slot = u32::try_from(at)
                .map_err(|_| Error::Metadata { key: TOKENS, what: "is larger than 4 GiB" })?;
            at += token.len();
        }
        Ok(Gguf {
            tokens: array.as_bytes(),
            offsets,
            len: need as u32,
            scores: elements(header, SCORES, need, "must hold an f32 for each token")?,
            kinds: elements(header, TYPES, need, "must hold an i32 for each token")?,
        })
    }
}

fn elements<'a, T: dinrail_gguf::Element>(
    header: &Header<'a>,
    key: &'static str,
    len: usize,
    what: &'static str,
) -> Result<Option<Elements<'a, T>>, Error> {
    let Some(value) = header.get(key) else { return Ok(None) };
    match value.as_array().and_then(|array| array.of::<T>()) {
        Some(elements) if elements.len() == len => Ok(Some(elements)),
        _ => Err(Error::Metadata { key, what }),
    }
}

impl<S: Deref<Target = [u32]>> Vocab for Gguf<'_, S> {
    fn len(&self) -> u32 {
        self.len
    }

    fn bytes(&self, id: u32) -> Option<&[u8]> {
        if id >= self.len {
            return None;
        }
        let at = *self.offsets.get(id as usize)? as usize;
        let length = self.tokens.get(at.checked_sub(LENGTH)?..at)?.first_chunk()?;
        let end = at.checked_add(usize::try_from(u64::from_le_bytes(*length)).ok()?)?;
        self.tokens.get(at..end)
    }

    fn score(&self, id: u32) -> f32 {
        self.scores.as_ref().and_then(|scores| scores.get(id as usize)).unwrap_or(0.0)
    }

    fn kind(&self, id: u32) -> Kind {
        if id >= self.len {
            return Kind::Unused;
        }
        match &self.kinds {
            None => Kind::Normal,
            Some(kinds) => kinds.get(id as usize).and_then(Kind::from_ggml).unwrap_or(Kind::Unused),
        }
    }
}
