//! Finding a token by its spelling.
//!
//! [`Scan`] needs no memory and looks at every token for each look-up; it is for vocabularies of
//! some hundred tokens. [`Index`] needs one word per token (two bytes are enough up to 65536
//! tokens) and takes a logarithmic number of looks. An index can be built once and kept in flash.
//!
//! Where a spelling occurs twice, the token with the highest id is meant.

use super::{Error, Vocab};
use core::cmp::{Ordering, Reverse};
use core::ops::Deref;

/// A way to find tokens.
pub trait Find {
    /// The token that is spelled `key`.
    fn find<V, K>(&self, vocab: &V, key: K) -> Option<u32>
    where
        V: Vocab + ?Sized,
        K: Iterator<Item = u8> + Clone;

    /// The special token after `last` (`None`: the first), longest spelling first, then lowest id.
    /// `place` is the walker's own: 0 at the start, otherwise left alone by the caller.
    fn next_special<V>(&self, vocab: &V, last: Option<u32>, place: &mut usize) -> Option<u32>
    where
        V: Vocab + ?Sized;
}

impl<F: Find> Find for &F {
    fn find<V, K>(&self, vocab: &V, key: K) -> Option<u32>
    where
        V: Vocab + ?Sized,
        K: Iterator<Item = u8> + Clone,
    {
        (**self).find(vocab, key)
    }

    fn next_special<V>(&self, vocab: &V, last: Option<u32>, place: &mut usize) -> Option<u32>
    where
        V: Vocab + ?Sized,
    {
        (**self).next_special(vocab, last, place)
    }
}

/// Longest first, then lowest id.
fn special_rank<V: Vocab + ?Sized>(vocab: &V, id: u32) -> (Reverse<usize>, u32) {
    (Reverse(vocab.bytes(id).map_or(0, <[u8]>::len)), id)
}

fn is_special<V: Vocab + ?Sized>(vocab: &V, id: u32) -> bool {
    vocab.kind(id).is_special() && vocab.bytes(id).is_some_and(|bytes| !bytes.is_empty())
}

/// Looks at every token, each time. No memory.
#[derive(Clone, Copy, Debug, Default)]
pub struct Scan;

impl Find for Scan {
    fn find<V, K>(&self, vocab: &V, key: K) -> Option<u32>
    where
        V: Vocab + ?Sized,
        K: Iterator<Item = u8> + Clone,
    {
        let len = key.clone().count();
        (0..vocab.len()).rev().find(|&id| {
            vocab.bytes(id).is_some_and(|bytes| {
                bytes.len() == len && len > 0 && bytes.iter().copied().eq(key.clone())
            })
        })
    }

    fn next_special<V>(&self, vocab: &V, last: Option<u32>, _place: &mut usize) -> Option<u32>
    where
        V: Vocab + ?Sized,
    {
        let last = last.map(|id| special_rank(vocab, id));
        (0..vocab.len())
            .filter(|&id| is_special(vocab, id))
            .map(|id| special_rank(vocab, id))
            .filter(|&rank| last.is_none_or(|last| rank > last))
            .min()
            .map(|(_, id)| id)
    }
}

mod sealed {
    pub trait Sealed: Copy {
        fn from_id(id: u32) -> Option<Self>;
        fn id(self) -> u32;
    }
    impl Sealed for u16 {
        fn from_id(id: u32) -> Option<Self> {
            u16::try_from(id).ok()
        }
        fn id(self) -> u32 {
            self.into()
        }
    }
    impl Sealed for u32 {
        fn from_id(id: u32) -> Option<Self> {
            Some(id)
        }
        fn id(self) -> u32 {
            self
        }
    }
}

/// The words of an index: `u16` or `u32`.
pub trait Word: sealed::Sealed {}
impl Word for u16 {}
impl Word for u32 {}

/// Ids sorted by spelling, then the special ones by length. `S` is a slice, or with a heap a `Vec`.
#[derive(Clone, Debug)]
pub struct Index<S> {
    words: S,
    tokens: usize,
    used: usize,
}

