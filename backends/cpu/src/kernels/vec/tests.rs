//! Vectors of every level that this machine runs.

use super::*;
use crate::Level;
use std::vec::Vec;

/// The levels that are compiled in and that this processor has.
pub(crate) fn levels() -> Vec<Level> {
    let mut out = std::vec![Level::Scalar];
    #[cfg(all(feature = "avx2", target_arch = "x86_64"))]
    if std::is_x86_feature_detected!("avx2")
        && std::is_x86_feature_detected!("fma")
        && std::is_x86_feature_detected!("f16c")
    {
        out.push(Level::Avx2);
    }
    #[cfg(all(feature = "neon", target_arch = "aarch64"))]
    out.push(Level::Neon);
    out
}

/// Runs a generic function `f(token, ..)` on each level, as kernels do.
macro_rules! on_each {
    ($f:ident ( $($arg:expr),* )) => {
        for level in levels() {
            match level {
                #[cfg(all(feature = "avx2", target_arch = "x86_64"))]
                Level::Avx2 => {
                    // SAFETY: `levels` has asked the processor.
                    let token = unsafe { Avx2::new() };
                    $f(token, "avx2" $(, $arg)*);
                }
                #[cfg(all(feature = "neon", target_arch = "aarch64"))]
                Level::Neon => {
                    // SAFETY: every AArch64 Linux has it.
                    let token = unsafe { Neon::new() };
                    $f(token, "neon" $(, $arg)*);
                }
                _ => {
                    $f(Scalar, "scalar" $(, $arg)*);
                    $f(scalar::Single, "single" $(, $arg)*);
                }
            }
        }
    };
}

fn lanes_of<S: Simd>(s: S, v: S::F) -> Vec<f32> {
    let mut out = std::vec![0.0; S::F::N];
    // SAFETY: the vector has all lanes.
    unsafe { s.store(out.as_mut_ptr(), v) };
    out
}

fn of<S: Simd>(s: S, x: &[f32]) -> S::F {
    assert!(x.len() >= S::F::N);
    // SAFETY: checked.
    unsafe { s.load(x.as_ptr()) }
}

const SPECIAL: [f32; 24] = [
    0.0,
    -0.0,
    0.5,
    -0.5,
    1.5,
    -1.5,
    2.5,
    -2.5,
    0.499_999_97,
    -0.499_999_97,
    1.0,
    -1.0,
    3.7,
    -3.7,
    8_388_607.5,
    -8_388_607.5,
    16_777_216.0,
    1e30,
    f32::INFINITY,
    f32::NEG_INFINITY,
    f32::NAN,
    f32::MIN_POSITIVE,
    1e-40,
    -1e-40,
];

fn basics<S: Simd>(s: S, level: &str) {
    let n = S::F::N;
    for w in SPECIAL.windows(n).chain(SPECIAL.chunks_exact(n)) {
        let v = of(s, w);
        type Pair<F> = (fn(F) -> F, fn(f32) -> f32);
        let cases: [Pair<S::F>; 5] = [
            (S::F::floor, f32::floor),
            (S::F::ceil, f32::ceil),
            (S::F::trunc, f32::trunc),
            (S::F::abs, f32::abs),
            (|v| -v, |x| -x),
        ];
        for (i, (vector, scalar)) in cases.into_iter().enumerate() {
            for (got, x) in lanes_of(s, vector(v)).iter().zip(w) {
                let want = scalar(*x);
                assert!(
                    got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan(),
                    "{level} {i}: {x} gives {got}, not {want}"
                );
            }
        }
        for other in SPECIAL {
            let o = s.splat(other);
            for (i, x) in w.iter().enumerate() {
                let at = |v: S::F| lanes_of(s, v)[i];
                let same = |a: f32, b: f32| {
                    assert!(
                        a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan(),
                        "{level} {x} {other} {a} {b}"
                    )
                };
                same(at(v.max(o)), if *x > other { *x } else { other });
                same(at(v.min(o)), if *x < other { *x } else { other });
                same(at(v.copysign(o)), x.copysign(other));
                let (one, zero) = (s.splat(1.0), s.splat(0.0));
                same(at(S::F::select(v.lt(o), one, zero)), f32::from(*x < other));
                same(at(S::F::select(v.le(o), one, zero)), f32::from(*x <= other));
            }
        }
    }
    for e in -126..=127 {
        assert_eq!(lanes_of(s, s.splat(e as f32).exp2i())[0], 2f32.powi(e), "{level} {e}");
        let (m, x) = s.splat(1.75 * 2f32.powi(e)).split();
        assert_eq!((lanes_of(s, m)[0], lanes_of(s, x)[0]), (1.75, e as f32), "{level} {e}");
    }
    for x in [-2.5f32, -1.5, -0.5, 0.5, 1.5, 2.5, 0.3, -7.9, 1_000_000.5] {
        assert_eq!(lanes_of(s, s.splat(x).nearest())[0], x.round_ties_even(), "{level} {x}");
    }
    let ramp: Vec<f32> = (1..=n).map(|i| i as f32).collect();
    let v = of(s, &ramp);
    let total = (n * (n + 1) / 2) as f32;
    assert_eq!(v.sum(), total);
    assert_eq!(v.largest(), n as f32);
    assert_eq!((-v).largest(), -1.0);
    assert_eq!(S::F::sum4([v, v + v, -v, s.splat(0.0)]), [total, 2.0 * total, -total, 0.0]);
}

