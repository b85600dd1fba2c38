//! From logits to the next token.
//!
//! The steps, in this order; each can be off:
//!
//! 1. repetition penalty on the tokens seen lately
//! 2. top-k: only the `k` highest logits stay
//! 3. top-p: only the most likely tokens stay whose probabilities first add up to `p`
//! 4. min-p: only tokens stay that are at least `p` times as likely as the most likely one
//! 5. temperature, and a draw
//!
//! Steps 3 and 4 look at the probabilities before the temperature is applied. The same
//! configuration, seed and logits give the same tokens on every machine: the exponential is
//! computed in software and the random numbers are our own.

use core::cmp::Ordering;
use core::fmt;

/// How to choose. Check it with [`Sampler::new`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Config {
    /// 0 always takes the highest logit; 1 takes the model's probabilities; above that, flatter.
    pub temperature: f32,
    /// How many of the highest logits stay; 0 for all.
    pub top_k: usize,
    /// Share of the probability that stays; 1 for all.
    pub top_p: f32,
    /// Least probability relative to the highest; 0 for all.
    pub min_p: f32,
    /// Divides positive logits and multiplies negative ones of tokens seen lately; 1 for off.
    pub repeat_penalty: f32,
    /// How many of the latest tokens the penalty looks at.
    pub repeat_last: usize,
    /// Seed of the random numbers.
    pub seed: u64,
}

impl Config {
    /// Always the highest logit.
    pub const GREEDY: Config = Config {
        temperature: 0.0,
        top_k: 0,
        top_p: 1.0,
        min_p: 0.0,
        repeat_penalty: 1.0,
        repeat_last: 64,
        seed: 0,
    };

    /// A fair start for conversations: temperature 0.8, the best 40, 95 %, at least 5 % of the best.
    pub const CHAT: Config =
        Config { temperature: 0.8, top_k: 40, top_p: 0.95, min_p: 0.05, ..Config::GREEDY };
}

impl Default for Config {
    fn default() -> Self {
        Config::CHAT
    }
}

/// Why no token could be chosen.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Error {
    /// A number of the configuration is outside its range.
    Config {
        /// Which one.
        field: &'static str,
        /// What it was.
        value: f32,
        /// The range.
        range: &'static str,
    },
    /// There are no logits, or all are minus infinity.
    Empty,
    /// A logit is not a number or plus infinity: the model computed nonsense.
    NotFinite {
        /// Which token.
        id: usize,
    },
    /// The scratch has too few places for candidates.
    Scratch {
        /// Places needed, see [`Config::scratch_len`].
        need: usize,
        /// Places handed in.
        got: usize,
    },
    /// One of the tokens seen lately has no logit.
    Token {
        /// The id.
        id: u32,
        /// Number of logits.
        len: usize,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Error::Config { field, value, range } => {
                write!(f, "sampler: {field} is {value}, must be {range}")
            }
            Error::Empty => write!(f, "sampler: no token has a logit above minus infinity"),
            Error::NotFinite { id } => {
                write!(f, "sampler: the logit of token {id} is not a finite number")
            }
            Error::Scratch { need, got } => {
                write!(f, "sampler scratch: needs {need} candidates, got {got}")
            }
            Error::Token { id, len } => {
                write!(f, "sampler: recent token {id} has no logit, there are {len}")
            }
        }
    }
}

impl core::error::Error for Error {}

impl Config {
    /// Candidates of scratch that [`Sampler::sample`] needs for this many logits.
    pub const fn scratch_len(&self, logits: usize) -> usize {
        if self.temperature == 0.0 {
            0
        } else if self.top_k == 0 || self.top_k > logits {
            logits
        } else {
            self.top_k
        }
    }

    fn check(&self) -> Result<(), Error> {
        let fields = [
            ("temperature", self.temperature, "0 or more", self.temperature >= 0.0),
            ("top_p", self.top_p, "between 0 and 1", (0.0..=1.0).contains(&self.top_p)),
            ("min_p", self.min_p, "between 0 and 1", (0.0..=1.0).contains(&self.min_p)),
            ("repeat_penalty", self.repeat_penalty, "above 0", self.repeat_penalty > 0.0),
        ];
        for (field, value, range, good) in fields {
            if !good || !value.is_finite() {
                return Err(Error::Config { field, value, range });
            }
        }
        Ok(())
    }
}

