//! A team without work. Alone in its process, so that every worker thread is one of this team's.
#![cfg(all(target_os = "linux", not(loom)))]

use dinrail_core::hal::host::Team;
use dinrail_host::THREADS;
use std::time::Duration;

/// Name and processor time (in clock ticks) of each worker thread of this process.
fn workers() -> Vec<(String, u64)> {
    let mut all = Vec::new();
    for task in std::fs::read_dir("/proc/self/task").unwrap().flatten() {
        let Ok(stat) = std::fs::read_to_string(task.path().join("stat")) else { continue };
        let (head, tail) = stat.rsplit_once(')').unwrap();
        let words: Vec<_> = tail.split_whitespace().collect();
        let ticks = words[11].parse::<u64>().unwrap() + words[12].parse::<u64>().unwrap();
        all.push((head.split_once('(').unwrap().1.to_owned(), ticks));
    }
    all.retain(|(name, _)| name.starts_with("dinrail-"));
    all
}

#[test]
fn sleeps_and_is_gone_when_dropped() {
    let team = Team::open(&THREADS, 8).unwrap();
    for _ in 0..100 {
        team.run(&|w| w.wait());
    }
    std::thread::sleep(Duration::from_millis(50));
    let before = workers();
    assert_eq!(before.len(), 7);
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(before, workers(), "an idle worker used processor time");
    drop(team);
    assert_eq!(workers(), []);
}
