//! The portable level: arrays of lanes, plain arithmetic, no fused operations, so the bits are the same everywhere.

use super::{LANES, Lanes, Simd};
use core::ops::{Add, Div, Mul, Neg, Sub};
use dinrail_core::tensor::float;

/// Eight virtual lanes.
#[derive(Clone, Copy)]
pub(crate) struct Scalar;

/// One lane: what maps use where the target has no vectors that a compiler could fill.
#[derive(Clone, Copy)]
pub(crate) struct Single;

impl Scalar {
    /// One lane with the same arithmetic.
    #[inline(always)]
    pub fn single(self) -> Single {
        Single
    }
}

/// `N` lanes in an array.
#[derive(Clone, Copy)]
pub(crate) struct Array<const N: usize>([f32; N]);

macro_rules! each {
    ($v:expr, $f:expr) => {
        Array($v.0.map($f))
    };
    ($a:expr, $b:expr, $f:expr) => {{
        let (mut a, b) = ($a.0, $b.0);
        for (x, y) in a.iter_mut().zip(b) {
            *x = $f(*x, y);
        }
        Array(a)
    }};
}

macro_rules! operator {
    ($trait:ident $name:ident $op:tt) => {
        impl<const N: usize> $trait for Array<N> {
            type Output = Self;

            #[inline(always)]
            fn $name(self, o: Self) -> Self {
                each!(self, o, |a: f32, b: f32| a $op b)
            }
        }
    };
}
operator!(Add add +);
operator!(Sub sub -);
operator!(Mul mul *);
operator!(Div div /);

impl<const N: usize> Neg for Array<N> {
    type Output = Self;

    #[inline(always)]
    fn neg(self) -> Self {
        each!(self, |a: f32| -a)
    }
}

/// Added and subtracted again, rounds to an integer: 1.5 * 2^23.
const ROUNDER: f32 = 12_582_912.0;

/// `x` without its fraction. From 2^23 on every number is an integer; so is a NaN left alone.
#[inline(always)]
fn trunc(x: f32) -> f32 {
    if x.abs() < 8_388_608.0 { (x as i32 as f32).copysign(x) } else { x }
}

