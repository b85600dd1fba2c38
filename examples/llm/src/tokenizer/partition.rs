//! Cuts a text at the special tokens that are spelled out in it.
//!
//! Every special token is looked for in what the ones before it left, longest spelling first, each
//! from left to right. That order decides what overlapping spellings mean, and it is the one that
//! the models' own tools use. The cost is one pass over the text per special token.

use super::merge::{NONE, Symbol};
use super::{Error, Find, Kind, Vocab};

/// What a text is made of.
pub(crate) enum Part {
    /// Ordinary text.
    Text(core::ops::Range<usize>),
    /// A special token.
    Token(u32),
}

/// The parts of a text, from left to right. The marks are in the scratch; whoever takes a part may
/// overwrite the scratch from the part's beginning to one symbol past its end.
pub(crate) struct Parts {
    at: usize,
    end: usize,
    /// The next mark (where, bytes, token), read before the scratch under it can be overwritten.
    mark: Option<Mark>,
    text_done: bool,
}

#[derive(Clone, Copy)]
struct Mark {
    at: usize,
    len: usize,
    token: u32,
    next: u32,
}

fn mark(symbols: &[Symbol], at: u32) -> Option<Mark> {
    let symbol = symbols.get(at as usize)?;
    Some(Mark { at: at as usize, len: symbol.len as usize, token: symbol.slot, next: symbol.prev })
}

/// Marks the special tokens. Control tokens and the unknown one count only if `parse_special`.
///
/// # Errors
/// [`Error::TextLen`], and [`Error::Scratch`] if there is not one symbol for each byte and one more.
pub(crate) fn partition<V: Vocab + ?Sized>(
    vocab: &V,
    find: &impl Find,
    text: &[u8],
    parse_special: bool,
    symbols: &mut [Symbol],
) -> Result<Parts, Error> {
    let max = NONE as usize - 2;
    if text.len() > max {
        return Err(Error::TextLen { len: text.len(), max });
    }
    if symbols.len() <= text.len() {
        return Err(Error::Scratch { need: text.len() + 1, got: symbols.len() });
    }
    let mut head = NONE;
    let (mut last, mut place) = (None, 0);
    while let Some(token) = find.next_special(vocab, last, &mut place) {
        last = Some(token);
        let kind = vocab.kind(token);
        let wanted = parse_special || kind == Kind::UserDefined;
        if let (true, Some(spelling)) = (wanted, vocab.bytes(token)) {
            head = mark_all(text, token, spelling, head, symbols);
        }
    }
    Ok(Parts { at: 0, end: text.len(), mark: mark(symbols, head), text_done: false })
}

/// Marks one token wherever it fits between the marks that are there. Returns the first mark.
fn mark_all(
    text: &[u8],
    token: u32,
    spelling: &[u8],
    mut head: u32,
    symbols: &mut [Symbol],
) -> u32 {
    let (mut from, mut before, mut after) = (0, NONE, head);
    loop {
        let next = mark(symbols, after);
        let to = next.map_or(text.len(), |mark| mark.at);
        if let Some(at) = text.get(from..to).and_then(|gap| position(gap, spelling)) {
            let at = from + at;
            if let Some(symbol) = symbols.get_mut(at) {
                symbol.len = spelling.len() as u32;
                symbol.slot = token;
                symbol.prev = after;
            }
            match symbols.get_mut(before as usize) {
                Some(symbol) => symbol.prev = at as u32,
                // `NONE`: there is no mark before.
                None => head = at as u32,
            }
            before = at as u32;
            from = at + spelling.len();
        } else if let Some(next) = next {
            from = next.at + next.len;
            before = after;
            after = next.next;
        } else {
            return head;
        }
    }
}

fn position(text: &[u8], spelling: &[u8]) -> Option<usize> {
    let (first, rest) = spelling.split_first()?;
    let mut from = 0;
    while let Some(at) = text.get(from..)?.iter().position(|byte| byte == first) {
        from += at + 1;
        if text.get(from..)?.starts_with(rest) {
            return Some(from - 1);
        }
    }
    None
}

impl Parts {
    /// The next part; texts are never empty.
    pub(crate) fn next(&mut self, symbols: &[Symbol]) -> Option<Part> {
        let to = self.mark.map_or(self.end, |mark| mark.at);
        if !self.text_done {
            self.text_done = true;
            if self.at < to {
                return Some(Part::Text(self.at..to));
            }
        }
        let found = self.mark?;
        self.text_done = false;
        self.at = found.at + found.len;
        self.mark = mark(symbols, found.next);
        Some(Part::Token(found.token))
    }
}