#[test]
fn lanes_do_what_numbers_do() {
    on_each!(basics());
}

fn narrow<S: Simd>(s: S, level: &str) {
    for start in (0..=u16::MAX).step_by(8) {
        let h: Vec<u16> = (0..8).map(|i| start + i).collect();
        // SAFETY: eight elements, the most that a vector has.
        let v = unsafe { s.load_f16(h.as_ptr()) };
        // SAFETY: eight elements, the most that a vector has.
        let b = unsafe { s.load_bf16(h.as_ptr()) };
        let mut back = [0u16; 8];
        // SAFETY: eight elements, the most that a vector has.
        unsafe { s.store_f16(back.as_mut_ptr(), v) };
        let mut back_b = [0u16; 8];
        // SAFETY: eight elements, the most that a vector has.
        unsafe { Bf16::store(s, back_b.as_mut_ptr().cast(), b) };
        for i in 0..S::F::N {
            let want = dinrail_core::tensor::float::f16_to_f32(h[i]);
            assert_eq!(lanes_of(s, v)[i].to_bits(), want.to_bits(), "{level} {:x}", h[i]);
            assert_eq!(lanes_of(s, b)[i].to_bits(), u32::from(h[i]) << 16, "{level} {:x}", h[i]);
            if !want.is_nan() {
                assert_eq!(back[i], h[i], "{level}");
            }
            if !lanes_of(s, b)[i].is_nan() {
                assert_eq!(back_b[i], h[i], "{level}");
            }
        }
    }
    for x in [1.0 + 1.0 / 2048.0, 1.0 + 3.0 / 2048.0, 65_519.9, 65_520.0, 1e-8, 5.96e-8, -2.0e-8] {
        let mut h = [0u16; 8];
        // SAFETY: eight elements, the most that a vector has.
        unsafe { s.store_f16(h.as_mut_ptr(), s.splat(x)) };
        assert_eq!(h[0], dinrail_core::tensor::float::f32_to_f16(x), "{level} {x}");
    }
    let bytes: [i8; 8] = [-128, 127, 0, 1, -1, 50, -50, 9];
    // SAFETY: eight elements, the most that a vector has.
    let v = unsafe { s.load_i8(bytes.as_ptr()) };
    for (got, want) in lanes_of(s, v).iter().zip(bytes) {
        assert_eq!(*got, f32::from(want));
    }
}

#[test]
fn narrow_formats_are_converted_exactly() {
    on_each!(narrow());
}

/// How far a function may be off: relative to the result, and absolutely.
struct Bound {
    name: &'static str,
    range: (f32, f32),
    relative: f64,
    absolute: f64,
    exact: fn(f64) -> f64,
}

/// `erf` in f64: its series near zero, a continued fraction further out.
pub(crate) fn erf64(x: f64) -> f64 {
    let a = x.abs();
    let value = if a < 3.0 {
        let (mut term, mut sum) = (a, a);
        for n in 1..120 {
            term *= -a * a / n as f64;
            sum += term / (2 * n + 1) as f64;
        }
        sum * core::f64::consts::FRAC_2_SQRT_PI
    } else {
        let mut f = 0.0;
        for k in (1..80).rev() {
            f = k as f64 / 2.0 / (a + f);
        }
        1.0 - (-a * a).exp() * 0.5 * core::f64::consts::FRAC_2_SQRT_PI / (a + f)
    };
    value.copysign(x)
}