macro_rules! token {
    ($token:ident, $n:expr, $map:ident) => {
        impl Simd for $token {
            type F = Array<$n>;
            type Map = $map;
            const WIDE: bool = false;

            #[inline(always)]
            fn map(self) -> Self::Map {
                $map
            }

            #[inline(always)]
            fn splat(self, x: f32) -> Self::F {
                Array([x; $n])
            }

            #[inline(always)]
            unsafe fn load(self, p: *const f32) -> Self::F {
                // SAFETY: the caller's promise.
                Array(unsafe { p.cast::<[f32; $n]>().read_unaligned() })
            }

            #[inline(always)]
            unsafe fn store(self, p: *mut f32, v: Self::F) {
                // SAFETY: the caller's promise.
                unsafe { p.cast::<[f32; $n]>().write_unaligned(v.0) }
            }

            #[inline(always)]
            unsafe fn load_f16(self, p: *const u16) -> Self::F {
                // SAFETY: the caller's promise.
                let h = unsafe { p.cast::<[u16; $n]>().read_unaligned() };
                Array(h.map(float::f16_to_f32))
            }

            #[inline(always)]
            unsafe fn store_f16(self, p: *mut u16, v: Self::F) {
                let h = v.0.map(float::f32_to_f16);
                // SAFETY: the caller's promise.
                unsafe { p.cast::<[u16; $n]>().write_unaligned(h) }
            }

            #[inline(always)]
            unsafe fn load_bf16(self, p: *const u16) -> Self::F {
                // SAFETY: the caller's promise.
                let h = unsafe { p.cast::<[u16; $n]>().read_unaligned() };
                Array(h.map(float::bf16_to_f32))
            }

            #[inline(always)]
            unsafe fn load_i8(self, p: *const i8) -> Self::F {
                // SAFETY: the caller's promise.
                let h = unsafe { p.cast::<[i8; $n]>().read_unaligned() };
                Array(h.map(f32::from))
            }
        }

        impl Lanes for Array<$n> {
            type Mask = [bool; $n];
            const N: usize = $n;
            type Token = $token;

            #[inline(always)]
            fn token(self) -> Self::Token {
                $token
            }

            #[inline(always)]
            fn mul_add(self, b: Self, c: Self) -> Self {
                self * b + c
            }

            #[inline(always)]
            fn min(self, o: Self) -> Self {
                each!(self, o, |a: f32, b: f32| if a < b { a } else { b })
            }

            #[inline(always)]
            fn max(self, o: Self) -> Self {
                each!(self, o, |a: f32, b: f32| if a > b { a } else { b })
            }

            #[inline(always)]
            fn lt(self, o: Self) -> Self::Mask {
                compare(self.0, o.0, |a, b| a < b)
            }

            #[inline(always)]
            fn le(self, o: Self) -> Self::Mask {
                compare(self.0, o.0, |a, b| a <= b)
            }

            #[inline(always)]
            fn select(m: Self::Mask, a: Self, b: Self) -> Self {
                let mut out = b.0;
                for ((x, a), m) in out.iter_mut().zip(a.0).zip(m) {
                    *x = if m { a } else { *x };
                }
                Array(out)
            }

            #[inline(always)]
            fn abs(self) -> Self {
                each!(self, f32::abs)
            }

            #[inline(always)]
            fn copysign(self, s: Self) -> Self {
                each!(self, s, f32::copysign)
            }

            #[inline(always)]
            fn nearest(self) -> Self {
                each!(self, |x: f32| (x + ROUNDER) - ROUNDER)
            }

            #[inline(always)]
            fn floor(self) -> Self {
                each!(self, |x: f32| {
                    let t = trunc(x);
                    if t > x { t - 1.0 } else { t }
                })
            }

            #[inline(always)]
            fn ceil(self) -> Self {
                // Through the negative, so that results in (-1, 0) keep their sign.
                -(-self).floor()
            }

            #[inline(always)]
            fn trunc(self) -> Self {
                each!(self, trunc)
            }

            #[inline(always)]
            fn exp2i(self) -> Self {
                // Adding the rounder leaves the integer in the low bits.
                each!(self, |x: f32| {
                    f32::from_bits((x + ROUNDER).to_bits().wrapping_add(127) << 23)
                })
            }

            #[inline(always)]
            fn split(self) -> (Self, Self) {
                let mantissa =
                    each!(self, |x: f32| f32::from_bits(x.to_bits() & 0x007f_ffff | 0x3f80_0000));
                let exponent = each!(self, |x: f32| ((x.to_bits() >> 23) as i32 - 127) as f32);
                (mantissa, exponent)
            }

            #[inline(always)]
            fn sum(self) -> f32 {
                let mut v = self.0;
                let mut half = $n / 2;
                while half > 0 {
                    let (low, high) = v.split_at_mut(half);
                    for (a, b) in low.iter_mut().zip(high) {
                        *a += *b;
                    }
                    half /= 2;
                }
                v[0]
            }

            #[inline(always)]
            fn largest(self) -> f32 {
                self.0.into_iter().fold(f32::NEG_INFINITY, |a, b| if a > b { a } else { b })
            }

            #[inline(always)]
            fn first(self) -> f32 {
                self.0[0]
            }

            #[inline(always)]
            fn swap_pairs(self) -> Self {
                let mut v = self.0;
                for pair in v.as_chunks_mut::<2>().0 {
                    *pair = [pair[1], pair[0]];
                }
                Array(v)
            }

            #[inline(always)]
            fn sum4(v: [Self; 4]) -> [f32; 4] {
                v.map(Self::sum)
            }
        }
    };
}

/// One truth value per lane.
#[inline(always)]
fn compare<const N: usize>(a: [f32; N], b: [f32; N], f: impl Fn(f32, f32) -> bool) -> [bool; N] {
    let mut out = [false; N];
    for ((m, a), b) in out.iter_mut().zip(a).zip(b) {
        *m = f(a, b);
    }
    out
}

cfg_if::cfg_if! {
    if #[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "wasm32"))] {
        token!(Scalar, LANES, Scalar);
    } else {
        token!(Scalar, LANES, Single);
    }
}
token!(Single, 1, Single);
