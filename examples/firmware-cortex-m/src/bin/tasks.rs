//! Two asynchronous tasks on `embassy-executor`: one awaits tokens, the other the ticks of a timer. Neither waits for
//! longer than the other's longest step.
#![no_std]
#![no_main]

use core::cell::Cell;
use cortex_m_rt::{entry, exception};
use embassy_executor::{Executor, Spawner};
use embassy_sync::blocking_mutex::raw::CriticalSectionRawMutex;
use embassy_sync::signal::Signal;
use firmware_cortex_m::print::{Line, write};
use firmware_cortex_m::story::{Story, Teller};
use firmware_cortex_m::{exit, timer};
use static_cell::StaticCell;

/// From the timer to the task that blinks: the ticks so far.
static TICK: Signal<CriticalSectionRawMutex, u32> = Signal::new();

#[exception]
fn SysTick() {
    TICK.signal(timer::tick());
}

async fn told() -> dinrail::Result<()> {
    // The prompt is read at one go.
    let mut story = Story::new(Teller::new()?, b"Once upon a time")?;
    Line::new("ticks-of-prompt").number(timer::ticks() as usize).end();
    for _ in 1..story.given() + 12 {
        write(story.piece());
        story.advance_async().await?;
    }
    write(story.piece());
    write(b"\n");
    Ok(())
}

/// What the task that blinks has seen.
#[derive(Default)]
struct Seen {
    blinks: Cell<u32>,
    /// The most ticks between two times that it was let run.
    longest: Cell<u32>,
}

#[embassy_executor::task]
async fn tell(seen: &'static Seen) {
    let good = told().await.is_ok();
    Line::new("ticks").number(timer::ticks() as usize).end();
    Line::new("blinks").number(seen.blinks.get() as usize).end();
    Line::new("longest-wait-ticks").number(seen.longest.get() as usize).end();
    exit(good)
}

#[embassy_executor::task]
async fn blink(seen: &'static Seen) {
    let mut last = TICK.wait().await;
    loop {
        let now = TICK.wait().await;
        seen.longest.set(seen.longest.get().max(now - last));
        seen.blinks.set(seen.blinks.get() + 1);
        last = now;
    }
}

fn begin(spawner: Spawner, seen: &'static Seen) {
    match (tell(seen), blink(seen)) {
        (Ok(tell), Ok(blink)) => {
            spawner.spawn(tell);
            spawner.spawn(blink);
        }
        _ => exit(false),
    }
}

#[entry]
fn main() -> ! {
    static EXECUTOR: StaticCell<Executor> = StaticCell::new();
    static SEEN: StaticCell<Seen> = StaticCell::new();
    let seen = SEEN.init(Seen::default());
    if timer::start(2_500).is_none() {
        exit(false);
    }
    EXECUTOR.init(Executor::new()).run(|spawner| begin(spawner, seen))
}
