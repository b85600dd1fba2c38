//! Token ids to logits, position after position.
//!
//! A [`Session`] holds a prepared graph for one token and, where there is memory for it, builds graphs for
//! batches of tokens in storage that it was given at the start. It keeps the books on positions and
//! fills the inputs; it never allocates.
//!
//! On a host, `Memory` (feature `std`) allocates everything that a session needs, once.

mod batches;
mod inputs;
#[cfg(feature = "std")]
mod memory;
#[cfg(feature = "std")]
mod packed;
#[cfg(feature = "std")]
pub mod split;

pub use batches::{Batches, Storage};
#[cfg(feature = "std")]
pub use memory::{BINDINGS, Memory, Options};
#[cfg(feature = "std")]
pub use packed::Packed;

use crate::model::{self, Nodes};
use core::fmt;
use dinrail_core::hal::Stream;
use dinrail_core::program::Program;

/// Why tokens could not be evaluated.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Error {
    /// The tokens don't fit behind those that are there. Nothing was changed.
    ContextFull {
        /// Positions in use.
        used: usize,
        /// Tokens handed in.
        new: usize,
        /// Positions in all.
        context: usize,
    },
    /// No token was handed in.
    Empty,
    /// A token id outside the vocabulary. Nothing was changed.
    Token {
        /// The id.
        id: u32,
        /// Number of tokens in the vocabulary.
        vocab: usize,
    },
    /// The memory for the logits has the wrong length. Nothing was changed.
    Logits {
        /// Numbers needed.
        need: usize,
        /// Places handed in.
        have: usize,
    },
    /// The program isn't one of this family's graphs for one token.
    Program,
    /// The model file can't be used.
    Model(model::Error),
    /// The graph, the memory or the device failed.
    Core(dinrail_core::Error),
}

impl From<model::Error> for Error {
    fn from(e: model::Error) -> Self {
        Error::Model(e)
    }
}

impl From<dinrail_core::Error> for Error {
    fn from(e: dinrail_core::Error) -> Self {
        Error::Core(e)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Error::ContextFull { used, new, context } => write!(
                f,
                "context full: {used} of {context} positions are in use and {new} more are needed; \
                 ask for a larger context or shorten the text"
            ),
            Error::Empty => f.write_str("no tokens to evaluate"),
            Error::Token { id, vocab } => {
                write!(f, "token id {id} is outside the vocabulary of {vocab}")
            }
            Error::Logits { need, have } => {
                write!(f, "logits: {need} numbers are needed, there is room for {have}")
            }
            Error::Program => f.write_str("this program is not a language model's for one token"),
            Error::Model(e) => e.fmt(f),
            Error::Core(e) => e.fmt(f),
        }
    }
}

impl core::error::Error for Error {}

/// Whether to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// With the next batch.
    Go,
    /// Not at all: the answer is [`dinrail_core::Error::Cancelled`].
    Stop,
}

/// A conversation with a model.
#[derive(Debug)]
pub struct Session<'a> {
    stream: &'a Stream,
    program: Program<'a>,
    nodes: Nodes,
    batches: Option<Batches<'a>>,
    used: usize,
    context: usize,
    vocab: usize,
}

impl<'a> Session<'a> {
    /// A session of a program of [`build`](crate::model::build) for one token. The cache must be cleared: what
    /// a mask hides must still be numbers.
    ///
    /// # Errors
    /// [`Error::Program`] for another kind of program.
    pub fn new(stream: &'a Stream, program: Program<'a>, nodes: Nodes) -> Result<Self, Error> {
        let graph = program.graph();
        let mask = graph.node(nodes.mask).ok_or(Error::Program)?.desc;
        let logits = graph.node(nodes.logits).ok_or(Error::Program)?.desc;
        let [context, 1, ..] = mask.ne else { return Err(Error::Program) };
        let [vocab, 1, ..] = logits.ne else { return Err(Error::Program) };
        Ok(Session { stream, program, nodes, batches: None, used: 0, context, vocab })
    }

    /// With storage for graphs of several tokens.
    #[must_use]
    pub fn with_batches(mut self, batches: Batches<'a>) -> Self {
        self.batches = Some(batches);
        self
    }

    /// Positions in use.
    pub const fn used(&self) -> usize {
        self.used
    }

    /// Positions in all.
    pub const fn context(&self) -> usize {
        self.context
    }

    /// Positions that are left.
    pub const fn left(&self) -> usize {
        self.context - self.used
    }

    /// Number of logits.
    pub const fn vocab(&self) -> usize {
        self.vocab
    }

