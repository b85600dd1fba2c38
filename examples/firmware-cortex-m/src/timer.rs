//! The core's timer as a clock that ticks.

use core::sync::atomic::{AtomicU32, Ordering};
use cortex_m::peripheral::{Peripherals, SCB, SYST, syst::SystClkSource};

static TICKS: AtomicU32 = AtomicU32::new(0);
static PERIOD: AtomicU32 = AtomicU32::new(0);

/// Starts the timer: its interrupt comes every `period` clocks, and its handler calls [`tick`]. `None` the second time.
pub fn start(period: u32) -> Option<SYST> {
    let p = Peripherals::take()?;
    PERIOD.store(period, Ordering::Relaxed);
    let mut timer = p.SYST;
    timer.set_clock_source(SystClkSource::Core);
    timer.set_reload(period - 1);
    timer.clear_current();
    timer.enable_counter();
    timer.enable_interrupt();
    Some(timer)
}

/// Counts a tick, and returns how many there were. Only for the timer's handler.
pub fn tick() -> u32 {
    let ticks = TICKS.load(Ordering::Relaxed) + 1;
    TICKS.store(ticks, Ordering::Relaxed);
    ticks
}

/// Ticks since the start.
pub fn ticks() -> u32 {
    TICKS.load(Ordering::Relaxed)
}

/// Clocks since the start. Only for the main loop.
pub fn now() -> u32 {
    let period = PERIOD.load(Ordering::Relaxed);
    loop {
        let before = ticks();
        let left = SYST::get_current();
        // The timer is at 0, and its interrupt due, one clock before it begins anew.
        let within = if left == 0 { 0 } else { period - left };
        let due = SCB::is_pendst_pending();
        if ticks() == before && !due {
            return before.wrapping_mul(period).wrapping_add(within);
        }
    }
}