/// The token with the highest logit; of equals the one with the lowest id.
///
/// # Errors
/// [`Error::Empty`], [`Error::NotFinite`].
pub fn greedy(logits: &[f32]) -> Result<u32, Error> {
    let (mut best, mut largest) = (None, f32::NEG_INFINITY);
    for (id, &logit) in logits.iter().enumerate() {
        // Neither infinite nor NaN, in one comparison: this runs over the whole vocabulary for each token.
        #[allow(clippy::neg_cmp_op_on_partial_ord)]
        if !(logit < f32::INFINITY) {
            return Err(Error::NotFinite { id });
        }
        if logit > largest {
            (best, largest) = (Some(id as u32), logit);
        }
    }
    best.ok_or(Error::Empty)
}

/// Chooses tokens.
#[derive(Clone, Debug)]
pub struct Sampler {
    config: Config,
    rng: Rng,
}

impl Sampler {
    /// Checks the configuration and seeds the random numbers.
    ///
    /// # Errors
    /// [`Error::Config`] with the field and its range.
    pub fn new(config: Config) -> Result<Self, Error> {
        config.check()?;
        Ok(Sampler { config, rng: Rng::new(config.seed) })
    }

    /// The configuration.
    pub const fn config(&self) -> &Config {
        &self.config
    }

    /// Chooses the next token.
    ///
    /// `logits` holds one number per token and nothing of use afterwards. `recent` holds the
    /// tokens so far, the latest last; it may be empty. `scratch` needs [`Config::scratch_len`]
    /// places: with top-k only `k`.
    ///
    /// # Errors
    /// [`Error::NotFinite`], [`Error::Empty`], [`Error::Scratch`], [`Error::Token`]. The random
    /// numbers are where they were.
    pub fn sample(
        &mut self,
        logits: &mut [f32],
        recent: &[u32],
        scratch: &mut [u32],
    ) -> Result<u32, Error> {
        // Before the penalty, which could hide what is not a number.
        let best = greedy(logits)?;
        let penalised = self.penalise(logits, recent)?;
        if self.config.temperature == 0.0 {
            return if penalised { greedy(logits) } else { Ok(best) };
        }
        let got = scratch.len();
        let need = self.config.scratch_len(logits.len());
        let Some(candidates) = scratch.get_mut(..need) else {
            return Err(Error::Scratch { need, got });
        };
        let count = self.filter(logits, candidates);
        Ok(self.draw(logits, &candidates[..count]))
    }

    fn penalise(&self, logits: &mut [f32], recent: &[u32]) -> Result<bool, Error> {
        let Config { repeat_penalty: penalty, repeat_last, .. } = self.config;
        if penalty == 1.0 {
            return Ok(false);
        }
        let recent = &recent[recent.len().saturating_sub(repeat_last)..];
        let len = logits.len();
        if let Some(&id) = recent.iter().find(|&&id| id as usize >= len) {
            return Err(Error::Token { id, len });
        }
        for (at, &id) in recent.iter().enumerate() {
            // Once per token, however often it was seen.
            if !recent[..at].contains(&id) {
                let logit = &mut logits[id as usize];
                if *logit > f32::NEG_INFINITY {
                    let punished = if *logit > 0.0 { *logit / penalty } else { *logit * penalty };
                    // An extreme penalty must not make it infinite.
                    *logit = punished.clamp(f32::MIN, f32::MAX);
                }
            }
        }
        Ok(true)
    }

    /// Fills `candidates` and sorts those that stay to the front. Returns how many, at least one.
    fn filter(&self, logits: &[f32], candidates: &mut [u32]) -> usize {
        let config = &self.config;
        top(logits, candidates);
        let max = logits[candidates[0] as usize];
        let mut count = candidates.len();
        if config.top_p < 1.0 {
            let weight = |id: &u32| f64::from(libm::expf(logits[*id as usize] - max));
            let enough = f64::from(config.top_p) * candidates.iter().map(weight).sum::<f64>();
            let mut sum = 0.0;
            let reached = candidates.iter().position(|id| {
                sum += weight(id);
                sum >= enough
            });
            count = reached.map_or(count, |last| last + 1);
        }
        if config.min_p > 0.0 {
            let least = max + libm::logf(config.min_p);
            let kept = candidates[..count].partition_point(|&id| logits[id as usize] >= least);
            count = kept.max(1);
        }
        count
    }