fn accuracy<S: Simd>(s: S, level: &str, bound: &Bound) {
    let f: fn(S::F) -> S::F = match bound.name {
        "exp" => math::exp,
        "expm1" => math::expm1,
        "sigmoid" => math::sigmoid,
        "tanh" => math::tanh,
        "softplus" => math::softplus,
        "erf" => math::erf,
        "silu" => math::silu,
        "gelu" => math::gelu,
        "gelu_quick" => math::gelu_quick,
        "gelu_erf" => math::gelu_erf,
        other => unreachable!("{other}"),
    };
    let (mut worst, mut at) = (0f64, 0f32);
    let steps = 60_000;
    let n = S::F::N;
    let mut xs = std::vec![0.0; n];
    for i in (0..steps).step_by(n) {
        for (k, x) in xs.iter_mut().enumerate() {
            let t = ((i + k) as f64 + 0.37) / (steps + n) as f64;
            *x = (f64::from(bound.range.0)
                + t * (f64::from(bound.range.1) - f64::from(bound.range.0)))
                as f32;
            if (i / n) % 4 == 3 {
                // Small arguments as well.
                *x *= 2f32.powi(-((i / n % 40) as i32));
            }
            *x = x.clamp(bound.range.0, bound.range.1);
        }
        for (got, x) in lanes_of(s, f(of(s, &xs))).iter().zip(&xs) {
            let want = (bound.exact)(f64::from(*x));
            let allowed = bound.relative * want.abs() + bound.absolute;
            let off = (f64::from(*got) - want).abs() / allowed;
            if off > worst || off.is_nan() {
                (worst, at) = (if off.is_nan() { f64::INFINITY } else { off }, *x);
            }
        }
    }
    std::println!("{level:>7} {:>10}: {:.2} of its bound, at {at}", bound.name, worst);
    assert!(worst <= 1.0, "{level} {}: {worst} of its bound at {at}", bound.name);
}

const ULP: f64 = 1.192_092_9e-7;

/// The functions' contract.
const BOUNDS: &[Bound] = &[
    Bound {
        name: "exp",
        range: (-87.3, 88.7),
        relative: 1.5 * ULP,
        absolute: 0.0,
        exact: f64::exp,
    },
    Bound {
        name: "exp",
        range: (-110.0, -87.3),
        relative: 1.5 * ULP,
        absolute: 1.5e-45,
        exact: f64::exp,
    },
    Bound {
        name: "expm1",
        range: (-30.0, 88.0),
        relative: 2.0 * ULP,
        absolute: 0.0,
        exact: f64::exp_m1,
    },
    Bound {
        name: "sigmoid",
        range: (-87.0, 87.0),
        relative: 3.0 * ULP,
        absolute: 1e-38,
        exact: |x| 1.0 / (1.0 + (-x).exp()),
    },
    Bound {
        name: "tanh",
        range: (-30.0, 30.0),
        relative: 2.0 * ULP,
        absolute: 0.0,
        exact: f64::tanh,
    },
    Bound {
        name: "softplus",
        range: (-80.0, 30.0),
        relative: 3.0 * ULP,
        absolute: 1e-38,
        exact: |x| x.exp().ln_1p(),
    },
    Bound { name: "erf", range: (-6.0, 6.0), relative: 2.0 * ULP, absolute: 0.0, exact: erf64 },
    Bound {
        name: "silu",
        range: (-87.0, 87.0),
        relative: 3.0 * ULP,
        absolute: 1e-36,
        exact: |x| x / (1.0 + (-x).exp()),
    },
    Bound {
        name: "gelu",
        range: (-12.0, 12.0),
        relative: 12.0 * ULP,
        absolute: 1e-9,
        exact: gelu64,
    },
    Bound {
        name: "gelu_quick",
        range: (-20.0, 20.0),
        relative: 30.0 * ULP,
        absolute: 1e-35,
        exact: |x| x / (1.0 + (-1.702 * x).exp()),
    },
    Bound {
        name: "gelu_erf",
        range: (-8.0, 8.0),
        relative: 2.0 * ULP,
        absolute: 2.5e-7,
        exact: |x| 0.5 * x * (1.0 + erf64(x * core::f64::consts::FRAC_1_SQRT_2)),
    },
];

pub(crate) fn gelu64(x: f64) -> f64 {
    0.5 * x * (1.0 + (0.797_884_560_802_865_4 * x * (1.0 + 0.044_715 * x * x)).tanh())
}

