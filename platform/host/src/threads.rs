//! Worker threads for backends that compute on the host.

use crate::cores;
use crate::park::Patience;
use crate::pool::Team;
use dinrail_core::hal::host;
use dinrail_core::hal::{Key, Raw};
use dinrail_core::{Error, Result};

/// The largest team.
pub const MAX_THREADS: usize = 512;

/// The system's threads.
#[derive(Debug)]
pub struct Threads(());

/// The system's threads.
pub static THREADS: Threads = Threads(());

/// Microseconds that a worker looks for work, or for its fellow workers, before it gives its core away. Longer than a
/// small node takes, shorter than anybody notices on an idle machine.
const SPIN_US: u32 = 50;
/// How often a worker gives its core to others before it sleeps. Handing a core on is cheaper than being woken, while
/// those who are waited for wait for a core themselves.
const YIELDS: u32 = 16;

impl Threads {
    /// With more workers than cores, looking only takes the core from those who are waited for.
    fn patience(count: usize) -> Patience {
        let allowed = std::thread::available_parallelism().map_or(1, |n| n.get());
        Patience { spin_us: if count <= allowed { SPIN_US } else { 0 }, yields: YIELDS }
    }
}

fn team(key: Key<'_>) -> *const Team {
    key.pointer()
}

// SAFETY: `run` hands out each index once, and waits for all workers.
unsafe impl host::Threads for Threads {
    fn default_count(&self) -> usize {
        cores::usable().min(MAX_THREADS)
    }

    fn open(&self, count: usize) -> Result<Raw> {
        if count == 0 || count > MAX_THREADS {
            let value = i64::try_from(count).unwrap_or(i64::MAX);
            return Err(Error::Invalid { what: "thread count", value });
        }
        match Team::open(count, Self::patience(count)) {
            Ok(team) => Ok(Raw::pointer(Box::into_raw(Box::new(team)))),
            Err(e) => Err(Error::Device {
                call: "thread::spawn",
                code: e.raw_os_error().map_or(-1, i64::from),
            }),
        }
    }

    fn close(&self, key: Key<'_>) {
        // SAFETY: a key is one that `open` made and that was not closed yet, and its handle is being dropped.
        drop(unsafe { Box::from_raw(team(key).cast_mut()) });
    }

    fn count(&self, key: Key<'_>) -> usize {
        // SAFETY: the key's team lives as long as the handle that it came from.
        unsafe { &*team(key) }.count()
    }

    fn run(&self, key: Key<'_>, job: &(dyn Fn(&host::Worker<'_>) + Sync)) {
        // SAFETY: as in `count`.
        unsafe { &*team(key) }.run(job);
    }
}
