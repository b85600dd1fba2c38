//! What the programs in `bin` share: output over semihosting without `core::fmt`, and the height of the stack.
#![no_std]

pub mod detector;
pub mod print;
pub mod stack;
pub mod story;
pub mod timer;

use cortex_m_semihosting::debug;
use dinrail::cpu::Level;

/// What the kernels may use. The scalar level uses what the target has without being asked: FPU, DSP extension.
pub const LEVEL: Level = if cfg!(feature = "helium") { Level::Helium } else { Level::Scalar };

/// A firmware has nobody to tell: what panics here is a bug in this package, and a debugger finds it in this loop.
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    exit(false)
}

/// Ends the emulator.
pub fn exit(good: bool) -> ! {
    debug::exit(if good { debug::EXIT_SUCCESS } else { debug::EXIT_FAILURE });
    loop {
        cortex_m::asm::wfi();
    }
}

unsafe extern "C" {
    fn DefaultHandler();
}

/// The board's interrupts: one, which nothing raises. A firmware takes this table from the crate of its chip; the
/// 240 entries that `cortex-m-rt` puts here otherwise are a kilobyte of flash.
#[unsafe(link_section = ".vector_table.interrupts")]
#[unsafe(no_mangle)]
pub static __INTERRUPTS: [unsafe extern "C" fn(); 1] = [DefaultHandler];

/// A place that an instruction counter looks for: it prints how many instructions were executed when it comes by.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn dinrail_mark() {
    cortex_m::asm::nop();
}
