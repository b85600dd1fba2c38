//! Merging neighbours, best pair first, in memory of the caller.
//!
//! The text lies in front of us as a row of symbols that touch each other. Each symbol but the
//! last may make a pair with its right neighbour; an indexed heap holds exactly one entry per pair
//! that can be merged, so it never outgrows the row and nothing stale has to be skipped. Each merge
//! costs O(log n), the whole text O(n log n).
//!
//! Of pairs with equal keys the left-most goes first.

/// Scratch for one byte of text. What it holds between calls means nothing.
#[derive(Clone, Copy, Debug)]
pub struct Symbol {
    /// Bytes of the symbol that begins here; 0 where none begins.
    pub(crate) len: u32,
    /// Where the symbol to the left begins.
    pub(crate) prev: u32,
    /// Where in the heap the pair of this symbol and the next one is.
    pub(crate) slot: u32,
    /// Heap storage: the entry of the slot with this symbol's number.
    entry: u32,
    /// The key of the pair.
    key: f32,
}

pub(crate) const NONE: u32 = u32::MAX;

impl Symbol {
    /// For making scratch: `[Symbol::NEW; 256]`.
    pub const NEW: Symbol = Symbol { len: 0, prev: NONE, slot: NONE, entry: NONE, key: 0.0 };
}

impl Default for Symbol {
    fn default() -> Self {
        Symbol::NEW
    }
}

/// What makes a pair, and how good it is.
pub(crate) trait Rule {
    /// The key of the pair of the symbols `left..mid` and `mid..end`, if they can be merged; the
    /// highest key goes first. Must not be NaN.
    fn key(&mut self, left: usize, mid: usize, end: usize) -> Option<f32>;

    /// The symbols that begin at `left` and `mid` have been merged.
    fn merged(&mut self, _left: usize, _mid: usize) {}
}

/// Merges until no pair is left. On entry `len` is set for each symbol of the row, 0 elsewhere,
/// and the first symbol begins at 0; the same holds on return.
pub(crate) fn run(symbols: &mut [Symbol], rule: &mut impl Rule) {
    let mut row = Row { symbols, heap: 0 };
    row.fill(rule);
    while let Some(left) = row.best() {
        row.merge(left, rule);
    }
}

struct Row<'s> {
    symbols: &'s mut [Symbol],
    /// Entries in the heap.
    heap: usize,
}