/// Words that an index over `vocab` takes: one per token and one more per special token.
pub fn words<V: Vocab + ?Sized>(vocab: &V) -> usize {
    vocab.len() as usize + (0..vocab.len()).filter(|&id| is_special(vocab, id)).count()
}

fn by_spelling<V: Vocab + ?Sized>(vocab: &V, a: u32, b: u32) -> Ordering {
    vocab.bytes(a).cmp(&vocab.bytes(b)).then(a.cmp(&b))
}

impl<S, W: Word> Index<S>
where
    S: Deref<Target = [W]>,
{
    /// Builds the index in `words`, of which the first [`words`]`(vocab)` are used.
    ///
    /// # Errors
    /// [`Error::Index`] if there are too few words, [`Error::IndexWidth`] if ids don't fit them.
    pub fn build<V: Vocab + ?Sized>(vocab: &V, mut words: S) -> Result<Self, Error>
    where
        S: core::ops::DerefMut,
    {
        let need = self::words(vocab);
        let got = words.len();
        let Some(space) = words.get_mut(..need) else {
            return Err(Error::Index { need, got });
        };
        let len = vocab.len();
        let word = |id| W::from_id(id).ok_or(Error::IndexWidth { len });
        let (ids, specials) = space.split_at_mut(len as usize);
        for (id, slot) in (0..len).zip(ids.iter_mut()) {
            *slot = word(id)?;
        }
        for (id, slot) in (0..len).filter(|&id| is_special(vocab, id)).zip(specials.iter_mut()) {
            *slot = word(id)?;
        }
        ids.sort_unstable_by(|a, b| by_spelling(vocab, a.id(), b.id()));
        specials.sort_unstable_by_key(|id| special_rank(vocab, id.id()));
        Ok(Index { tokens: ids.len(), used: need, words })
    }

    /// Takes an index that was built earlier over the same vocabulary, for instance one in flash.
    /// Every entry is checked; that takes one pass.
    ///
    /// # Errors
    /// [`Error::Index`] if there are too few words, [`Error::IndexOrder`] with the first entry
    /// that does not belong.
    pub fn load<V: Vocab + ?Sized>(vocab: &V, words: S) -> Result<Self, Error> {
        let need = self::words(vocab);
        let got = words.len();
        let Some(space) = words.get(..need) else {
            return Err(Error::Index { need, got });
        };
        // Ascending entries are distinct; as many distinct ids as there are tokens are all of them.
        let tokens = vocab.len() as usize;
        for (at, word) in space.iter().enumerate() {
            let id = word.id();
            let before = at.checked_sub(1).map(|before| space[before].id());
            let fits = id < vocab.len()
                && if at < tokens {
                    before.is_none_or(|before| by_spelling(vocab, before, id) == Ordering::Less)
                } else {
                    is_special(vocab, id)
                        && (at == tokens
                            || before.is_none_or(|before| {
                                special_rank(vocab, before) < special_rank(vocab, id)
                            }))
                };
            if !fits {
                return Err(Error::IndexOrder { at });
            }
        }
        Ok(Index { words, tokens, used: need })
    }

    /// The words, for keeping them.
    pub fn as_words(&self) -> &[W] {
        self.words.get(..self.used).unwrap_or(&[])
    }
}

impl<S, W: Word> Find for Index<S>
where
    S: Deref<Target = [W]>,
{
    fn find<V, K>(&self, vocab: &V, key: K) -> Option<u32>
    where
        V: Vocab + ?Sized,
        K: Iterator<Item = u8> + Clone,
    {
        key.clone().next()?;
        let ids = self.words.get(..self.tokens)?;
        let compare = |id: u32| vocab.bytes(id).unwrap_or(&[]).iter().copied().cmp(key.clone());
        let end = ids.partition_point(|word| compare(word.id()) != Ordering::Greater);
        let id = ids.get(end.checked_sub(1)?)?.id();
        (compare(id) == Ordering::Equal).then_some(id)
    }

    fn next_special<V>(&self, vocab: &V, _last: Option<u32>, place: &mut usize) -> Option<u32>
    where
        V: Vocab + ?Sized,
    {
        let id = self.as_words().get(self.tokens + *place)?.id();
        *place += 1;
        is_special(vocab, id).then_some(id)
    }
}
