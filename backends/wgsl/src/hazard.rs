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

const NOTHING: (Range, bool) = (Range { buffer: 0, start: 0, end: 0 }, false);

/// What commands have touched since the last barrier.
#[derive(Debug)]
pub struct Hazards {
    /// Each range, and whether it was written.
    touched: [(Range, bool); MOST],
    len: usize,
}

impl Default for Hazards {
    fn default() -> Self {
        Self { touched: [NOTHING; MOST], len: 0 }
    }
}

impl Hazards {
    fn note(&mut self, range: &Range, written: bool) {
        if let Some(t) = self.touched.get_mut(self.len) {
            *t = (*range, written);
            self.len += 1;
        }
    }

    /// Notes a command that reads and writes these (a handful), and says whether a barrier must come before it.
    pub fn meets(&mut self, reads: &[Range], writes: &[Range]) -> bool {
        let touched = self.touched.get(..self.len).unwrap_or(&[]);
        let barrier = self.len + reads.len() + writes.len() > MOST
            || touched.iter().any(|(t, written)| {
                writes.iter().any(|w| w.overlaps(t))
                    || *written && reads.iter().any(|r| r.overlaps(t))
            });
        if barrier {
            self.len = 0;
        }
        reads.iter().for_each(|r| self.note(r, false));
        writes.iter().for_each(|w| self.note(w, true));
        barrier
    }

    /// Forgets everything: a barrier was made.
    pub fn clear(&mut self) {
        self.len = 0;
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
