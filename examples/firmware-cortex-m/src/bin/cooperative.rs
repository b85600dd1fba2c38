//! A main loop that does something else between the steps of a token: a timer's interrupt blinks (prints a dot), and
//! the longest step says for how long the loop was away.
#![no_std]
#![no_main]

use core::sync::atomic::{AtomicU32, Ordering};
use cortex_m::peripheral::{Peripherals, SYST, syst::SystClkSource};
use cortex_m_rt::{entry, exception};
use firmware_cortex_m::exit;
use firmware_cortex_m::print::{Line, write};
use firmware_cortex_m::story::{STEPS, Teller};

/// Clocks between two ticks of the timer.
const PERIOD: u32 = 2_500;
static TICKS: AtomicU32 = AtomicU32::new(0);

#[exception]
fn SysTick() {
    let ticks = TICKS.load(Ordering::Relaxed) + 1;
    TICKS.store(ticks, Ordering::Relaxed);
    if ticks.is_multiple_of(8) {
        write(b".");
    }
}

/// Clocks since the start. Only for the main loop.
fn now() -> u32 {
    static LAST: AtomicU32 = AtomicU32::new(0);
    let within = PERIOD - SYST::get_current();
    let mut clocks = TICKS.load(Ordering::Relaxed).wrapping_mul(PERIOD).wrapping_add(within);
    let last = LAST.load(Ordering::Relaxed);
    // The timer began anew a moment before its interrupt counts that, or a moment after: time doesn't run back.
    if clocks.wrapping_sub(last) > u32::MAX / 2 {
        clocks = last;
    }
    LAST.store(clocks, Ordering::Relaxed);
    clocks
}

fn run() -> dinrail::Result<()> {
    let mut teller = Teller::new()?;
    // The beginning of every story.
    let (mut token, mut longest, mut loops) = (1, 0, 0);
    for _ in 0..8 {
        teller.begin(token)?;
        let mut next = 0;
        while next < STEPS {
            let before = now();
            next = teller.step(next)?;
            longest = longest.max(now().wrapping_sub(before));
            // Here a real firmware looks after its buttons, its watchdog, its radio.
            loops += 1;
        }
        token = teller.finish()?;
    }
    write(b"\n");
    Line::new("token").number(token as usize).end();
    Line::new("loops").number(loops).end();
    Line::new("ticks").number(TICKS.load(Ordering::Relaxed) as usize).end();
    Line::new("longest-step-clocks").number(longest as usize).end();
    Ok(())
}

#[entry]
fn main() -> ! {
    if let Some(p) = Peripherals::take() {
        let mut timer = p.SYST;
        timer.set_clock_source(SystClkSource::Core);
        timer.set_reload(PERIOD - 1);
        timer.clear_current();
        timer.enable_counter();
        timer.enable_interrupt();
    }
    exit(run().is_ok())
}
