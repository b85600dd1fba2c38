//! Walking over a tensor's elements in their logical order.

use core::ops::Range;
use dinrail_core::hal::host::Worker;
use dinrail_core::tensor::Desc;

/// The coordinates of rows, one after the other, without a division for each.
pub(super) struct Rows {
    ne: [usize; 4],
    at: [usize; 3],
    left: usize,
}

impl Rows {
    /// Rows number `range` of a tensor with lengths `ne`.
    pub fn new(ne: &[usize; 4], range: Range<usize>) -> Self {
        let (n1, n2) = (ne[1].max(1), ne[2].max(1));
        let at = match range.start {
            0 => [0; 3],
            r => [r % n1, r / n1 % n2, r / n1 / n2],
        };
        Self { ne: *ne, at, left: range.len() }
    }
}

impl Iterator for Rows {
    type Item = [usize; 3];

    #[inline]
    fn next(&mut self) -> Option<[usize; 3]> {
        self.left = self.left.checked_sub(1)?;
        let now = self.at;
        self.at[0] += 1;
        if self.at[0] == self.ne[1] {
            self.at[0] = 0;
            self.at[1] += 1;
            if self.at[1] == self.ne[2] {
                self.at[1] = 0;
                self.at[2] += 1;
            }
        }
        Some(now)
    }
}

/// A position in a tensor that moves on in logical order, in whole blocks. Dimensions that follow each other without a
/// gap count as one.
pub(super) struct Cursor {
    /// Lengths, the innermost in blocks.
    ne: [usize; 4],
    nb: [usize; 4],
    at: [usize; 4],
    block: usize,
}

impl Cursor {
    /// At element number `start`, which begins a block.
    pub fn new(desc: &Desc, start: usize) -> Self {
        let block = desc.dtype.block_len();
        let (mut ne, mut nb) = ([1; 4], [0; 4]);
        let mut used = 0;
        for i in 0..4 {
            let n = if i == 0 { desc.ne[0] / block } else { desc.ne[i] };
            if n == 1 && i > 0 {
                continue;
            }
            if used > 0 && ne[used - 1] == 1 {
                (ne[used - 1], nb[used - 1]) = (n, desc.nb[i]);
            } else if used > 0 && ne[used - 1].wrapping_mul(nb[used - 1]) == desc.nb[i] {
                ne[used - 1] *= n;
            } else {
                (ne[used], nb[used]) = (n, desc.nb[i]);
                used += 1;
            }
        }
        let mut rest = start / block;
        let at = ne.map(|n| {
            // The start is by far the most frequent place, and divisions are slow.
            if rest == 0 {
                return 0;
            }
            let i = rest % n.max(1);
            rest /= n.max(1);
            i
        });
        Self { ne, nb, at, block }
    }

    /// Elements from here that lie one [`step`](Self::step) apart.
    #[inline]
    pub fn run(&self) -> usize {
        (self.ne[0] - self.at[0]) * self.block
    }

    /// Bytes between neighbouring blocks of a run.
    #[inline]
    pub fn step(&self) -> usize {
        self.nb[0]
    }

    /// Byte offset of this position.
    #[inline]
    pub fn offset(&self) -> usize {
        let part = |i: usize| self.at[i].wrapping_mul(self.nb[i]);
        part(0).wrapping_add(part(1)).wrapping_add(part(2)).wrapping_add(part(3))
    }

    /// Moves on by `n` elements, at most [`run`](Self::run).
    #[inline]
    pub fn advance(&mut self, n: usize) {
        self.at[0] += n / self.block;
        let mut i = 0;
        while i < 3 && self.at[i] >= self.ne[i] {
            self.at[i] = 0;
            i += 1;
            self.at[i] += 1;
        }
    }
}

/// This worker's range of `n` elements, cut at multiples of `unit`.
pub(super) fn share(worker: &Worker<'_>, n: usize, unit: usize) -> Range<usize> {
    if worker.count() == 1 {
        return 0..n;
    }
    let units = worker.share(n.div_ceil(unit));
    (units.start * unit).min(n)..(units.end * unit).min(n)
}

#[cfg(test)]
mod tests {
    use super::*;
    use dinrail_core::tensor::DType;

    #[test]
    fn rows_come_in_order() {
        let ne = [5, 2, 3, 2];
        let all: std::vec::Vec<_> = Rows::new(&ne, 0..12).collect();
        assert_eq!((all[0], all[1], all[2]), ([0, 0, 0], [1, 0, 0], [0, 1, 0]));
        assert_eq!(all[11], [1, 2, 1]);
        assert_eq!(Rows::new(&ne, 7..12).collect::<std::vec::Vec<_>>(), all[7..]);
        assert_eq!(Rows::new(&ne, 12..12).next(), None);
    }

    #[test]
    fn a_cursor_visits_every_element_of_any_layout() {
        let base = Desc::new(DType::F32, [3, 4, 2, 5]).unwrap();
        for order in [[0, 1, 2, 3], [1, 0, 2, 3], [3, 2, 1, 0], [0, 2, 1, 3], [2, 3, 0, 1]] {
            let desc = Desc {
                ne: order.map(|i: usize| base.ne[i]),
                nb: order.map(|i| base.nb[i]),
                dtype: DType::F32,
            };
            for start in [0, 1, 17, 119] {
                let mut cursor = Cursor::new(&desc, start);
                let mut n = start;
                while n < 120 {
                    let run = cursor.run().min(2).min(120 - n);
                    for k in 0..run {
                        let [i0, i1, i2] =
                            [(n + k) % desc.ne[0], (n + k) / desc.ne[0], (n + k) / desc.ne[0]];
                        let (i1, rest) = (i1 % desc.ne[1], i2 / desc.ne[1]);
                        let want = i0 * desc.nb[0]
                            + desc.row_offset(i1, rest % desc.ne[2], rest / desc.ne[2]);
                        assert_eq!(cursor.offset() + k * cursor.step(), want, "{order:?} {n}");
                    }
                    cursor.advance(run);
                    n += run;
                }
            }
        }
        let mut c = Cursor::new(&base, 0);
        assert_eq!(c.run(), 120, "no gaps: one run");
        c.advance(100);
        assert_eq!(c.offset(), 400);
    }

    #[test]
    fn shares_are_whole_units() {
        assert_eq!(share(&Worker::ALONE, 100, 64), 0..100);
        assert_eq!(share(&Worker::ALONE, 0, 64), 0..0);
    }
}
