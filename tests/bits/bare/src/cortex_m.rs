//! A Cortex-M board in QEMU: output and the end over semihosting.

use cortex_m_semihosting::{debug, syscall};

/// The handle of the host's standard output, once it is open.
static mut HANDLE: usize = 0;

/// Sends bytes to the host.
pub fn write(bytes: &[u8]) {
    // SAFETY: there is one core, and no interrupt comes here.
    let mut handle = unsafe { HANDLE };
    if handle == 0 {
        let block = [c":tt".as_ptr() as usize, 4, 3];
        // SAFETY: the block and the name are alive during the call.
        handle = unsafe { syscall(1, &block) };
        // SAFETY: as above.
        unsafe { HANDLE = handle };
    }
    let block = [handle, bytes.as_ptr() as usize, bytes.len()];
    // SAFETY: the block and the bytes are alive during the call.
    unsafe { syscall(5, &block) };
}

/// Ends the emulator.
pub fn exit(good: bool) -> ! {
    debug::exit(if good { debug::EXIT_SUCCESS } else { debug::EXIT_FAILURE });
    loop {
        cortex_m::asm::nop();
    }
}

#[cortex_m_rt::entry]
fn entry() -> ! {
    crate::main()
}