    /// Forgets everything.
    pub const fn reset(&mut self) {
        self.used = 0;
    }

    /// Keeps the first `n` positions and forgets the others; more than there are changes nothing.
    pub const fn keep(&mut self, n: usize) {
        if n < self.used {
            self.used = n;
        }
    }

    /// Evaluates `tokens` behind those that are there and writes the logits of the last one.
    ///
    /// # Errors
    /// [`Error::ContextFull`], [`Error::Token`], [`Error::Logits`], [`Error::Empty`]: nothing was changed.
    /// [`Error::Core`]: positions count up to the last batch that went well.
    pub fn eval(&mut self, tokens: &[u32], logits: &mut [f32]) -> Result<(), Error> {
        self.eval_with(tokens, logits, |_| Next::Go)
    }

    /// As [`eval`](Self::eval); `progress` is told after each batch how many tokens are done, and may stop.
    ///
    /// # Errors
    /// As `eval`; [`dinrail_core::Error::Cancelled`] when stopped with tokens left to do.
    pub fn eval_with(
        &mut self,
        tokens: &[u32],
        logits: &mut [f32],
        mut progress: impl FnMut(usize) -> Next,
    ) -> Result<(), Error> {
        check(tokens, logits.len(), self.vocab, self.used, self.context)?;
        let mut rest = tokens;
        while !rest.is_empty() {
            let done = match &mut self.batches {
                Some(batches) if rest.len() > 1 => {
                    let (now, last) = batches.part(rest);
                    batches.run(self.stream, now, self.used, last.then_some(&mut *logits))?
                }
                _ => 0,
            };
            let done = match done {
                0 => {
                    let want = (rest.len() == 1).then_some(&mut *logits);
                    let one = rest.get(..1).unwrap_or(rest);
                    inputs::run(self.stream, &self.program, &self.nodes, one, self.used, want)?;
                    1
                }
                n => n,
            };
            self.used += done;
            rest = rest.get(done..).unwrap_or(&[]);
            if progress(tokens.len() - rest.len()) == Next::Stop && !rest.is_empty() {
                return Err(Error::Core(dinrail_core::Error::Cancelled));
            }
        }
        Ok(())
    }
}

/// Whether these tokens can be evaluated.
fn check(
    tokens: &[u32],
    have: usize,
    vocab: usize,
    used: usize,
    context: usize,
) -> Result<(), Error> {
    if tokens.is_empty() {
        return Err(Error::Empty);
    }
    if have != vocab {
        return Err(Error::Logits { need: vocab, have });
    }
    if let Some(&id) = tokens.iter().find(|&&id| id as usize >= vocab) {
        return Err(Error::Token { id, vocab });
    }
    if tokens.len() > context - used {
        return Err(Error::ContextFull { used, new: tokens.len(), context });
    }
    Ok(())
}

/// What can be asked of a conversation, on however many devices it is.
pub trait Evaluate {
    /// As [`Session::eval_with`].
    ///
    /// # Errors
    /// As there.
    fn eval_with(
        &mut self,
        tokens: &[u32],
        logits: &mut [f32],
        progress: &mut dyn FnMut(usize) -> Next,
    ) -> Result<(), Error>;

    /// As [`Session::eval`].
    ///
    /// # Errors
    /// As there.
    fn eval(&mut self, tokens: &[u32], logits: &mut [f32]) -> Result<(), Error> {
        self.eval_with(tokens, logits, &mut |_| Next::Go)
    }

    /// Positions in use.
    fn used(&self) -> usize;

    /// Positions in all.
    fn context(&self) -> usize;

    /// Number of logits.
    fn vocab(&self) -> usize;

    /// Keeps the first `n` positions and forgets the others; more than there are changes nothing.
    fn keep(&mut self, n: usize);

    /// Forgets everything.
    fn reset(&mut self) {
        self.keep(0);
    }

    /// Positions that are left.
    fn left(&self) -> usize {
        self.context() - self.used()
    }
}

impl Evaluate for Session<'_> {
    fn eval_with(
        &mut self,
        tokens: &[u32],
        logits: &mut [f32],
        progress: &mut dyn FnMut(usize) -> Next,
    ) -> Result<(), Error> {
        Session::eval_with(self, tokens, logits, progress)
    }

    fn used(&self) -> usize {
        Session::used(self)
    }

    fn context(&self) -> usize {
        Session::context(self)
    }

    fn vocab(&self) -> usize {
        Session::vocab(self)
    }

    fn keep(&mut self, n: usize) {
        Session::keep(self, n);
    }
}
