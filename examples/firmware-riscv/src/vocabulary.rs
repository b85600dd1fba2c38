//! The model's vocabulary, with the places of every eighth token found at compile time.

use crate::story::FILE;
use dinrail_llm::tokenizer::{Kind, Params, Scan, Spm, Vocab};

const TOKENS: &[u8] = bytes("tokenizer.ggml.tokens");
const SCORES: &[u8] = bytes("tokenizer.ggml.scores");
const KINDS: &[u8] = bytes("tokenizer.ggml.token_type");

/// An array of the model file.
const fn bytes(key: &str) -> &'static [u8] {
    match FILE.get(key) {
        Some(value) => match value.as_array() {
            Some(array) => array.as_bytes(),
            None => panic!("the model's vocabulary is damaged"),
        },
        None => panic!("the model has no vocabulary"),
    }
}

/// Bytes in front of each string of an array: its length.
const LENGTH: usize = 8;

const COUNT: usize = SCORES.len() / 4;
/// Tokens from one known place to the next; those between are walked over.
const STRIDE: usize = 8;

static PLACES: [u16; COUNT.div_ceil(STRIDE)] = {
    let mut places = [0; COUNT.div_ceil(STRIDE)];
    let (mut at, mut i) = (0, 0);
    while i < COUNT {
        assert!(at <= u16::MAX as usize, "the vocabulary is too large for 16-bit places");
        if i.is_multiple_of(STRIDE) {
            places[i / STRIDE] = at as u16;
        }
        assert!(TOKENS[at + 1] == 0, "a token is longer than 255 bytes");
        at += LENGTH + TOKENS[at] as usize;
        i += 1;
    }
    places
};

/// The vocabulary.
#[derive(Clone, Copy, Debug)]
pub struct Flash;

impl Vocab for Flash {
    fn len(&self) -> u32 {
        COUNT as u32
    }

    fn bytes(&self, id: u32) -> Option<&[u8]> {
        let mut at = usize::from(*PLACES.get(id as usize / STRIDE)?);
        let mut len = usize::from(*TOKENS.get(at)?);
        for _ in 0..id as usize % STRIDE {
            at += LENGTH + len;
            len = usize::from(*TOKENS.get(at)?);
        }
        TOKENS.get(at + LENGTH..)?.get(..len)
    }

    fn score(&self, id: u32) -> f32 {
        match SCORES.get(4 * id as usize..).and_then(|b| b.first_chunk()) {
            Some(b) => f32::from_le_bytes(*b),
            None => 0.0,
        }
    }

    fn kind(&self, id: u32) -> Kind {
        let number = KINDS.get(4 * id as usize..).and_then(|b| b.first_chunk());
        number.and_then(|b| Kind::from_ggml(i32::from_le_bytes(*b))).unwrap_or(Kind::Unused)
    }
}

/// The tokenizer.
pub const TOKENIZER: Spm<Flash> = Spm::new(Flash, Scan, Params::LLAMA);
