//! A main loop that does something else between the steps of a token: a timer's interrupt blinks (prints a dot), and
//! the longest step says for how long the loop was away.
#![no_std]
#![no_main]

use cortex_m_rt::{entry, exception};
use firmware_cortex_m::print::{Line, write};
use firmware_cortex_m::story::Teller;
use firmware_cortex_m::{exit, timer};

#[exception]
fn SysTick() {
    if timer::tick().is_multiple_of(8) {
        write(b".");
    }
}

fn run() -> dinrail::Result<()> {
    let mut teller = Teller::new()?;
    // The beginning of every story.
    let (mut token, mut longest, mut loops) = (1, 0, 0);
    for _ in 0..8 {
        teller.begin(token)?;
        let mut next = 0;
        while next < Teller::STEPS {
            let before = timer::now();
            next = teller.step(next)?;
            longest = longest.max(timer::now().wrapping_sub(before));
            // Here a real firmware looks after its buttons, its watchdog, its radio.
            loops += 1;
        }
        token = teller.finish()?;
    }
    write(b"\n");
    Line::new("token").number(token as usize).end();
    Line::new("loops").number(loops).end();
    Line::new("ticks").number(timer::ticks() as usize).end();
    Line::new("longest-step-clocks").number(longest as usize).end();
    Ok(())
}

#[entry]
fn main() -> ! {
    if timer::start(2_500).is_none() {
        exit(false);
    }
    exit(run().is_ok())
}
