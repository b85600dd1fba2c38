//! Memory for buffers from one fixed piece of RAM.

use crate::model::Aligned;
use crate::word::Word;
use core::cell::UnsafeCell;
use core::ptr::NonNull;
use dinrail_core::error::What;
use dinrail_core::hal::host::Heap;
use dinrail_core::{Error, Result};

/// What every block begins and ends at a multiple of, in bytes.
pub const ALIGN: usize = 64;

/// Bits of the state that count living blocks; the others hold the top, in units of [`ALIGN`].
const LIVE_BITS: u32 = usize::BITS / 2 - 6;
const LIVE_MASK: usize = (1 << LIVE_BITS) - 1;
/// The largest top that fits: 4 GiB of 32-bit memory are 2^26 units, of which 2^22 fit; 64-bit memory fits whole.
const MAX_UNITS: usize = usize::MAX >> LIVE_BITS;

/// A heap over memory that the program owns: blocks are laid one after the other.
///
/// A block is given back for good when it is the last one, or when all are given back. So buffers that are dropped in
/// the reverse order of their making leave nothing behind, and neither does dropping all of them in any order; a hole in
/// the middle stays until then.
///
/// # Concurrency
/// Any core and any interrupt may take and give back: the state is one word that changes in one step. On cores
/// without compare-and-swap that step is a critical section, for which the program names an implementation (see the
/// crate `critical-section`).
pub struct Arena {
    first: NonNull<u8>,
    units: usize,
    lost: usize,
    state: Word,
    peak: Word,
}

// SAFETY: the memory belongs to the arena alone, and the state that says who has which part changes in single steps.
unsafe impl Sync for Arena {}
// SAFETY: as above; nothing is tied to a thread.
unsafe impl Send for Arena {}

impl core::fmt::Debug for Arena {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Arena").finish_non_exhaustive()
    }
}

/// The top (in units) and the number of living blocks, as one word.
#[derive(Clone, Copy)]
struct State {
    top: usize,
    live: usize,
}

impl State {
    const fn of(word: usize) -> Self {
        Self { top: word >> LIVE_BITS, live: word & LIVE_MASK }
    }

    const fn word(self) -> usize {
        (self.top << LIVE_BITS) | self.live
    }
}

impl Arena {
    /// An arena in `memory`, which may begin at any address: it is aligned inside, and [`lost`](Self::lost) says how
    /// many bytes that costs. An arena too small for one block is empty, and every request fails.
    pub fn new(memory: &'static mut [u8]) -> Self {
        let size = memory.len();
        let start = NonNull::from(memory).cast::<u8>();
        let skip = start.as_ptr().align_offset(ALIGN).min(size);
        // SAFETY: `skip` is at most the size of the slice.
        let first = unsafe { start.add(skip) };
        Self::over(first, size, skip)
    }

    /// An arena in a static of its own; see [`static_arena!`](crate::static_arena).
    ///
    /// # Safety
    /// * Nothing else uses the storage, for ever.
    #[doc(hidden)]
    pub const unsafe fn in_storage<const N: usize>(storage: &'static Storage<N>) -> Self {
        match NonNull::new(storage.0.get()) {
            Some(p) => Self::over(p.cast(), N, 0),
            None => Self::over(NonNull::dangling(), 0, 0),
        }
    }

    const fn over(first: NonNull<u8>, size: usize, skip: usize) -> Self {
        let whole = (size - skip) / ALIGN;
        let units = if whole < MAX_UNITS { whole } else { MAX_UNITS };
        let (state, peak) = (Word::new(0), Word::new(0));
        Self { first, units, lost: size - units * ALIGN, state, peak }
    }

    /// Bytes that can be taken in all.
    pub const fn size(&self) -> usize {
        self.units * ALIGN
    }

    /// Bytes of the memory that can't be used, because they lie before the first or after the last multiple of
    /// [`ALIGN`].
    pub const fn lost(&self) -> usize {
        self.lost
    }

    /// Bytes that are taken at this moment, with what alignment costs.
    pub fn used(&self) -> usize {
        State::of(self.state.value()).top * ALIGN
    }

