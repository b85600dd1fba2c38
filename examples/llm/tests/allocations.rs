//! Nothing is allocated while tokens are evaluated, on one thread and on two.
//!
//! One test alone in its program, so that nobody else allocates meanwhile. The allocator counts those of every thread, the
//! workers' too.

mod common;

use common::{devices, stories, with_session};
use dinrail_llm::sampler::{Config, Sampler};
use dinrail_llm::session::Options;
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

struct Counting;

static COUNT: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call goes to the system's allocator as it is.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller keeps `alloc`'s contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps `dealloc`'s contract.
        unsafe { System.dealloc(ptr, layout) }
    }

    unsafe fn realloc(&self, ptr: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        COUNT.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller keeps `realloc`'s contract.
        unsafe { System.realloc(ptr, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const PROMPT: [u32; 18] =
    [1, 403, 407, 261, 378, 432, 383, 286, 261, 376, 298, 315, 421, 395, 317, 426, 338, 401];

#[test]
fn evaluation_allocates_nothing() {
    let before = COUNT.load(Ordering::Relaxed);
    drop(std::hint::black_box(Box::new(1)));
    assert!(COUNT.load(Ordering::Relaxed) > before, "the counter counts");
    for name in ["stories260K-f32", "stories260K-Q8_0", "stories260K-Q4_0"] {
        let file = stories(name);
        for device in devices() {
            let threads = if device.name() == "Reference" { 1..=1 } else { 1..=2 };
            for threads in threads {
                let options = Options { batch: 8, ..Options::context(64) };
                with_session(device, &file, options, threads, |run| {
                    let mut logits = vec![0.0; run.vocab()];
                    let mut sampler = Sampler::new(Config { seed: 1, ..Config::CHAT }).unwrap();
                    let mut scratch = vec![0; sampler.config().scratch_len(logits.len())];
                    // A worker's thread takes its first breath when the system likes.
                    run.eval(&PROMPT[..2], &mut logits).unwrap();
                    std::thread::sleep(Duration::from_millis(100));
                    run.reset();
                    let before = COUNT.load(Ordering::Relaxed);
                    // Full batches, a shorter one, single tokens.
                    run.eval(&PROMPT, &mut logits).unwrap();
                    for _ in 0..20 {
                        let id = sampler.sample(&mut logits, &[], &mut scratch).unwrap();
                        run.eval(&[id], &mut logits).unwrap();
                    }
                    run.reset();
                    run.eval(&PROMPT[..5], &mut logits).unwrap();
                    let made = COUNT.load(Ordering::Relaxed) - before;
                    assert_eq!(made, 0, "{name} on {}, {threads} threads", device.name());
                });
            }
        }
    }
}
