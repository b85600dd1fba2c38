//! Look-ups in the table of backends from an interrupt while the main program registers: neither waits for the other.
#![no_std]
#![no_main]

use core::sync::atomic::{AtomicU32, Ordering};
use cortex_m::peripheral::{Peripherals, syst::SystClkSource};
use cortex_m_rt::{entry, exception};
use dinrail::Error;
use dinrail::hal::{Backend, Device};
use dinrail::registry::Registry;
use firmware_cortex_m::exit;
use firmware_cortex_m::print::Line;

struct Named(&'static str);

impl Backend for Named {
    fn name(&self) -> &str {
        self.0
    }
    fn device_count(&self) -> usize {
        0
    }
    fn device(&'static self, _: usize) -> Option<&'static dyn Device> {
        None
    }
}

static ALL: [Named; 5] = [Named("a"), Named("b"), Named("c"), Named("d"), Named("e")];
static LATE: Named = Named("late");
static TABLE: Registry<4> = Registry::new(&[&Named("built-in")]);
static FOUND: AtomicU32 = AtomicU32::new(0);
static MISSED: AtomicU32 = AtomicU32::new(0);
static BUSY: AtomicU32 = AtomicU32::new(0);

fn count(n: &AtomicU32) {
    n.store(n.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
}

#[exception]
fn SysTick() {
    match TABLE.backend_by_name("BUILT-IN") {
        Some(_) => count(&FOUND),
        None => count(&MISSED),
    }
    // Registering may come too early; it must say so, for waiting would last for ever.
    if let Err(Error::Busy) = TABLE.register(&ALL[0]) {
        count(&BUSY);
    }
}

#[entry]
fn main() -> ! {
    if let Some(p) = Peripherals::take() {
        let mut timer = p.SYST;
        timer.set_clock_source(SystClkSource::Core);
        // So often that the main program hardly gets on: every place of `register` is interrupted.
        timer.set_reload(31);
        timer.clear_current();
        timer.enable_counter();
        timer.enable_interrupt();
    }
    let mut good = true;
    for _ in 0..500 {
        for backend in ALL.iter().take(4) {
            // Again and again: the same backend gets its first handle.
            good &= TABLE.register(backend).is_ok();
        }
    }
    let full = TABLE.register(&LATE);
    if let Err(Error::Full { need, have, .. }) = full {
        Line::new("full").number(need).number(have).end();
    }
    let ticks = FOUND.load(Ordering::Relaxed);
    Line::new("found").number(ticks as usize).end();
    Line::new("missed").number(MISSED.load(Ordering::Relaxed) as usize).end();
    Line::new("busy").number(BUSY.load(Ordering::Relaxed) as usize).end();
    let count = TABLE.backend_count();
    Line::new("backends").number(count).end();
    good &= count == 5 && ticks > 0 && MISSED.load(Ordering::Relaxed) == 0;
    exit(good && matches!(full, Err(Error::Full { .. })))
}
