//! Inner loops for Cortex-M cores with an FPU (M4F, M7, M33, M55), some of them for the DSP extension too.
//!
//! They compute the bits of the portable loops, in the same order: `VMLA` rounds the product before it adds, and
//! `SMLAD` sums integers. What they gain is loads of eight registers at once, two integer products in an instruction,
//! and nothing that is loaded twice.
//!
//! Each loop is a naked function, so that all fourteen registers are its own. It takes a structure by pointer.

/// Tells the assembler what the target has: a naked function is outside the compiler's knowledge of it.
#[cfg(not(cortex_m_v8))]
macro_rules! arch {
    () => {
        ".fpu fpv4-sp-d16"
    };
}
/// As above. There is no directive for the DSP extension alone.
#[cfg(cortex_m_v8)]
macro_rules! arch {
    () => {
        ".cpu cortex-m33"
    };
}

pub mod attention;
pub mod column;
pub mod glu;
#[cfg(all(feature = "helium", cortex_m_mve))]
pub mod helium;
#[cfg(cortex_m_dsp)]
pub mod q8_0;
pub mod rows;

/// Zeroes to start sums from.
static ZERO: [f32; 16] = [0.0; 16];
