//! Sorting positions of the header in the caller's memory: unique names, tensors that do not overlap, and
//! look-up by name in O(log n).
//!
//! The items are put in a strict total order (by name or offset, then by position in the file) and read in
//! batches of as many as the scratch memory holds: each pass over the header keeps the smallest ones after the
//! last batch. What must not happen would happen between neighbours of that order, so every pair is judged
//! exactly, whatever the memory; only the number of passes depends on it. No hashing, so no input is slow
//! that another of its size is not.

use dinrail_core::tensor::size;

use crate::cursor::{Cursor, times};
use crate::error::{Error, Item};
use crate::header::Header;
use crate::tensor::Info;

/// How many positions are sorted at a time where the caller gives no memory (512 bytes of stack).
pub const STACK_SCRATCH: usize = 128;

/// The most bytes of header that the passes of one check may read, in total. A single pass is always allowed.
pub const MAX_REREAD: u64 = 1 << 28;

/// What the items are and how they are ordered.
#[derive(Clone, Copy)]
pub(crate) enum By {
    Key,
    TensorName,
    TensorOffset,
}

/// The keys or the tensors of a header whose entries have all been read once without error.
#[derive(Clone, Copy)]
pub(crate) struct Items<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) len: u64,
    /// Where the first item is, and where the last one ends.
    pub(crate) start: u32,
    pub(crate) end: u32,
    pub(crate) count: u32,
    pub(crate) by: By,
}

const fn get(words: &[u32], i: usize) -> u32 {
    match words.split_at_checked(i) {
        Some((_, [word, ..])) => *word,
        _ => 0,
    }
}

const fn set(words: &mut [u32], i: usize, value: u32) {
    if let Some((_, [word, ..])) = words.split_at_mut_checked(i) {
        *word = value;
    }
}

/// -1, 0 or 1, as the bytes of `a` come before, are equal to, or come after those of `b`.
pub(crate) const fn compare(mut a: &[u8], mut b: &[u8]) -> i8 {
    // Eight bytes at a time: big-endian words compare as their bytes do.
    while let (Some((x, rest_a)), Some((y, rest_b))) =
        (a.split_first_chunk::<8>(), b.split_first_chunk::<8>())
    {
        let (x, y) = (u64::from_be_bytes(*x), u64::from_be_bytes(*y));
        if x != y {
            return if x < y { -1 } else { 1 };
        }
        a = rest_a;
        b = rest_b;
    }
    loop {
        match (a, b) {
            ([], []) => return 0,
            ([], _) => return -1,
            (_, []) => return 1,
            ([x, rest_a @ ..], [y, rest_b @ ..]) => {
                if *x != *y {
                    return if *x < *y { -1 } else { 1 };
                }
                a = rest_a;
                b = rest_b;
            }
        }
    }
}

pub(crate) const fn equal(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && compare(a, b) == 0
}

