//! What this machine can run: bits of the processor *and* what the operating system keeps across a task switch.

use crate::Level;
use core::sync::atomic::{AtomicU8, Ordering};
use dinrail_core::error::{Error, Result};

/// Where detection reads from, so that tests can feed every combination.
#[cfg(any(test, target_arch = "x86_64"))]
pub(crate) trait Cpuid {
    /// `[eax, ebx, ecx, edx]` of a leaf and sub-leaf that the processor has.
    fn leaf(&self, leaf: u32, sub: u32) -> [u32; 4];
    /// Extended control register 0: which registers the operating system saves. Read only when CPUID says OSXSAVE.
    fn xcr0(&self) -> u64;
}

/// The best level that an x86-64 machine runs.
#[cfg(any(test, target_arch = "x86_64"))]
pub(crate) fn x86_64(cpu: &impl Cpuid) -> Level {
    const FMA: u32 = 1 << 12;
    const OSXSAVE: u32 = 1 << 27;
    const AVX: u32 = 1 << 28;
    const F16C: u32 = 1 << 29;
    const AVX2: u32 = 1 << 5;
    /// XMM and YMM registers.
    const YMM_STATE: u64 = 0b110;

    let has = |word: u32, bits: u32| word & bits == bits;
    let max = cpu.leaf(0, 0)[0];
    if max < 7 || !has(cpu.leaf(1, 0)[2], FMA | OSXSAVE | AVX | F16C) {
        return Level::Scalar;
    }
    if cpu.xcr0() & YMM_STATE != YMM_STATE || !has(cpu.leaf(7, 0)[1], AVX2) {
        return Level::Scalar;
    }
    Level::Avx2
}

cfg_if::cfg_if! {
    if #[cfg(target_arch = "x86_64")] {
        /// The processor itself.
        pub(crate) struct Processor;

        impl Cpuid for Processor {
            #[allow(unused_unsafe)] // The intrinsic is a safe function from Rust 1.94 on.
            fn leaf(&self, leaf: u32, sub: u32) -> [u32; 4] {
                // SAFETY: every x86-64 processor has CPUID; an unknown leaf gives meaningless numbers and no fault.
                let r = unsafe { core::arch::x86_64::__cpuid_count(leaf, sub) };
                [r.eax, r.ebx, r.ecx, r.edx]
            }

            fn xcr0(&self) -> u64 {
                #[target_feature(enable = "xsave")]
                fn read() -> u64 {
                    // SAFETY: register 0 exists wherever XGETBV does, which the caller of `read` has seen.
                    unsafe { core::arch::x86_64::_xgetbv(0) }
                }
                // SAFETY: only called when CPUID says OSXSAVE, so the instruction is there and enabled.
                unsafe { read() }
            }
        }

        fn look() -> Level {
            x86_64(&Processor)
        }
    } else if #[cfg(all(target_arch = "aarch64", any(test, feature = "std")))] {
        fn look() -> Level {
            if std::arch::is_aarch64_feature_detected!("dotprod") {
                Level::Dotprod
            } else if std::arch::is_aarch64_feature_detected!("neon") {
                Level::Neon
            } else {
                Level::Scalar
            }
        }
    } else {
        /// Without an operating system to ask, the machine is what the program was compiled for.
        fn look() -> Level {
            if cfg!(all(target_arch = "aarch64", target_feature = "dotprod")) {
                Level::Dotprod
            } else if cfg!(all(target_arch = "aarch64", target_feature = "neon")) {
                Level::Neon
            } else if cfg!(cortex_m_mve) {
                Level::Helium
            } else {
                Level::Scalar
            }
        }
    }
}

/// Nothing known yet, no limit.
const NONE: u8 = u8::MAX;
static MACHINE: AtomicU8 = AtomicU8::new(NONE);
static LIMIT: AtomicU8 = AtomicU8::new(NONE);

fn from_number(n: u8) -> Option<Level> {
    Level::ALL.into_iter().find(|l| *l as u8 == n)
}

/// The best level of this machine, compiled in or not. Looked up once; several threads may do so at the same time and
/// find the same.
pub(crate) fn machine() -> Level {
    if let Some(level) = from_number(MACHINE.load(Ordering::Relaxed)) {
        return level;
    }
    let level = look();
    MACHINE.store(level as u8, Ordering::Relaxed);
    level
}

/// The level that devices use unless a stream is opened with another: the best that is available, within the
/// [`limit`].
pub fn level() -> Level {
    let limit = from_number(LIMIT.load(Ordering::Relaxed));
    let allowed = |l: &Level| l.is_available() && limit.is_none_or(|max| *l <= max);
    Level::ALL.into_iter().rev().find(allowed).unwrap_or(Level::Scalar)
}

/// Forces the level down for streams that are opened from here on, in the whole program; `None` lifts the limit.
///
/// # Errors
/// [`Error::Invalid`] for a level that is not compiled in or that this machine doesn't run. The limit stays as it was.
pub fn limit(to: Option<Level>) -> Result<()> {
    if let Some(level) = to {
        check(level)?;
    }
    LIMIT.store(to.map_or(NONE, |l| l as u8), Ordering::Relaxed);
    Ok(())
}

/// Refuses a level that can't be run.
pub(crate) fn check(level: Level) -> Result<()> {
    if level.is_available() {
        return Ok(());
    }
    let what = match (level.is_compiled(), level) {
        (false, _) => "instruction level, which is not compiled in: its number",
        (true, _) => "instruction level, which this machine does not run: its number",
    };
    Err(Error::Invalid { what, value: level as i64 })
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Fake {
        max: u32,
        ecx1: u32,
        ebx7: u32,
        xcr0: u64,
    }

    impl Cpuid for Fake {
        fn leaf(&self, leaf: u32, sub: u32) -> [u32; 4] {
            assert!(leaf <= self.max, "an unknown leaf was read");
            assert_eq!(sub, 0);
            match leaf {
                0 => [self.max, 0, 0, 0],
                1 => [0, 0, self.ecx1, 0],
                7 => [0, self.ebx7, 0, 0],
                _ => [0; 4],
            }
        }
        fn xcr0(&self) -> u64 {
            assert!(self.ecx1 & 1 << 27 != 0, "XGETBV faults without OSXSAVE");
            self.xcr0
        }
    }

    #[test]
    fn avx2_needs_every_bit_and_the_operating_system() {
        let bits = [12, 27, 28, 29];
        for mask in 0..16u32 {
            let ecx1 = (0..4).filter(|i| mask >> i & 1 != 0).map(|i| 1u32 << bits[i]).sum();
            for ebx7 in [0, 1 << 5, !0, !(1 << 5)] {
                for xcr0 in 0..8 {
                    for max in [1, 6, 7, 0x20] {
                        let got = x86_64(&Fake { max, ecx1, ebx7, xcr0 });
                        let yes = mask == 15 && ebx7 & 1 << 5 != 0 && xcr0 & 6 == 6 && max >= 7;
                        assert_eq!(got == Level::Avx2, yes, "{mask:04b} {ebx7:x} {xcr0:b} {max}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_level_that_cannot_run_is_refused() {
        for level in Level::ALL {
            assert_eq!(check(level).is_ok(), level.is_available(), "{level:?}");
        }
        assert!(level().is_available());
    }
}
