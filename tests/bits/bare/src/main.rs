//! Prints a line for each case of `dinrail-bits` at each level: its name, number and checksum. Ends well if all levels
//! that must give the portable level's bits do.
#![no_std]
#![no_main]

#[cfg_attr(target_arch = "arm", path = "cortex_m.rs")]
#[cfg_attr(not(target_arch = "arm"), path = "../../../../examples/firmware-riscv/src/board.rs")]
mod board;

use board::{exit, write};
use dinrail_bits::{GOLDEN, Level, MEMORY, Memory, all, compare};

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    write(b"panic\n");
    exit(false)
}

static mut WORK: Memory = Memory([0; MEMORY]);

/// Sends a number as hexadecimal digits.
fn digits(x: u32) {
    for i in (0..8).rev() {
        let digit = (x >> (4 * i) & 15) as u8;
        write(&[if digit < 10 { b'0' + digit } else { b'a' + digit - 10 }]);
    }
}

fn main() -> ! {
    // SAFETY: this is called once.
    let memory = unsafe { &mut *(&raw mut WORK) };
    let (mut good, mut at) = (true, 0);
    all(Level::Scalar, memory, &mut |name, number, sum| {
        let want = GOLDEN.get(at).copied();
        at += 1;
        if want != Some((name, number, sum)) {
            good = false;
            write(b"differs: ");
            write(name.as_bytes());
            write(b" ");
            digits(number);
            write(b" ");
            digits(sum);
            write(b"\n");
        }
    });
    write(if good && at == GOLDEN.len() { b"the same bits\n" } else { b"other bits\n" });
    good &= at == GOLDEN.len();
    if Level::Helium.is_available() {
        good &= helium(memory);
    }
    exit(good)
}

/// Compares the level with the portable one: the same bits where sums are of integers, and a few roundings elsewhere.
fn helium(memory: &mut Memory) -> bool {
    let (mut good, mut others) = (true, 0);
    compare(Level::Helium, memory, &mut |name, number, apart| {
        let exact = !matches!(name.as_bytes(), [b'F', ..]);
        if apart.is_some_and(|a| a.same || !exact && a.most < 1e-6) {
            others += u32::from(apart.is_some_and(|a| !a.same));
            return;
        }
        good = false;
        write(b"helium differs: ");
        write(name.as_bytes());
        write(b" ");
        digits(number);
        write(b" by ");
        digits(apart.map_or(0, |a| a.most.to_bits()));
        write(b"\n");
    });
    write(b"helium: floats in another order: ");
    digits(others);
    write(b"\n");
    good
}

#[cfg(not(target_arch = "arm"))]
#[unsafe(no_mangle)]
extern "C" fn start() -> ! {
    main()
}
