//! Translated graphs, kept in the stream that computes them.

use super::face::Dev;
use super::graph::{Scratch, Translation};
use crate::abi::Tensor;
use dinrail_core::Result;
use dinrail_core::hal::Stream;

/// Most translations that are kept: a few graphs, each cut into some sections.
const MOST: usize = 64;
/// Most tensors in them, at about half a kilobyte each.
const MOST_TENSORS: usize = 1 << 15;

struct Entry {
    used: u64,
    translation: Translation,
}

#[derive(Default)]
pub(crate) struct Cache {
    entries: Vec<Entry>,
    clock: u64,
    /// Where the next one was found last time: sections come in the same order each time.
    next: usize,
    scratch: Scratch,
}

impl Cache {
    /// The translation of a graph, made anew if there is none.
    ///
    /// # Errors
    /// Why it can't be computed.
    ///
    /// # Safety
    /// The nodes are whole tensors with their sources.
    pub(crate) unsafe fn find(
        &mut self,
        dev: &Dev,
        stream: &Stream,
        nodes: &[*mut Tensor],
    ) -> Result<Option<&Translation>> {
        self.clock += 1;
        // SAFETY: the caller promises.
        let is = |e: &Entry| unsafe { e.translation.is_of(nodes) };
        let next = self.entries.get(self.next).filter(|e| is(e)).map(|_| self.next);
        let at = match next.or_else(|| self.entries.iter().position(is)) {
            Some(at) => at,
            None => {
                self.make_room(stream, nodes.len())?;
                // SAFETY: the caller promises.
                let made = unsafe { Translation::new(dev, stream, nodes, &mut self.scratch) };
                let translation = made?;
                self.entries.push(Entry { used: 0, translation });
                self.entries.len() - 1
            }
        };
        self.next = if at + 1 < self.entries.len() { at + 1 } else { 0 };
        let clock = self.clock;
        Ok(self.entries.get_mut(at).map(|e| {
            e.used = clock;
            &e.translation
        }))
    }

    fn make_room(&mut self, stream: &Stream, more: usize) -> Result<()> {
        let full = |all: &[Entry]| {
            let tensors: usize = all.iter().map(|e| e.translation.len()).sum();
            all.len() >= MOST || tensors + more > MOST_TENSORS
        };
        if full(&self.entries) {
            // Work that is still queued may use what goes.
            stream.synchronize()?;
        }
        while full(&self.entries)
            && let Some((i, _)) = self.entries.iter().enumerate().min_by_key(|(_, e)| e.used)
        {
            self.entries.swap_remove(i);
        }
        Ok(())
    }
}
