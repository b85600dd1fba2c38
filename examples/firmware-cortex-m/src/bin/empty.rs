//! Nothing: what the vector table, start and end cost.
#![no_std]
#![no_main]

use cortex_m_rt::entry;

#[entry]
fn main() -> ! {
    firmware_cortex_m::exit(true)
}
