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
}
