//! A team of worker threads.
//!
//! Jobs have numbers. Who starts one writes it down, sets how many workers are to come back, and raises the number;
//! each worker runs it once and reports back. The caller is worker 0. Between jobs the workers look for the next number
//! for some microseconds and then sleep.

use crate::barrier::{Barrier, Broken};
use crate::park::{Bed, Patience};
use crate::sync::{AtomicBool, AtomicU32, Mutex, Ordering, UnsafeCell, lock};
use dinrail_core::hal::host::Worker;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Mutex as Turn};
use std::thread::JoinHandle;

type Job<'a> = dyn Fn(&Worker<'_>) + Sync + 'a;

/// What the workers of a team share.
pub struct Shared {
    count: usize,
    patience: Patience,
    barrier: Barrier,
    job: UnsafeCell<Option<*const Job<'static>>>,
    number: AtomicU32,
    called: Bed,
    running: AtomicU32,
    finished: Bed,
    closing: AtomicBool,
    panic: Mutex<Option<Box<dyn Any + Send>>>,
}

// SAFETY: the job's pointer is written by the one thread that runs a job, before it raises the number, and read by
// workers that have seen the new number; it is written again only after all have reported back. What it points to is
// `Sync`.
unsafe impl Sync for Shared {}
// SAFETY: as above; the pointer is only followed while the caller of `run` waits.
unsafe impl Send for Shared {}

impl Shared {
    /// For `count` workers, which may look for `spin_us` microseconds before they sleep.
    pub fn new(count: usize, spin_us: u32, yields: u32) -> Self {
        let patience = Patience { spin_us, yields };
        Self {
            count,
            patience,
            barrier: Barrier::new(count, patience),
            job: UnsafeCell::new(None),
            number: AtomicU32::new(0),
            called: Bed::new(),
            running: AtomicU32::new(0),
            finished: Bed::new(),
            closing: AtomicBool::new(false),
            panic: Mutex::new(None),
        }
    }

    /// The life of worker `index`, until [`close`](Self::close).
    pub fn work(&self, index: usize) {
        let mut seen = 0;
        loop {
            self.called.wait(self.patience, || self.number.load(Ordering::Acquire) != seen);
            // The caller waits for this worker, so the number has not moved by more than one.
            seen = seen.wrapping_add(1);
            if self.closing.load(Ordering::Acquire) {
                return;
            }
            self.take_part(index);
            if self.running.fetch_sub(1, Ordering::AcqRel) == 1 {
                self.finished.wake();
            }
        }
    }

    /// Runs the job as worker `index`; a panic is kept for the caller, and frees those who wait for this worker.
    fn take_part(&self, index: usize) {
        let job = self.job.with(|p| {
            // SAFETY: nobody writes the cell while a job runs (see `Sync` above).
            unsafe { *p }
        });
        let Some(job) = job else { return };
        // SAFETY: the caller of `run` keeps the job alive until every worker has reported back.
        let job = unsafe { &*job };
        self.guarded(index, job);
    }

    fn guarded(&self, index: usize, job: &Job<'_>) {
        let worker = Worker::new(index, self.count, &self.barrier);
        if let Err(payload) = catch_unwind(AssertUnwindSafe(|| job(&worker))) {
            if !payload.is::<Broken>() {
                lock(&self.panic).get_or_insert(payload);
            }
            self.barrier.break_up();
        }
    }

    /// Runs `job` on all workers, the caller being worker 0. Panics with the first worker's panic, after all are done.
    /// One caller at a time.
    pub fn run(&self, job: &Job<'_>) {
        self.job.with_mut(|p| {
            // SAFETY: only the life in the type changes. The pointer is forgotten again before this function ends, and
            // it neither returns nor unwinds before that.
            let job = unsafe { core::mem::transmute::<*const Job<'_>, *const Job<'static>>(job) };
            // SAFETY: all workers wait for the next number, and there is one caller at a time.
            unsafe { *p = Some(job) };
        });
        self.running.store(self.count as u32 - 1, Ordering::Relaxed);
        self.number.fetch_add(1, Ordering::Release);
        self.called.wake();
        self.guarded(0, job);
        self.finished.wait(self.patience, || self.running.load(Ordering::Acquire) == 0);
        self.job.with_mut(|p| {
            // SAFETY: all workers have reported back.
            unsafe { *p = None };
        });
        if self.barrier.mend()
            && let Some(payload) = lock(&self.panic).take()
        {
            resume_unwind(payload);
        }
    }

    /// Ends the life of all workers but the caller. Nothing is running.
    pub fn close(&self) {
        self.closing.store(true, Ordering::Release);
        self.number.fetch_add(1, Ordering::Release);
        self.called.wake();
    }
}

/// A team: its threads, and whose turn it is to use them.
pub(crate) struct Team {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
    turn: Turn<()>,
}

impl Team {
    /// Starts `count - 1` threads.
    ///
    /// # Errors
    /// What the system says when it gives no thread; those already started have ended.
    pub(crate) fn open(count: usize, patience: Patience) -> std::io::Result<Self> {
        let shared = Arc::new(Shared::new(count, patience.spin_us, patience.yields));
        let mut team = Self { shared, threads: Vec::new(), turn: Turn::new(()) };
        for index in 1..count {
            let shared = Arc::clone(&team.shared);
            // An early return drops the team, which ends the threads that there are.
            team.threads.push(
                std::thread::Builder::new()
                    .name(format!("dinrail-{index}"))
                    .spawn(move || shared.work(index))?,
            );
        }
        Ok(team)
    }

    pub(crate) fn count(&self) -> usize {
        self.shared.count
    }

    pub(crate) fn run(&self, job: &Job<'_>) {
        let turn = self.turn.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        self.shared.run(job);
        drop(turn);
    }
}

impl Drop for Team {
    fn drop(&mut self) {
        self.shared.close();
        for thread in self.threads.drain(..) {
            // A worker catches what its jobs throw, so there is nothing to hear here.
            let _ = thread.join();
        }
    }
}
