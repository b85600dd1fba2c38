//! Vectors of `f32` lanes: the one place that knows instruction sets for float arithmetic.
//!
//! An algorithm is written once, generic over [`Simd`] and `#[inline(always)]`, and instantiated by
//! [`per_level!`](per_level) inside one thin function per level that has the level's `#[target_feature]`. A token of
//! type `Scalar`, `Avx2` or `Neon` proves that the processor has the instructions: making one is `unsafe`, all
//! arithmetic is safe, and only loads and stores through pointers are `unsafe` again.
//!
//! | level  | lanes                        | `mul_add`                    | bits                     |
//! |--------|------------------------------|------------------------------|--------------------------|
//! | scalar | 8 virtual ones (maps: 1 or 8) | product rounded, sum rounded | the same on every target |
//! | AVX2   | 8                            | fused                        | the same on every AVX2   |
//! | NEON   | 8, in two registers          | fused                        | the same on every NEON   |
//!
//! A tail shorter than a vector goes through the same arithmetic as a whole one, so a value doesn't depend on where in
//! a row it stands.
//!
//! Nothing here can panic, allocates, or touches `core::fmt`.

#[cfg(all(feature = "avx2", target_arch = "x86_64"))]
mod avx2;
mod elem;
mod half;
#[cfg(test)]
pub(crate) mod harness;
pub(crate) mod math;
#[cfg(all(feature = "neon", target_arch = "aarch64"))]
mod neon;
pub(crate) mod row;
mod scalar;
pub(crate) mod scalar_math;
mod share;
#[cfg(test)]
pub(crate) mod tests;

#[cfg(all(feature = "avx2", target_arch = "x86_64"))]
pub(crate) use avx2::Avx2;
pub(crate) use elem::{Bf16, Elem, F16, F32};
pub(crate) use half::{half, halves};
#[cfg(all(feature = "neon", target_arch = "aarch64"))]
pub(crate) use neon::Neon;
pub(crate) use scalar::Scalar;
pub(crate) use share::{share, split};

use core::ops::{Add, Div, Mul, Neg, Sub};

/// Lanes of a whole vector.
pub(crate) const LANES: usize = 8;

/// Proof that a level's instructions are there, and the way to make vectors.
pub(crate) trait Simd: Copy {
    /// A vector of [`Lanes::N`] lanes.
    type F: Lanes;
    /// Whether code should be unrolled for speed (`false`: kept small).
    const WIDE: bool;
    /// The token for maps (results that depend on one element only). It may have fewer lanes where there are no vector
    /// registers to fill, which changes no bit.
    type Map: Simd;

    /// The token for maps.
    fn map(self) -> Self::Map;
    /// The same value in every lane.
    fn splat(self, x: f32) -> Self::F;

    /// Reads a vector.
    ///
    /// # Safety
    /// `p` is readable for all lanes; any alignment.
    unsafe fn load(self, p: *const f32) -> Self::F;
    /// Writes a vector.
    ///
    /// # Safety
    /// `p` is writable for all lanes; any alignment.
    unsafe fn store(self, p: *mut f32, v: Self::F);
    /// Reads half-precision numbers.
    ///
    /// # Safety
    /// `p` is readable for all lanes; any alignment.
    unsafe fn load_f16(self, p: *const u16) -> Self::F;
    /// Writes half-precision numbers, rounded to nearest even.
    ///
    /// # Safety
    /// `p` is writable for all lanes; any alignment.
    unsafe fn store_f16(self, p: *mut u16, v: Self::F);
    /// Reads bfloat16 numbers.
    ///
    /// # Safety
    /// `p` is readable for all lanes; any alignment.
    unsafe fn load_bf16(self, p: *const u16) -> Self::F;
    /// Reads signed bytes.
    ///
    /// # Safety
    /// `p` is readable for all lanes.
    unsafe fn load_i8(self, p: *const i8) -> Self::F;
}

