//! How deep the stack has been: the free memory below it is painted, and later searched for paint.

const PAINT: u32 = 0xa5a5_5a5a;

unsafe extern "C" {
    /// End of what the program placed in RAM, from the linker script; the stack grows down towards it.
    static mut __sheap: u32;
    /// Top of the stack.
    static _stack_start: u32;
}

/// Paints what is free. First thing in `main`.
#[inline(never)]
pub fn paint() {
    let mut p = &raw mut __sheap;
    // What this very call uses stays out.
    let end = cortex_m::register::msp::read() as usize - 64;
    while (p as usize) < end {
        // SAFETY: between the program's data and the stack there is nothing.
        unsafe { p.write_volatile(PAINT) };
        p = p.wrapping_add(1);
    }
}

/// Bytes of stack that were used since [`paint`], at most.
#[inline(never)]
pub fn used() -> usize {
    let mut p = (&raw mut __sheap).cast_const();
    let top = (&raw const _stack_start) as usize;
    while (p as usize) < top {
        // SAFETY: RAM.
        if unsafe { p.read_volatile() } != PAINT {
            break;
        }
        p = p.wrapping_add(1);
    }
    top - p as usize
}
