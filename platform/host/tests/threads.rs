//! Teams of worker threads.
#![cfg(not(loom))]

use dinrail_core::Error;
use dinrail_core::hal::host::{Team, Threads as _};
use dinrail_host::{MAX_THREADS, THREADS};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

fn team(count: usize) -> Team {
    Team::open(&THREADS, count).unwrap()
}

#[test]
fn counts_that_can_not_be() {
    for count in [0, MAX_THREADS + 1, usize::MAX] {
        match Team::open(&THREADS, count) {
            Err(Error::Invalid { what: "thread count", value }) => {
                assert_eq!(value, i64::try_from(count).unwrap_or(i64::MAX));
            }
            other => panic!("{count}: {other:?}"),
        }
    }
    assert_eq!(Team::open(&THREADS, 0).unwrap_err().to_string(), "thread count can't be 0");
    assert!((1..=MAX_THREADS).contains(&THREADS.default_count()));
}

/// Each worker runs the job once, all meet at each barrier, and what was written before one is visible after it.
#[test]
fn every_worker_once_and_barriers_hold() {
    for count in [1, 2, 3, 8, 2, 1, 5] {
        let team = team(count);
        assert_eq!(team.count(), count);
        for round in 0..50_usize {
            let cells: Vec<AtomicUsize> =
                (0..count).map(|_| AtomicUsize::new(usize::MAX)).collect();
            let calls = AtomicUsize::new(0);
            team.run(&|worker| {
                calls.fetch_add(1, Ordering::Relaxed);
                assert_eq!(worker.count(), count);
                for phase in 0..20 {
                    cells[worker.index()].store(round * 100 + phase, Ordering::Relaxed);
                    worker.wait();
                    for cell in &cells {
                        assert_eq!(cell.load(Ordering::Relaxed), round * 100 + phase);
                    }
                    worker.wait();
                }
            });
            assert_eq!(calls.load(Ordering::Relaxed), count);
        }
    }
}

/// Sleeps between phases make workers go to bed and wake up again on every path.
#[test]
fn late_workers_are_waited_for() {
    let team = team(3);
    for late in 0..3 {
        let phases = AtomicUsize::new(0);
        team.run(&|worker| {
            for phase in 0..3 {
                if worker.index() == late {
                    std::thread::sleep(Duration::from_millis(3));
                    phases.store(phase + 1, Ordering::Relaxed);
                }
                worker.wait();
                assert_eq!(phases.load(Ordering::Relaxed), phase + 1);
                worker.wait();
            }
        });
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn a_panic_reaches_the_caller_and_the_team_lives_on() {
    let team = team(4);
    for guilty in 0..4 {
        let after = AtomicUsize::new(0);
        let result = catch_unwind(AssertUnwindSafe(|| {
            team.run(&|worker| {
                worker.wait();
                if worker.index() == guilty {
                    std::panic::resume_unwind(Box::new(format!("worker {guilty}")));
                }
                worker.wait();
                after.fetch_add(1, Ordering::Relaxed);
            });
        }));
        let payload = result.unwrap_err();
        assert_eq!(*payload.downcast::<String>().unwrap(), format!("worker {guilty}"));
        assert_eq!(after.load(Ordering::Relaxed), 0);
        // Whole again.
        let calls = AtomicUsize::new(0);
        team.run(&|worker| {
            worker.wait();
            calls.fetch_add(1, Ordering::Relaxed);
            worker.wait();
        });
        assert_eq!(calls.load(Ordering::Relaxed), 4);
    }
}

#[test]
fn many_teams_from_many_threads() {
    std::thread::scope(|s| {
        for t in 0..4 {
            s.spawn(move || {
                for i in 0..20 {
                    let count = 1 + (t + i) % 4;
                    let team = team(count);
                    let sum = AtomicUsize::new(0);
                    team.run(&|w| {
                        sum.fetch_add(w.share(100).len(), Ordering::Relaxed);
                    });
                    assert_eq!(sum.load(Ordering::Relaxed), 100);
                }
            });
        }
    });
}

/// A second caller of the same team waits for its turn.
#[test]
fn callers_take_turns() {
    struct Shared(Mutex<Team>);
    let shared = Shared(Mutex::new(team(2)));
    let inside = AtomicBool::new(false);
    let total = AtomicU32::new(0);
    std::thread::scope(|s| {
        for _ in 0..3 {
            s.spawn(|| {
                for _ in 0..20 {
                    shared.0.lock().unwrap().run(&|w| {
                        if w.index() == 0 {
                            assert!(!inside.swap(true, Ordering::AcqRel));
                            inside.store(false, Ordering::Release);
                        }
                        total.fetch_add(1, Ordering::Relaxed);
                    });
                }
            });
        }
    });
    assert_eq!(total.load(Ordering::Relaxed), 3 * 20 * 2);
}

/// More workers than cores: slower by a factor, not by the length of time slices. The limit is far above what is seen
/// and far below what spinning gives.
#[test]
fn more_workers_than_cores() {
    let cores = std::thread::available_parallelism().unwrap().get();
    let time = |count: usize| {
        let team = team(count);
        let start = Instant::now();
        for _ in 0..20 {
            team.run(&|w| {
                for _ in 0..50 {
                    w.wait();
                }
            });
        }
        start.elapsed()
    };
    let many = time(4 * cores);
    assert!(many < Duration::from_millis(1000 * 2), "1000 meetings took {many:?}");
}