#[test]
fn functions_keep_their_bounds() {
    for bound in BOUNDS {
        on_each!(accuracy(bound));
    }
}

fn limits<S: Simd>(s: S, level: &str) {
    let (inf, nan) = (f32::INFINITY, f32::NAN);
    type Case<F> = (&'static str, fn(F) -> F, [f32; 4]);
    // At -inf, +inf, NaN and -0.
    let cases: [Case<S::F>; 10] = [
        ("exp", math::exp, [0.0, inf, nan, 1.0]),
        ("expm1", math::expm1, [-1.0, inf, nan, 0.0]),
        ("sigmoid", math::sigmoid, [0.0, 1.0, nan, 0.5]),
        ("tanh", math::tanh, [-1.0, 1.0, nan, 0.0]),
        ("softplus", math::softplus, [0.0, inf, nan, core::f32::consts::LN_2]),
        ("erf", math::erf, [-1.0, 1.0, nan, 0.0]),
        ("silu", math::silu, [nan, inf, nan, 0.0]),
        ("gelu", math::gelu, [0.0, inf, nan, 0.0]),
        ("gelu_quick", math::gelu_quick, [nan, inf, nan, 0.0]),
        ("gelu_erf", math::gelu_erf, [nan, inf, nan, 0.0]),
    ];
    for (name, f, want) in cases {
        for (x, want) in [-inf, inf, nan, -0.0].into_iter().zip(want) {
            let got = lanes_of(s, f(s.splat(x)))[0];
            let same = got == want || got.is_nan() && want.is_nan();
            assert!(same || (got - want).abs() < 1e-7, "{level} {name}({x}) = {got}, not {want}");
        }
    }
    assert_eq!(lanes_of(s, math::exp(s.splat(-200.0)))[0], 0.0);
    assert_eq!(lanes_of(s, math::exp(s.splat(88.8)))[0], inf);
    assert_eq!(lanes_of(s, math::exp(s.splat(0.0)))[0], 1.0);
}

#[test]
fn functions_at_infinity_and_nan() {
    on_each!(limits());
}

#[test]
fn maps_have_the_same_bits_with_one_lane_and_with_eight() {
    for i in 0..4000 {
        let x = (i - 2000) as f32 * 0.0173;
        macro_rules! same {
            ($($f:ident)*) => {$(
                let one = lanes_of(scalar::Single, math::$f(scalar::Single.splat(x)))[0];
                let eight = lanes_of(Scalar, math::$f(Scalar.splat(x)))[3];
                assert!(one.to_bits() == eight.to_bits() || one.is_nan() && eight.is_nan());
            )*};
        }
        same!(exp expm1 sigmoid tanh softplus erf silu gelu gelu_quick gelu_erf);
    }
}

fn rows<S: Simd>(s: S, level: &str) {
    if S::F::N != LANES {
        return;
    }
    for n in 0..140usize {
        let a: Vec<f32> = (0..n).map(|i| (i as f32 * 0.7).sin()).collect();
        // SAFETY: `n` elements.
        let got = unsafe { row::sum(s, a.as_ptr(), n) };
        let exact: f64 = a.iter().map(|x| f64::from(*x)).sum();
        assert!((f64::from(got) - exact).abs() < 1e-5, "{level} {n}");
        // SAFETY: `n` elements.
        let got = unsafe { row::sum_squares(s, a.as_ptr(), 0.25, n) };
        let exact: f64 = a.iter().map(|x| (f64::from(*x) - 0.25).powi(2)).sum();
        assert!((f64::from(got) - exact).abs() < 1e-4, "{level} {n}");
        // SAFETY: `n` elements.
        let got = unsafe { row::largest(s, a.as_ptr(), n) };
        assert_eq!(got, a.iter().copied().fold(f32::NEG_INFINITY, f32::max));
        // One more, which must stay.
        let mut y = std::vec![1.0f32; n + 1];
        // SAFETY: `n` elements.
        unsafe { row::axpy::<S, F32>(s, 0.5, a.as_ptr().cast(), y.as_mut_ptr(), n) };
        // SAFETY: `n` elements.
        unsafe { row::scale(s, y.as_mut_ptr(), 2.0, n) };
        for i in 0..n {
            assert!((y[i] - (2.0 + a[i])).abs() < 1e-6, "{level} {n} {i}");
        }
        assert_eq!(y[n], 1.0);
    }
}

#[test]
fn rows_of_any_length() {
    on_each!(rows());
}