    /// The most bytes that were ever taken at one moment: what the arena could be shrunk to.
    pub fn peak(&self) -> usize {
        self.peak.value() * ALIGN
    }

    /// Blocks that are alive.
    pub fn live(&self) -> usize {
        State::of(self.state.value()).live
    }

    /// First unit of a block that begins at `top` or behind it at a multiple of `align` bytes of address.
    fn aligned(&self, top: usize, align: usize) -> Option<usize> {
        if align <= ALIGN {
            return Some(top);
        }
        let address = self.first.addr().get().checked_add(top * ALIGN)?;
        let up = address.checked_next_multiple_of(align)?;
        top.checked_add((up - address) / ALIGN)
    }
}

// SAFETY: each piece is the caller's alone until it is freed, and its bytes are set.
unsafe impl Heap for Arena {
    fn alloc(&self, bytes: usize, align: usize) -> Result<NonNull<u8>> {
        let need = bytes.div_ceil(ALIGN);
        let place = |state: State| {
            let begin = self.aligned(state.top, align)?;
            let top = begin.checked_add(need).filter(|top| *top <= self.units)?;
            Some((begin, State { top, live: state.live + 1 }))
        };
        let old = self.state.update(|word| {
            let state = State::of(word);
            if state.live == LIVE_MASK {
                return None;
            }
            place(state).map(|(_, new)| new.word())
        });
        let Some((begin, new)) = old.and_then(|word| place(State::of(word))) else {
            let state = State::of(self.state.value());
            return Err(if state.live == LIVE_MASK {
                Error::Full { what: What::Pool, need: LIVE_MASK + 1, have: LIVE_MASK }
            } else {
                Error::OutOfMemory { requested: bytes, available: (self.units - state.top) * ALIGN }
            });
        };
        self.peak.update(|peak| (new.top > peak).then_some(new.top));
        // SAFETY: `begin + need` units lie inside the memory.
        Ok(unsafe { self.first.add(begin * ALIGN) })
    }

    unsafe fn free(&self, ptr: NonNull<u8>, bytes: usize, _align: usize) {
        let begin = (ptr.addr().get() - self.first.addr().get()) / ALIGN;
        let end = begin + bytes.div_ceil(ALIGN);
        self.state.update(|word| {
            let state = State::of(word);
            let live = state.live.saturating_sub(1);
            let top = match live {
                0 => 0,
                _ if state.top == end => begin,
                _ => state.top,
            };
            Some(State { top, live }.word())
        });
    }

    fn memory(&self) -> (usize, usize) {
        (self.size() - self.used(), self.size())
    }
}

/// Where [`static_arena!`](crate::static_arena) puts the bytes.
#[doc(hidden)]
#[derive(Debug)]
pub struct Storage<const N: usize>(UnsafeCell<Aligned<[u8; N]>>);

// SAFETY: the bytes are only reached through the one arena over them.
unsafe impl<const N: usize> Sync for Storage<N> {}

impl<const N: usize> Storage<N> {
    #[doc(hidden)]
    pub const fn zeroed() -> Self {
        Self(UnsafeCell::new(Aligned([0; N])))
    }
}

