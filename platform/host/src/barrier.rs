//! Where the workers of a team meet between two nodes.

use crate::park::{Bed, Patience};
use crate::sync::{AtomicBool, AtomicU32, Ordering};
use dinrail_core::hal::host;

/// What a worker unwinds with when a fellow worker has panicked and will never come.
pub(crate) struct Broken;

/// A barrier that can be used again at once: each meeting has a number, and who waits looks for the number to change.
#[derive(Debug)]
pub struct Barrier {
    count: u32,
    patience: Patience,
    arrived: Line<AtomicU32>,
    meeting: Line<AtomicU32>,
    broken: AtomicBool,
    bed: Bed,
}

/// Keeps a word that every worker writes away from one that every worker looks at.
#[derive(Debug)]
#[repr(align(128))]
struct Line<T>(T);

impl Barrier {
    pub(crate) fn new(count: usize, patience: Patience) -> Self {
        Self {
            count: count as u32,
            patience,
            arrived: Line(AtomicU32::new(0)),
            meeting: Line(AtomicU32::new(0)),
            broken: AtomicBool::new(false),
            bed: Bed::new(),
        }
    }

    /// Lets everybody go who waits here or will, by unwinding.
    pub(crate) fn break_up(&self) {
        self.broken.store(true, Ordering::Release);
        self.bed.wake();
    }

    /// Makes a broken barrier whole; says whether it was broken. Nobody waits at it, and the next users are told after
    /// this.
    pub(crate) fn mend(&self) -> bool {
        let broken = self.broken.load(Ordering::Acquire);
        if broken {
            self.arrived.0.store(0, Ordering::Relaxed);
            self.broken.store(false, Ordering::Release);
        }
        broken
    }
}

// SAFETY: the last one to arrive lets the others go.
unsafe impl host::Barrier for Barrier {
    fn wait(&self) {
        let meeting = self.meeting.0.load(Ordering::Relaxed);
        if self.arrived.0.fetch_add(1, Ordering::AcqRel) + 1 == self.count {
            // Nobody arrives at the next meeting before this one's number has changed.
            self.arrived.0.store(0, Ordering::Relaxed);
            self.meeting.0.store(meeting.wrapping_add(1), Ordering::Release);
            self.bed.wake();
            return;
        }
        let met = || self.meeting.0.load(Ordering::Acquire) != meeting;
        self.bed.wait(self.patience, || met() || self.broken.load(Ordering::Acquire));
        if !met() {
            // Without the message of a panic: the worker that broke it has printed one.
            std::panic::resume_unwind(Box::new(Broken));
        }
    }
}
