//! QEMU's machine `virt`: start-up, serial port, end.

core::arch::global_asm!(
    r#"
    .section .text.boot, "ax"
    .global _start
_start:
    csrr t0, mhartid
    bnez t0, 3f
    li t0, 3 << 13              // mstatus.FS: floating point, where there is some
    csrs mstatus, t0
    la sp, __stack
    la t0, __bss
    la t1, __ebss
1:  bgeu t0, t1, 2f
    sw zero, 0(t0)
    addi t0, t0, 4
    j 1b
2:  call start
3:  wfi
    j 3b
"#
);

/// The UART's data register.
const SERIAL: *mut u8 = 0x1000_0000 as *mut u8;
/// A write of these numbers ends the emulator.
const TEST: *mut u32 = 0x10_0000 as *mut u32;

/// Sends bytes to the serial port.
pub fn write(bytes: &[u8]) {
    for b in bytes {
        // SAFETY: the machine has its serial port there.
        unsafe { SERIAL.write_volatile(*b) };
    }
}

/// Ends the emulator.
pub fn exit(good: bool) -> ! {
    // SAFETY: the machine has its test device there.
    unsafe { TEST.write_volatile(if good { 0x5555 } else { 0x1_3333 }) };
    loop {
        core::hint::spin_loop();
    }
}
