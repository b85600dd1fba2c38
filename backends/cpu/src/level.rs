//! Instruction levels.

/// A set of instructions that kernels were compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Level {
    /// Plain Rust for whatever the crate is compiled for. Gives the same bits everywhere.
    Scalar,
    /// x86-64 with AVX2, FMA and F16C.
    Avx2,
    /// AArch64 with NEON.
    Neon,
    /// AArch64 with NEON and the dot-product instructions.
    Dotprod,
    /// Cortex-M with Helium, ARMv8.1-M's vectors of integers and floats (M55, M85). The compiler has to be told of them:
    /// `-C target-cpu=cortex-m55` or `-C target-feature=+mve.fp`.
    Helium,
}

impl Level {
    /// Every level, the lowest first. Levels of one architecture contain the ones before them.
    pub const ALL: [Level; 5] =
        [Level::Scalar, Level::Avx2, Level::Neon, Level::Dotprod, Level::Helium];

    /// Short name, as [`parse`](Self::parse) takes it.
    pub const fn name(self) -> &'static str {
        match self {
            Level::Scalar => "scalar",
            Level::Avx2 => "avx2",
            Level::Neon => "neon",
            Level::Dotprod => "dotprod",
            Level::Helium => "helium",
        }
    }

    /// The level of a name, in upper or lower case.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|l| l.name().eq_ignore_ascii_case(name))
    }

    /// How it competes with libraries of other levels: the score that ggml gives to one of these instructions, which has
    /// a bit for each set of them.
    pub const fn score(self) -> u32 {
        const BASE: u32 = 1;
        match self {
            Level::Scalar | Level::Neon | Level::Helium => BASE,
            Level::Dotprod => BASE + 2,
            // SSE 4.2, AVX, F16C, FMA, BMI2, AVX2.
            Level::Avx2 => BASE + 1 + 2 + 4 + 8 + 16 + 32,
        }
    }

    /// Whether its kernels are in this program: the feature is on and the architecture is right.
    pub const fn is_compiled(self) -> bool {
        match self {
            Level::Scalar => true,
            Level::Avx2 => cfg!(all(feature = "avx2", target_arch = "x86_64")),
            Level::Neon => cfg!(all(feature = "neon", target_arch = "aarch64")),
            Level::Dotprod => cfg!(all(feature = "dotprod", target_arch = "aarch64")),
            Level::Helium => cfg!(all(feature = "helium", cortex_m_mve)),
        }
    }

    /// Whether its kernels are in this program and this machine, processor and operating system, runs them.
    pub fn is_available(self) -> bool {
        crate::detect::machine() >= self && self.is_compiled()
    }
}

#[cfg(test)]
mod tests {
    use super::Level;

    #[test]
    fn names_go_both_ways() {
        for level in Level::ALL {
            assert_eq!(Level::parse(level.name()), Some(level));
        }
        assert_eq!(Level::parse("AVX2"), Some(Level::Avx2));
        assert_eq!(Level::parse("avx9"), None);
    }

    #[test]
    fn scalar_is_always_there_and_others_only_on_their_architecture() {
        assert!(Level::Scalar.is_available());
        assert!(!(Level::Avx2.is_compiled() && Level::Neon.is_compiled()));
    }
}
