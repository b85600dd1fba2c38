//! When a barrier is needed: what has been read and written since the last one.

/// Bytes of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// Which buffer; any number that is unique.
    pub buffer: u64,
    /// First byte.
    pub start: u64,
    /// Byte behind the last.
    pub end: u64,
}

impl Range {
    fn overlaps(&self, other: &Range) -> bool {
        self.buffer == other.buffer && self.start < other.end && other.start < self.end
    }
}

/// Beyond this many ranges a barrier is cheaper than looking through them.
const MOST: usize = 48;

/// What commands have touched since the last barrier.
#[derive(Debug, Default)]
pub struct Hazards {
    touched: Vec<(Range, bool)>,
}

impl Hazards {
    /// Notes a command that reads and writes these, and says whether a barrier must come before it.
    pub fn meets(&mut self, reads: &[Range], writes: &[Range]) -> bool {
        let more = reads.len() + writes.len();
        let barrier = self.touched.len() + more > MOST
            || self.touched.iter().any(|(t, written)| {
                writes.iter().any(|w| w.overlaps(t))
                    || *written && reads.iter().any(|r| r.overlaps(t))
            });
        if barrier {
            self.touched.clear();
        }
        self.touched.extend(reads.iter().map(|r| (*r, false)));
        self.touched.extend(writes.iter().map(|w| (*w, true)));
        barrier
    }

    /// Forgets everything: a barrier was made.
    pub fn clear(&mut self) {
        self.touched.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn r(start: u64, end: u64) -> Range {
        Range { buffer: 1, start, end }
    }

    #[test]
    fn barriers_come_where_memory_meets_and_nowhere_else() {
        let mut h = Hazards::default();
        assert!(!h.meets(&[r(0, 4)], &[r(4, 8)]));
        assert!(!h.meets(&[r(0, 4)], &[r(8, 12)]), "two reads of the same bytes");
        assert!(h.meets(&[r(7, 8)], &[r(12, 16)]), "read after write");
        assert!(!h.meets(&[r(0, 8)], &[r(16, 20)]), "the barrier covers what was before it");
        assert!(h.meets(&[], &[r(0, 1)]), "write after read");
        assert!(h.meets(&[], &[r(0, 1)]), "write after write");
        let other = Range { buffer: 2, ..r(0, 1) };
        assert!(!h.meets(&[other], &[other]), "another buffer, and in place");
        assert!(h.meets(&[other], &[]));
    }

    #[test]
    fn the_list_is_bounded() {
        let mut h = Hazards::default();
        let barriers = (0..1000).filter(|i| h.meets(&[], &[r(*i, *i + 1)])).count();
        assert_eq!(barriers, 1000 / MOST);
    }
}
