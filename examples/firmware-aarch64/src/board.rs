//! QEMU's machine `virt`: start-up, serial port, end.

core::arch::global_asm!(
    r#"
    .section .text.boot, "ax"
    .global _start
_start:
    mrs x0, CPACR_EL1
    orr x0, x0, #(3 << 20)      // floating point and NEON: no trap
    msr CPACR_EL1, x0
    isb
    adrp x0, __stack
    add x0, x0, :lo12:__stack
    mov sp, x0
    adrp x0, __bss
    add x0, x0, :lo12:__bss
    adrp x1, __ebss
    add x1, x1, :lo12:__ebss
1:  cmp x0, x1
    b.hs 2f
    stp xzr, xzr, [x0], #16
    b 1b
2:  bl start
"#
);

/// The PL011's data register.
const SERIAL: *mut u32 = 0x0900_0000 as *mut u32;

/// Sends bytes to the serial port.
pub fn write(bytes: &[u8]) {
    for b in bytes {
        // SAFETY: the machine has its serial port there.
        unsafe { SERIAL.write_volatile(u32::from(*b)) };
    }
}

/// Ends the emulator.
pub fn exit(good: bool) -> ! {
    let block = [0x20026u64, u64::from(!good)];
    // SAFETY: the semihosting call that ends the program; it doesn't return.
    unsafe {
        core::arch::asm!("hlt #0xf000", in("x0") 0x18, in("x1") block.as_ptr(), options(noreturn))
    }
}
