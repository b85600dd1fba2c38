//! How workers divide rows and elements.

use core::ops::Range;
use dinrail_core::hal::host::Worker;

/// Less work than this (in elements touched, roughly nanoseconds) is done by one worker: a second one would only
/// fetch cache lines.
const WORTH: usize = 4096;

/// This worker's range of `n` items that cost `each` elements apiece. Little work goes to the first worker alone.
#[inline]
pub(crate) fn share(worker: &Worker<'_>, n: usize, each: usize) -> Range<usize> {
    if n.saturating_mul(each) >= WORTH {
        worker.share(n)
    } else if worker.index() == 0 {
        0..n
    } else {
        0..0
    }
}

/// The coordinates `(i1, i2, i3)` of row `row` of a tensor with lengths `ne`.
#[inline]
pub(crate) fn split(row: usize, ne: &[usize; 4]) -> (usize, usize, usize) {
    let (n1, n2) = (ne[1].max(1), ne[2].max(1));
    (row % n1, row / n1 % n2, row / n1 / n2)
}
