//! A text in the making.

use super::{Model, Teller};
use crate::tokenizer::{self, Options, Symbol};
use dinrail::error::What;
use dinrail::{Error, Result};

/// A prompt and what the model makes of it. The text is a row of pieces: first those of the prompt, then those that are
/// made up.
///
/// `N` is room for the prompt: its bytes and one more, and its tokens.
pub struct Story<M: Model, const N: usize> {
    teller: Teller<M>,
    prompt: [u32; N],
    /// Tokens of the prompt.
    given: usize,
    /// Tokens that the model has seen.
    seen: usize,
    token: u32,
    piece: [u8; PIECE],
    len: usize,
}

/// The longest piece, in bytes; a longer one is left out.
const PIECE: usize = 32;

impl<M: Model, const N: usize> Story<M, N> {
    /// Begins with a prompt, which need not be UTF-8.
    ///
    /// # Errors
    /// [`Error::Full`] with the N that the prompt needs; [`Error::Invalid`] for one without tokens, or with a byte that the
    /// vocabulary can't express.
    pub fn new(teller: Teller<M>, prompt: &[u8]) -> Result<Self> {
        let mut scratch = [Symbol::NEW; N];
        let mut ids = [0; N];
        let given = M::tokenizer().encode(prompt, Options::PROMPT, &mut scratch, &mut ids);
        let given = given.map_err(|e| match e {
            tokenizer::Error::Scratch { need, got } | tokenizer::Error::Output { need, got } => {
                Error::Full { what: What::Scratch, need, have: got }
            }
            tokenizer::Error::Unencodable { byte, .. } => {
                Error::Invalid { what: "byte of the prompt", value: i64::from(byte) }
            }
            _ => Error::Invalid { what: "length of the prompt", value: prompt.len() as i64 },
        })?;
        let Some(first) = ids.first().filter(|_| given > 0) else {
            return Err(Error::Invalid { what: "length of the prompt", value: 0 });
        };
        let mut story =
            Self { teller, prompt: ids, given, seen: 0, token: *first, piece: [0; PIECE], len: 0 };
        story.spell();
        Ok(story)
    }

    fn spell(&mut self) {
        self.len = M::tokenizer().piece(self.token, false, &mut self.piece).unwrap_or(0);
    }

    /// Number of tokens of the prompt.
    pub const fn given(&self) -> usize {
        self.given
    }

    /// The token that the story has come to.
    pub const fn token(&self) -> u32 {
        self.token
    }

    /// Its text; none for the one that begins a text. It may be a part of a character.
    pub fn piece(&self) -> &[u8] {
        self.piece.get(..self.len).unwrap_or(&[])
    }

    /// Whether the model says that this is the end.
    pub fn is_over(&self) -> bool {
        self.seen >= self.given && M::tokenizer().params().is_eog(self.token)
    }

    /// Goes on to the next token.
    ///
    /// # Errors
    /// Those of [`Teller::token`].
    pub fn advance(&mut self) -> Result<()> {
        let next = self.teller.token(self.token)?;
        self.goes_on(next);
        Ok(())
    }

    /// As [`advance`](Self::advance), for an executor: other tasks run in between.
    ///
    /// # Errors
    /// Those of [`Teller::token`].
    pub async fn advance_async(&mut self) -> Result<()> {
        let next = self.teller.token_async(self.token).await?;
        self.goes_on(next);
        Ok(())
    }

    fn goes_on(&mut self, next: u32) {
        self.seen += 1;
        let given = self.prompt.get(self.seen).filter(|_| self.seen < self.given);
        self.token = given.copied().unwrap_or(next);
        self.spell();
    }
}