/// A vector. Comparisons are false for NaN.
pub(crate) trait Lanes:
    Copy
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
{
    /// One truth value per lane.
    type Mask: Copy;
    /// Number of lanes, at most [`LANES`].
    const N: usize;

    /// The token that made this vector.
    type Token: Simd<F = Self>;
    /// The token again.
    fn token(self) -> Self::Token;

    /// `self * b + c`, with one rounding or two as the level has it.
    fn mul_add(self, b: Self, c: Self) -> Self;
    /// `self < o ? self : o`, so a NaN in `o` stays and one in `self` is dropped.
    fn min(self, o: Self) -> Self;
    /// `self > o ? self : o`, so a NaN in `o` stays and one in `self` is dropped.
    fn max(self, o: Self) -> Self;
    /// `self < o`.
    fn lt(self, o: Self) -> Self::Mask;
    /// `self <= o`.
    fn le(self, o: Self) -> Self::Mask;
    /// `m ? a : b`.
    fn select(m: Self::Mask, a: Self, b: Self) -> Self;
    /// Without its sign.
    fn abs(self) -> Self;
    /// `self` with the sign of `s`.
    fn copysign(self, s: Self) -> Self;
    /// The nearest integer, halves to even. For magnitudes below 2^22; NaN stays.
    fn nearest(self) -> Self;
    /// Towards minus infinity.
    fn floor(self) -> Self;
    /// Towards plus infinity.
    fn ceil(self) -> Self;
    /// Towards zero.
    fn trunc(self) -> Self;
    /// `2^self` for integers from -126 to 127. Anything for other values.
    fn exp2i(self) -> Self;
    /// Of a normal positive number: its mantissa in [1, 2) and its binary exponent. Anything for other values.
    fn split(self) -> (Self, Self);
    /// Sum of the lanes, in a fixed order.
    fn sum(self) -> f32;
    /// Largest lane; a NaN in one may get lost.
    fn largest(self) -> f32;
    /// The first lane.
    fn first(self) -> f32;
    /// Neighbours 2i and 2i + 1 in each other's place, where there is more than one lane.
    fn swap_pairs(self) -> Self;
    /// The sums of four vectors.
    fn sum4(v: [Self; 4]) -> [f32; 4];
}

/// Instantiates generic kernels for every level that is compiled in.
///
/// `per_level! { name = generic; .. }` makes, for each line, `scalar::name`, `avx2::name` and `neon::name`: functions of
/// type [`Kernel`](crate::Kernel) that call `generic(token, args)`. Choose one with [`pick!`](pick).
macro_rules! per_level {
    ($($name:ident = $generic:expr;)*) => {
        #[allow(unused_imports)]
        mod scalar {
            use super::*;
            $(
                /// # Safety
                /// As [`Kernel`](crate::Kernel).
                pub unsafe fn $name(args: &crate::Args<'_>) -> dinrail_core::error::Result<()> {
                    // SAFETY: the caller's promise is the generic kernel's.
                    unsafe { $generic(crate::kernels::vec::Scalar, args) }
                }
            )*
        }
        #[cfg(all(feature = "avx2", target_arch = "x86_64"))]
        #[allow(unused_imports)]
        mod avx2 {
            use super::*;
            $(
                /// # Safety
                /// As [`Kernel`](crate::Kernel), with AVX2, FMA and F16C.
                #[target_feature(enable = "avx2,fma,f16c")]
                pub unsafe fn $name(args: &crate::Args<'_>) -> dinrail_core::error::Result<()> {
                    // SAFETY: the caller promises the instructions.
                    let token = unsafe { crate::kernels::vec::Avx2::new() };
                    // SAFETY: the caller's promise is the generic kernel's.
                    unsafe { $generic(token, args) }
                }
            )*
        }
        #[cfg(all(feature = "neon", target_arch = "aarch64"))]
        #[allow(unused_imports)]
        mod neon {
            use super::*;
            $(
                /// # Safety
                /// As [`Kernel`](crate::Kernel), with NEON.
                #[target_feature(enable = "neon")]
                pub unsafe fn $name(args: &crate::Args<'_>) -> dinrail_core::error::Result<()> {
                    // SAFETY: the caller promises the instructions.
                    let token = unsafe { crate::kernels::vec::Neon::new() };
                    // SAFETY: the caller's promise is the generic kernel's.
                    unsafe { $generic(token, args) }
                }
            )*
        }
    };
}
pub(crate) use per_level;

/// The function `name` of [`per_level!`](per_level) for a level: `pick!(level, name)`.
macro_rules! pick {
    ($level:expr, $name:ident) => {
        match $level {
            #[cfg(all(feature = "avx2", target_arch = "x86_64"))]
            crate::Level::Avx2 => avx2::$name as crate::Kernel,
            #[cfg(all(feature = "neon", target_arch = "aarch64"))]
            crate::Level::Neon | crate::Level::Dotprod => neon::$name as crate::Kernel,
            _ => scalar::$name as crate::Kernel,
        }
    };
}
pub(crate) use pick;

/// Lanes of a token's vectors.
#[inline(always)]
pub(crate) const fn lanes<S: Simd>(_: S) -> usize {
    S::F::N
}
