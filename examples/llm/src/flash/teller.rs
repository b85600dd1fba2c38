//! Token after token.

use super::Model;
use crate::sampler::greedy;
use core::future::poll_fn;
use core::task::Poll;
use dinrail::cpu::fixed::Bound;
use dinrail::error::What;
use dinrail::{Error, Result};

/// Half-precision minus infinity: what a token may not look at.
const HIDDEN: u16 = 0xfc00;

/// Computes the most likely next token, again and again: at one go ([`token`](Self::token)), in steps that a main loop
/// takes between other things ([`begin`](Self::begin), [`step`](Self::step), [`finish`](Self::finish)), or as a task
/// that lets others run after each step ([`token_async`](Self::token_async)).
pub struct Teller<M: Model> {
    model: Bound<'static, M::Table>,
    position: usize,
}

impl<M: Model> Teller<M> {
    /// Steps of a token.
    pub const STEPS: usize = Bound::<M::Table>::STEPS;

    /// Takes the model's memory.
    ///
    /// # Errors
    /// [`Error::Full`] the second time; what [`Fixed::bind`](dinrail::cpu::Fixed::bind) finds.
    pub fn new() -> Result<Self> {
        Ok(Self::over(M::bind()?))
    }

    /// A teller over memory of the caller's choice, such as a cache in external RAM.
    pub const fn over(model: Bound<'static, M::Table>) -> Self {
        Self { model, position: 0 }
    }

    /// Positions that are left.
    pub const fn left(&self) -> usize {
        M::CONTEXT.saturating_sub(self.position)
    }

    /// Forgets the text; the next token is the first of another.
    pub const fn restart(&mut self) {
        self.position = 0;
    }

    /// Sets the inputs for the next token of the text.
    ///
    /// # Errors
    /// [`Error::Full`] when the context is.
    pub fn begin(&mut self, token: u32) -> Result<()> {
        let at = self.position;
        if at >= M::CONTEXT {
            return Err(Error::Full { what: What::Buffer, need: at + 1, have: M::CONTEXT });
        }
        self.model.write(M::PORTS.token)?.fill(token as i32);
        self.model.write(M::PORTS.position)?.fill(at as i32);
        self.model.write(M::PORTS.cell)?.fill(at as i32);
        for (i, x) in self.model.write::<u16>(M::PORTS.mask)?.iter_mut().enumerate() {
            *x = if i <= at { 0 } else { HIDDEN };
        }
        Ok(())
    }

    /// Computes step `next` of [`STEPS`](Self::STEPS) and returns the number of the one behind it.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a token that the model hasn't.
    pub fn step(&mut self, next: usize) -> Result<usize> {
        self.model.step(next)
    }

    /// The most likely next token, after the last step.
    ///
    /// # Errors
    /// [`Error::Invalid`] where the logits are no numbers.
    pub fn finish(&mut self) -> Result<u32> {
        self.position += 1;
        greedy(self.logits()?)
            .map_err(|_| Error::Invalid { what: "logits", value: self.position as i64 })
    }

    /// The logits of the last token, one for each token of the vocabulary.
    ///
    /// # Errors
    /// None that can happen.
    pub fn logits(&self) -> Result<&[f32]> {
        self.model.read(M::PORTS.logits)
    }

    /// Takes the next token of the text; returns the most likely one behind it.
    ///
    /// # Errors
    /// Those of [`begin`](Self::begin), [`step`](Self::step) and [`finish`](Self::finish).
    pub fn token(&mut self, token: u32) -> Result<u32> {
        self.begin(token)?;
        self.model.run()?;
        self.finish()
    }

    /// As [`token`](Self::token), for an executor: other tasks run after each step, that is, after each node of the graph.
    /// A future that is dropped half-way leaves the text as it was before.
    ///
    /// # Errors
    /// Those of `token`.
    pub async fn token_async(&mut self, token: u32) -> Result<u32> {
        self.begin(token)?;
        let mut next = 0;
        while next < Self::STEPS {
            next = self.step(next)?;
            pass().await;
        }
        self.finish()
    }
}

/// Lets other tasks run once.
fn pass() -> impl Future<Output = ()> {
    let mut passed = false;
    poll_fn(move |context| {
        if core::mem::replace(&mut passed, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
}