    /// Draws one of the candidates, the first of which has the highest logit. Overwrites logits.
    fn draw(&mut self, logits: &mut [f32], candidates: &[u32]) -> u32 {
        let first = candidates[0];
        let max = logits[first as usize];
        let mut sum = 0.0;
        for &id in candidates {
            let logit = &mut logits[id as usize];
            // The highest weighs 1 even where the division overflows.
            let scaled = (*logit - max) / self.config.temperature;
            *logit = if *logit == max { 1.0 } else { libm::expf(scaled) };
            sum += f64::from(*logit);
        }
        let mut left = self.rng.next_f64() * sum;
        let mut chosen = first;
        for &id in candidates {
            let weight = f64::from(logits[id as usize]);
            if weight > 0.0 {
                chosen = id;
                if left < weight {
                    break;
                }
                left -= weight;
            }
        }
        chosen
    }
}

/// Fills `best` with the ids of the highest logits, sorted; of equals the lowest id first.
/// `best` is not longer than `logits`.
fn top(logits: &[f32], best: &mut [u32]) {
    // `Greater` means worse, so the root of a max-heap is the one to be replaced.
    let order = |a: u32, b: u32| {
        logits[b as usize]
            .partial_cmp(&logits[a as usize])
            .unwrap_or(Ordering::Equal)
            .then(a.cmp(&b))
    };
    let sift_down = |heap: &mut [u32], mut at: usize| {
        loop {
            let mut child = 2 * at + 1;
            if child >= heap.len() {
                return;
            }
            if child + 1 < heap.len() && order(heap[child], heap[child + 1]).is_lt() {
                child += 1;
            }
            if order(heap[at], heap[child]).is_ge() {
                return;
            }
            heap.swap(at, child);
            at = child;
        }
    };
    for (id, slot) in (0..).zip(best.iter_mut()) {
        *slot = id;
    }
    if best.len() < logits.len() {
        for at in (0..best.len() / 2).rev() {
            sift_down(best, at);
        }
        for id in best.len()..logits.len() {
            if best.first().is_some_and(|&worst| order(id as u32, worst).is_lt()) {
                best[0] = id as u32;
                sift_down(best, 0);
            }
        }
    }
    best.sort_unstable_by(|&a, &b| order(a, b));
}

/// Random numbers: PCG32 (M. E. O'Neill, "PCG: A Family of Simple Fast Space-Efficient
/// Statistically Good Algorithms for Random Number Generation", 2014), variant XSH RR 64/32.
/// The same seed gives the same numbers on every machine. Not for secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rng {
    state: u64,
    increment: u64,
}

impl Rng {
    const MULTIPLIER: u64 = 6_364_136_223_846_793_005;

    /// The stream that the authors' examples use.
    pub const fn new(seed: u64) -> Self {
        Rng::with_stream(seed, 54)
    }

    /// One of 2^63 sequences.
    pub const fn with_stream(seed: u64, stream: u64) -> Self {
        let increment = (stream << 1) | 1;
        let state = increment.wrapping_add(seed);
        Rng { state: state.wrapping_mul(Self::MULTIPLIER).wrapping_add(increment), increment }
    }

    /// The next 32 bits.
    pub const fn next_u32(&mut self) -> u32 {
        let old = self.state;
        self.state = old.wrapping_mul(Self::MULTIPLIER).wrapping_add(self.increment);
        let mixed = (((old >> 18) ^ old) >> 27) as u32;
        mixed.rotate_right((old >> 59) as u32)
    }

    /// The next number in `0.0..1.0`, of 32 bits.
    pub fn next_f64(&mut self) -> f64 {
        f64::from(self.next_u32()) / 4_294_967_296.0
    }
}

#[cfg(test)]
mod tests;
