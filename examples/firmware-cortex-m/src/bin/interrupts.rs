//! Look-ups in the table of backends from an interrupt while the main program registers: neither waits for the other.
//!
//! First the interrupt is made to come in the very middle of each registration: a backend is asked for its name there, and
//! that function raises it. Then it comes by itself, at every place that there is.
#![no_std]
#![no_main]

use core::sync::atomic::{AtomicU32, Ordering};
use cortex_m::asm;
use cortex_m::peripheral::SCB;
use cortex_m_rt::{entry, exception};
use dinrail::Error;
use dinrail::hal::{Backend, Device};
use dinrail::registry::Registry;
use firmware_cortex_m::print::Line;
use firmware_cortex_m::{exit, timer};

/// A backend whose name is asked for while it is being registered.
struct Named(&'static str);

/// Whether the next question for a name raises the interrupt.
static ARMED: AtomicU32 = AtomicU32::new(0);

impl Backend for Named {
    fn name(&self) -> &str {
        if ARMED.load(Ordering::Relaxed) != 0 {
            ARMED.store(0, Ordering::Relaxed);
            SCB::set_pendst();
            // It comes here, before the next instruction.
            asm::dsb();
            asm::isb();
        }
        self.0
    }
    fn device_count(&self) -> usize {
        0
    }
    fn device(&'static self, _: usize) -> Option<&'static dyn Device> {
        None
    }
}

static ALL: [Named; 4] = [Named("a"), Named("b"), Named("c"), Named("d")];
static LATE: Named = Named("late");
static FIFTH: Named = Named("fifth");
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
    if let Err(Error::Busy) = TABLE.register(&FIFTH) {
        count(&BUSY);
    }
}

#[entry]
fn main() -> ! {
    let mut good = true;
    // In the middle of each registration.
    for backend in &ALL {
        ARMED.store(1, Ordering::Relaxed);
        good &= TABLE.register(backend).is_ok();
    }
    let busy = BUSY.load(Ordering::Relaxed);
    Line::new("busy").number(busy as usize).end();
    good &= busy == 4 && FOUND.load(Ordering::Relaxed) == 4;

    // Everywhere else: so often that the main program hardly gets on.
    let Some(mut timer) = timer::start(150) else { exit(false) };
    let mut full = TABLE.register(&LATE);
    for round in 0..3000 {
        // The time from one interrupt to the next changes, so that it comes to all places.
        timer.set_reload(150 + round % 50);
        for backend in &ALL {
            // Again and again: the same backend gets its first handle.
            good &= TABLE.register(backend).is_ok();
        }
        full = TABLE.register(&LATE);
    }
    if let Err(Error::Full { need, have, .. }) = full {
        Line::new("full").number(need).number(have).end();
    }
    good &= matches!(full, Err(Error::Full { .. }));
    let ticks = FOUND.load(Ordering::Relaxed);
    Line::new("found").number(ticks as usize).end();
    Line::new("missed").number(MISSED.load(Ordering::Relaxed) as usize).end();
    Line::new("busy").number(BUSY.load(Ordering::Relaxed) as usize).end();
    let backends = TABLE.backend_count();
    Line::new("backends").number(backends).end();
    exit(good && backends == 5 && ticks > 4 && MISSED.load(Ordering::Relaxed) == 0)
}