impl<'a> Items<'a> {
    const fn open(&self, at: u32) -> Cursor<'a> {
        Cursor::open(self.bytes, self.len, at)
    }

    const fn name(&self, at: u32) -> &'a [u8] {
        match self.open(at).string() {
            Ok(name) => name,
            Err(_) => &[],
        }
    }

    /// Offset and size of the tensor at `at`.
    const fn extent(&self, at: u32) -> (u64, u64) {
        match self.open(at).info(0) {
            Ok(info) => (info.offset, info.size),
            Err(_) => (0, 0),
        }
    }

    const fn less(&self, a: u32, b: u32) -> bool {
        let order = match self.by {
            By::Key | By::TensorName => compare(self.name(a), self.name(b)),
            By::TensorOffset => {
                let (x, y) = (self.extent(a).0, self.extent(b).0);
                if x == y {
                    0
                } else if x < y {
                    -1
                } else {
                    1
                }
            }
        };
        order < 0 || (order == 0 && a < b)
    }

    /// Puts `value` where it belongs below `hole`, in a heap whose root is the largest.
    ///
    /// Goes down to a leaf first and then up again: half the comparisons, as most values belong near a leaf.
    const fn sift(&self, heap: &mut [u32], hole: usize, value: u32) {
        let top = hole;
        let mut hole = hole;
        loop {
            let left = 2 * hole + 1;
            if left >= heap.len() {
                break;
            }
            let mut child = left;
            if left + 1 < heap.len() && self.less(get(heap, left), get(heap, left + 1)) {
                child = left + 1;
            }
            set(heap, hole, get(heap, child));
            hole = child;
        }
        while hole > top {
            let parent = (hole - 1) / 2;
            if self.less(value, get(heap, parent)) {
                break;
            }
            set(heap, hole, get(heap, parent));
            hole = parent;
        }
        set(heap, hole, value);
    }

    const fn heapify(&self, heap: &mut [u32]) {
        let mut i = heap.len() / 2;
        while i > 0 {
            i -= 1;
            self.sift(heap, i, get(heap, i));
        }
    }

    const fn skip(&self, cursor: &mut Cursor<'a>) -> bool {
        match self.by {
            By::Key => cursor.entry().is_ok(),
            By::TensorName | By::TensorOffset => cursor.info(0).is_ok(),
        }
    }

    /// Fills `heap` with the positions of the smallest items after `after`, in order. Returns how many.
    const fn batch(&self, after: Option<u32>, heap: &mut [u32]) -> usize {
        let mut cursor = self.open(self.start);
        let mut n = 0;
        let mut i = 0;
        while i < self.count {
            i += 1;
            let at = cursor.at() as u32;
            if !self.skip(&mut cursor) {
                break;
            }
            if let Some(last) = after
                && !self.less(last, at)
            {
                continue;
            }
            if n < heap.len() {
                set(heap, n, at);
                n += 1;
                if n == heap.len() {
                    self.heapify(heap);
                }
            } else if self.less(at, get(heap, 0)) {
                self.sift(heap, 0, at);
            }
        }
        let Some((heap, _)) = heap.split_at_mut_checked(n) else { return 0 };
        self.heapify(heap);
        // The largest goes to the end of what is still a heap, again and again.
        let mut left = n;
        while left > 1 {
            left -= 1;
            let largest = get(heap, 0);
            let value = get(heap, left);
            if let Some((smaller, _)) = heap.split_at_mut_checked(left) {
                self.sift(smaller, 0, value);
            }
            set(heap, left, largest);
        }
        n
    }

    /// Which item is at `at`.
    const fn item(&self, at: u32) -> Item {
        let mut cursor = self.open(self.start);
        let mut index = 0;
        while index < self.count && cursor.at() < at as u64 && self.skip(&mut cursor) {
            index += 1;
        }
        Item { index, at }
    }

    /// Looks at all items in order and refuses equal names, or tensors that share bytes.
    pub(crate) const fn check(&self, scratch: &mut [u32]) -> Result<(), Error> {
        if self.count < 2 {
            return Ok(());
        }
        let passes =
            (self.count as u64).div_ceil(if scratch.is_empty() { 1 } else { scratch.len() as u64 });
        let allowed = match times(passes, (self.end - self.start) as u64) {
            Some(bytes) => passes == 1 || bytes <= MAX_REREAD,
            None => false,
        };
        if scratch.is_empty() || !allowed {
            return Err(Error::Scratch { words: self.count });
        }
        let mut last = None;
        // The tensor that reaches furthest so far, and how far.
        let mut reach = (self.start, 0);
        loop {
            let n = self.batch(last, scratch);
            let mut i = 0;
            while i < n {
                let at = get(scratch, i);
                match self.by {
                    By::Key | By::TensorName => {
                        if let Some(last) = last
                            && equal(self.name(last), self.name(at))
                        {
                            let (first, second) = (self.item(last), self.item(at));
                            return Err(match self.by {
                                By::Key => Error::DuplicateKey { first, second },
                                _ => Error::DuplicateTensor { first, second },
                            });
                        }
                    }
                    By::TensorOffset => {
                        let (offset, size) = self.extent(at);
                        if size > 0 {
                            if offset < reach.1 {
                                let (first, second) = (self.item(reach.0), self.item(at));
                                return Err(Error::Overlap { first, second });
                            }
                            reach = match size::sum(offset, size) {
                                Ok(end) => (at, end),
                                Err(_) => {
                                    return Err(Error::Overlap {
                                        first: self.item(at),
                                        second: self.item(at),
                                    });
                                }
                            };
                        }
                    }
                }
                last = Some(at);
                i += 1;
            }
            if n < scratch.len() {
                return Ok(());
            }
        }
    }
}

/// Tensors sorted by name in the caller's memory, made by [`Header::index`]: look-up in O(log n).
#[derive(Clone, Copy)]
pub struct Index<'a, 's> {
    header: Header<'a>,
    sorted: &'s [u32],
}

impl<'a, 's> Index<'a, 's> {
    pub(crate) const fn new(header: Header<'a>, scratch: &'s mut [u32]) -> Result<Self, Error> {
        let items = header.items(By::TensorName);
        let words = items.count;
        match scratch.split_at_mut_checked(words as usize) {
            Some((sorted, _)) => {
                items.batch(None, sorted);
                Ok(Index { header, sorted })
            }
            None => Err(Error::Scratch { words }),
        }
    }

    /// The tensor of this name: O(log n).
    pub const fn tensor(&self, name: &str) -> Option<Info<'a>> {
        let items = self.header.items(By::TensorName);
        let (mut low, mut high) = (0, self.sorted.len());
        while low < high {
            let middle = low + (high - low) / 2;
            let at = get(self.sorted, middle);
            match compare(items.name(at), name.as_bytes()) {
                0 => return self.header.info_at(at),
                order if order < 0 => low = middle + 1,
                _ => high = middle,
            }
        }
        None
    }
}