/// Declares an [`Arena`] as a `static`, with memory of its own: so many bytes, zeroed at start, aligned, none lost but
/// what is not a multiple of 64. A `link_section` puts the memory elsewhere, such as into external RAM.
///
/// ```
/// dinrail_bare::static_arena! {
///     /// For the activations.
///     pub static ARENA: 16 * 1024;
/// }
/// assert_eq!(ARENA.size(), 16 * 1024);
/// ```
///
/// ```
/// dinrail_bare::static_arena! {
///     #[unsafe(link_section = ".psram")]
///     static SLOW: 1024;
/// }
/// # assert_eq!(SLOW.lost(), 0);
/// ```
#[macro_export]
macro_rules! static_arena {
    (
        $(#[doc = $doc:expr])*
        $(#[unsafe(link_section = $section:literal)])?
        $vis:vis static $name:ident : $bytes:expr $(;)?
    ) => {
        $(#[doc = $doc])*
        $vis static $name: $crate::Arena = {
            $(#[unsafe(link_section = $section)])?
            static STORAGE: $crate::Storage<{ $bytes }> = $crate::Storage::zeroed();
            // SAFETY: the storage has no name outside this block, which is evaluated once.
            unsafe { $crate::Arena::in_storage(&STORAGE) }
        };
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::boxed::Box;
    use std::vec;
    use std::vec::Vec;

    fn leak(len: usize, from: usize) -> &'static mut [u8] {
        let memory = Box::leak(vec![0u8; len + ALIGN + from].into_boxed_slice());
        let skip = memory.as_ptr().align_offset(ALIGN);
        memory.get_mut(skip + from..).and_then(|m| m.get_mut(..len)).unwrap()
    }

    #[test]
    fn aligns_inside_and_tells_what_is_lost() {
        for from in [0, 1, 2, 4, 63] {
            let arena = Arena::new(leak(1024, from));
            let front = (ALIGN - from) % ALIGN;
            assert_eq!(arena.size(), (1024 - front) / ALIGN * ALIGN);
            assert_eq!(arena.lost() + arena.size(), 1024);
            for align in [1, 4, 64, 256] {
                let p = arena.alloc(1, align).unwrap();
                assert_eq!(p.addr().get() % align.max(ALIGN), 0);
            }
        }
    }

    #[test]
    fn too_small_for_anything() {
        for len in [0, 1, 63] {
            let arena = Arena::new(leak(len, 1));
            assert_eq!((arena.size(), arena.lost()), (0, len));
            let e = arena.alloc(1, 1).unwrap_err();
            assert_eq!(e, Error::OutOfMemory { requested: 1, available: 0 });
        }
    }

    #[test]
    fn exactly_full_and_one_more() {
        let arena = Arena::new(leak(256, 0));
        let a = arena.alloc(128, 64).unwrap();
        let b = arena.alloc(65, 64).unwrap();
        assert_eq!((arena.used(), arena.live()), (256, 2));
        let e = arena.alloc(1, 1).unwrap_err();
        assert_eq!(e, Error::OutOfMemory { requested: 1, available: 0 });
        assert_eq!((arena.used(), arena.live()), (256, 2));
        for huge in [usize::MAX, usize::MAX - 63, isize::MAX as usize] {
            assert!(arena.alloc(huge, 64).is_err());
            assert!(arena.alloc(1, 1 << (usize::BITS - 1)).is_err());
        }
        // SAFETY: from `alloc` above.
        unsafe { arena.free(b, 65, 64) };
        assert_eq!((arena.used(), arena.live()), (128, 1));
        assert_eq!(arena.alloc(128, 64).unwrap(), b);
        // SAFETY: from `alloc` above.
        unsafe { arena.free(a, 128, 64) };
        assert_eq!((arena.used(), arena.live()), (256, 1));
        // SAFETY: from `alloc` above.
        unsafe { arena.free(b, 128, 64) };
        assert_eq!((arena.used(), arena.live(), arena.peak()), (0, 0, 256));
        assert_eq!(arena.memory(), (256, 256));
    }

    /// Blocks never overlap, whoever takes them.
    #[test]
    fn threads_share_it() {
        let arena = Arena::new(leak(64 * 1024, 3));
        std::thread::scope(|s| {
            for t in 0..4_u8 {
                let arena = &arena;
                s.spawn(move || {
                    for round in 0..500 {
                        let mut blocks = Vec::new();
                        for size in [10, 100, 1000] {
                            let Ok(p) = arena.alloc(size, 64) else { continue };
                            // SAFETY: the block is this thread's, and arena memory is initialised.
                            let block =
                                unsafe { core::slice::from_raw_parts_mut(p.as_ptr(), size) };
                            block.fill(t);
                            blocks.push((p, block));
                        }
                        if round % 2 == 0 {
                            blocks.reverse();
                        }
                        for (p, block) in blocks {
                            assert!(block.iter().all(|b| *b == t));
                            let len = block.len();
                            // SAFETY: from `alloc` above; the slice is not used again.
                            unsafe { arena.free(p, len, 64) };
                        }
                    }
                });
            }
        });
        assert_eq!((arena.used(), arena.live()), (0, 0));
        assert!(arena.peak() > 0);
    }
}
