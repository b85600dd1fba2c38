//! What a meeting of a team's workers costs, by size of team and length of the work between two meetings.
//!
//! ```text
//! cargo bench -p dinrail-host --bench barrier
//! ```

use dinrail_core::hal::host::Team;
use std::hint::black_box;
use std::time::Instant;

const RUNS: u32 = 20;
const MEETINGS: u32 = 100;

fn main() {
    // Also built and run by `cargo test --all-targets`, which is not the time for measurements.
    if !std::env::args().any(|a| a == "--bench") {
        return;
    }
    for work in [0, 2_000, 20_000, 200_000] {
        for count in [1, 2, 4, 8, 16] {
            let team = match Team::open(&dinrail_host::THREADS, count) {
                Ok(team) => team,
                Err(e) => return println!("{count} workers: {e}"),
            };
            let start = Instant::now();
            for _ in 0..RUNS {
                team.run(&|worker| {
                    for _ in 0..MEETINGS {
                        let mut x = 1_u64;
                        for i in worker.share(work) {
                            x = black_box(x.wrapping_mul(31).wrapping_add(i as u64));
                        }
                        black_box(x);
                        worker.wait();
                    }
                });
            }
            let each = start.elapsed().as_secs_f64() * 1e6 / f64::from(RUNS * MEETINGS);
            println!("{work:6} steps, {count:2} workers: {each:8.2} us from meeting to meeting");
        }
    }
}
