//! The pool's protocol under the model checker, which tries every order of its steps:
//!
//! ```text
//! RUSTFLAGS="--cfg loom" cargo test -p dinrail-host --release --test loom
//! ```
//!
//! `LOOM_MAX_PREEMPTIONS` sets how many unforced switches between threads it tries in one run.
#![cfg(loom)]

use dinrail_host::model::Shared;
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// A cell that one worker writes and the others read after a barrier; the checker finds a race on it.
struct Plain(UnsafeCell<usize>);

// SAFETY: the checker is there to see whether accesses are ordered.
unsafe impl Sync for Plain {}

impl Plain {
    fn set(&self, value: usize) {
        self.0.with_mut(|p| {
            // SAFETY: checked.
            unsafe { *p = value }
        });
    }

    fn value(&self) -> usize {
        self.0.with(|p| {
            // SAFETY: checked.
            unsafe { *p }
        })
    }
}

fn with_team(count: usize, body: impl Fn(&Shared)) {
    let shared = Arc::new(Shared::new(count, 0, 0));
    let threads: Vec<_> = (1..count)
        .map(|i| {
            let shared = Arc::clone(&shared);
            loom::thread::spawn(move || shared.work(i))
        })
        .collect();
    body(&shared);
    shared.close();
    for t in threads {
        t.join().unwrap();
    }
}

fn check(model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = builder.preemption_bound.or(Some(2));
    builder.check(model);
}

#[test]
fn jobs_start_and_end_in_order() {
    check(|| {
        with_team(2, |team| {
            let cells = [Plain(UnsafeCell::new(0)), Plain(UnsafeCell::new(0))];
            for job in 1..=2 {
                team.run(&|w| cells[w.index()].set(job));
                assert_eq!([cells[0].value(), cells[1].value()], [job; 2]);
            }
        });
    });
}

#[test]
fn barriers_order_what_is_written() {
    check(|| {
        with_team(2, |team| {
            let cell = Plain(UnsafeCell::new(0));
            team.run(&|w| {
                for phase in 0..2 {
                    if w.index() == phase {
                        cell.set(phase + 1);
                    }
                    w.wait();
                    assert_eq!(cell.value(), phase + 1);
                    w.wait();
                }
            });
        });
    });
}

#[test]
fn three_workers_meet() {
    check(|| {
        with_team(3, |team| {
            let cell = Plain(UnsafeCell::new(0));
            team.run(&|w| {
                if w.index() == 2 {
                    cell.set(1);
                }
                w.wait();
                assert_eq!(cell.value(), 1);
            });
        });
    });
}

#[test]
fn a_panic_frees_who_waits() {
    check(|| {
        with_team(2, |team| {
            let result = catch_unwind(AssertUnwindSafe(|| {
                team.run(&|w| {
                    if w.index() == 1 {
                        resume_unwind(Box::new(7_u8));
                    }
                    w.wait();
                });
            }));
            assert_eq!(*result.unwrap_err().downcast::<u8>().unwrap(), 7);
            team.run(&|w| w.wait());
        });
    });
}
