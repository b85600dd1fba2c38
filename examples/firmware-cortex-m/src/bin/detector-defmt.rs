//! The detector's first windows over defmt.
#![no_std]
#![no_main]

use cortex_m_rt::entry;
use defmt_semihosting as _;
use firmware_cortex_m::detector::{Detector, score};

fn run() -> dinrail::Result<()> {
    let mut detector = Detector::new()?;
    for window in 0..4 {
        defmt::info!(
            "window {=usize}: mean squared error {=f32}",
            window,
            score(&mut detector, window)?
        );
    }
    Ok(())
}

#[entry]
fn main() -> ! {
    let result = run();
    if let Err(e) = &result {
        defmt::error!("{}", e);
    }
    firmware_cortex_m::exit(result.is_ok())
}
