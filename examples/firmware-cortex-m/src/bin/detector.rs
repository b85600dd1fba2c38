//! The detector on a recording. Prints the error of each window as the bits of a float.
#![no_std]
#![no_main]

use cortex_m_rt::entry;
use firmware_cortex_m::detector::{Detector, WINDOWS, score};
use firmware_cortex_m::print::Line;
use firmware_cortex_m::{dinrail_mark, exit, stack};

fn run() -> dinrail::Result<()> {
    dinrail_mark();
    let mut detector = Detector::new()?;
    dinrail_mark();
    for window in 0..WINDOWS {
        Line::new("mse").bits(score(&mut detector, window)?).end();
    }
    Ok(())
}

#[entry]
fn main() -> ! {
    stack::paint();
    let good = run().is_ok();
    Line::new("stack").number(stack::used()).end();
    exit(good)
}