// No index here is ever out of range; written so that the compiler needs no panic to fall back on, which is what
// firmware asks for.
impl Row<'_> {
    fn symbol(&self, at: usize) -> Symbol {
        self.symbols.get(at).copied().unwrap_or(Symbol::NEW)
    }

    fn edit(&mut self, at: usize, f: impl FnOnce(&mut Symbol)) {
        if let Some(symbol) = self.symbols.get_mut(at) {
            f(symbol);
        }
    }

    /// Where the symbol after the one at `at` begins.
    fn next(&self, at: usize) -> Option<usize> {
        let next = at + self.symbol(at).len as usize;
        (next < self.symbols.len()).then_some(next)
    }

    fn pair_key(&self, left: usize, rule: &mut impl Rule) -> Option<f32> {
        let mid = self.next(left)?;
        rule.key(left, mid, mid + self.symbol(mid).len as usize)
    }

    fn fill(&mut self, rule: &mut impl Rule) {
        let mut prev = NONE;
        let mut at = if self.symbols.is_empty() { None } else { Some(0) };
        while let Some(left) = at {
            self.edit(left, |s| (s.prev, s.slot) = (prev, NONE));
            if let Some(key) = self.pair_key(left, rule) {
                self.edit(left, |s| s.key = key);
                self.put(self.heap, left);
                self.heap += 1;
            }
            prev = left as u32;
            at = self.next(left);
        }
        for slot in (0..self.heap / 2).rev() {
            self.sift_down(slot);
        }
    }

    fn best(&self) -> Option<usize> {
        (self.heap > 0).then(|| self.at(0))
    }

    fn merge(&mut self, left: usize, rule: &mut impl Rule) {
        let mid = left + self.symbol(left).len as usize;
        self.set_key(mid, None);
        let more = self.symbol(mid).len;
        self.edit(left, |s| s.len += more);
        self.edit(mid, |s| s.len = 0);
        if let Some(next) = self.next(left) {
            self.edit(next, |s| s.prev = left as u32);
        }
        rule.merged(left, mid);
        let key = self.pair_key(left, rule);
        self.set_key(left, key);
        let prev = self.symbol(left).prev;
        if prev != NONE {
            let key = self.pair_key(prev as usize, rule);
            self.set_key(prev as usize, key);
        }
    }

    // The heap.

    fn at(&self, slot: usize) -> usize {
        self.symbol(slot).entry as usize
    }

    fn put(&mut self, slot: usize, symbol: usize) {
        self.edit(slot, |s| s.entry = symbol as u32);
        self.edit(symbol, |s| s.slot = slot as u32);
    }

    fn goes_first(&self, a: usize, b: usize) -> bool {
        let (key_a, key_b) = (self.symbol(a).key, self.symbol(b).key);
        key_a > key_b || (key_a == key_b && a < b)
    }

    /// Enters, moves or (with `None`) removes the pair that begins at `symbol`.
    fn set_key(&mut self, symbol: usize, key: Option<f32>) {
        let slot = self.symbol(symbol).slot;
        match (key, slot) {
            (None, NONE) => {}
            (None, slot) => {
                self.heap -= 1;
                self.edit(symbol, |s| s.slot = NONE);
                let (slot, last) = (slot as usize, self.at(self.heap));
                if slot != self.heap {
                    self.put(slot, last);
                    self.restore(slot);
                }
            }
            (Some(key), NONE) => {
                self.edit(symbol, |s| s.key = key);
                self.put(self.heap, symbol);
                self.heap += 1;
                self.sift_up(self.heap - 1);
            }
            (Some(key), slot) => {
                self.edit(symbol, |s| s.key = key);
                self.restore(slot as usize);
            }
        }
    }

    fn restore(&mut self, slot: usize) {
        if self.sift_up(slot) == slot {
            self.sift_down(slot);
        }
    }

    fn sift_up(&mut self, mut slot: usize) -> usize {
        let symbol = self.at(slot);
        while slot > 0 {
            let parent = (slot - 1) / 2;
            if !self.goes_first(symbol, self.at(parent)) {
                break;
            }
            self.put(slot, self.at(parent));
            slot = parent;
        }
        self.put(slot, symbol);
        slot
    }

    fn sift_down(&mut self, mut slot: usize) {
        let symbol = self.at(slot);
        loop {
            let mut child = 2 * slot + 1;
            if child >= self.heap {
                break;
            }
            if child + 1 < self.heap && self.goes_first(self.at(child + 1), self.at(child)) {
                child += 1;
            }
            if !self.goes_first(self.at(child), symbol) {
                break;
            }
            self.put(slot, self.at(child));
            slot = child;
        }
        self.put(slot, symbol);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    /// Keys that depend on the two lengths only, with many ties.
    struct Lengths(u32);

    fn key(salt: u32, a: usize, b: usize) -> Option<f32> {
        let mix = (a as u32 * 31 + b as u32 * 17).wrapping_mul(2654435761).wrapping_add(salt) >> 16;
        (!mix.is_multiple_of(4) && a + b < 40).then_some((mix % 5) as f32)
    }

    impl Rule for Lengths {
        fn key(&mut self, left: usize, mid: usize, end: usize) -> Option<f32> {
            key(self.0, mid - left, end - mid)
        }
    }

    /// The same by looking at every pair each time.
    fn slow(salt: u32, lens: &mut Vec<usize>) {
        loop {
            let mut best: Option<(f32, usize)> = None;
            for at in 0..lens.len().saturating_sub(1) {
                if let Some(key) = key(salt, lens[at], lens[at + 1])
                    && best.is_none_or(|(best, _)| key > best)
                {
                    best = Some((key, at));
                }
            }
            let Some((_, at)) = best else { return };
            let right = lens.remove(at + 1);
            lens[at] += right;
        }
    }

    #[test]
    fn merges_in_the_order_of_exhaustive_search() {
        let mut rng = crate::sampler::Rng::new(7);
        for salt in 0..300 {
            let mut lens: Vec<usize> =
                (0..rng.next_u32() % 60).map(|_| 1 + rng.next_u32() as usize % 4).collect();
            let mut symbols = Vec::new();
            for &len in &lens {
                // Whatever the scratch held before must not matter.
                let junk = Symbol { len: 0, prev: 3, slot: 5, entry: 9, key: 1e9 };
                symbols.push(Symbol { len: len as u32, ..junk });
                symbols.resize(symbols.len() + len - 1, junk);
            }
            run(&mut symbols, &mut Lengths(salt));
            slow(salt, &mut lens);
            let got: Vec<usize> =
                symbols.iter().filter(|s| s.len > 0).map(|s| s.len as usize).collect();
            assert_eq!(got, lens, "salt {salt}");
        }
    }
}
