//! Functions on vectors. Measured against f64 over wide ranges by the tests: the bounds there are the contract.
//!
//! The polynomials are the classic minimax ones for binary32 (Moshier's Cephes library for `exp`, `log` and `tanh`;
//! Juffa's for `erf`).

use super::{Lanes, Simd};

macro_rules! horner {
    ($s:expr, $x:expr, $first:expr $(, $c:expr)*) => {{
        let x = $x;
        let p = $s.splat($first);
        $( let p = p.mul_add(x, $s.splat($c)); )*
        p
    }};
}

const LN2_HIGH: f32 = 0.693_359_4;
const LN2_LOW: f32 = -2.121_944_4e-4;

/// `(n, r, e^r - 1)` with `x = n ln 2 + r` and `|r| <= ln 2 / 2`, for `x` within exp's range.
#[inline(always)]
fn reduced<F: Lanes>(x: F) -> (F, F) {
    let s = x.token();
    let n = (x * s.splat(core::f32::consts::LOG2_E)).nearest();
    let r = n.mul_add(s.splat(-LN2_HIGH), x);
    let r = n.mul_add(s.splat(-LN2_LOW), r);
    let p = horner!(
        s,
        r,
        1.987_569_1e-4,
        1.398_199_9e-3,
        8.333_452e-3,
        4.166_579_6e-2,
        0.166_666_65,
        0.5
    );
    (n, p.mul_add(r * r, r))
}

/// `e^x`. 0 from about -104 down, infinite from about 88.73 up; subnormal results are right where the processor has
/// them on.
#[inline(always)]
pub(crate) fn exp<F: Lanes>(x: F) -> F {
    let s = x.token();
    // In this order the limits let a NaN pass.
    let x = s.splat(89.0).min(s.splat(-105.0).max(x));
    let (n, p) = reduced(x);
    // In two steps, because 2^n itself may be out of range where the result is not.
    let half = (n * s.splat(0.5)).floor();
    ((p + s.splat(1.0)) * half.exp2i()) * (n - half).exp2i()
}

/// `e^x - 1`, with small x exact to the last bits.
#[inline(always)]
pub(crate) fn expm1<F: Lanes>(x: F) -> F {
    let s = x.token();
    let limited = s.splat(0.34).min(s.splat(-0.34).max(x));
    let (_, small) = reduced(limited);
    F::select(x.abs().lt(s.splat(0.34)), small, exp(x) - s.splat(1.0))
}

/// `1 / (1 + e^-x)`.
#[inline(always)]
pub(crate) fn sigmoid<F: Lanes>(x: F) -> F {
    let one = x.token().splat(1.0);
    one / (one + exp(-x))
}

/// Hyperbolic tangent.
#[inline(always)]
pub(crate) fn tanh<F: Lanes>(x: F) -> F {
    let s = x.token();
    let z = x * x;
    let p =
        horner!(s, z, -5.704_988_7e-3, 2.063_908_8e-2, -5.373_971_6e-2, 0.133_314_42, -0.333_332_8);
    let small = (p * z).mul_add(x, x);
    let a = x.abs();
    let one = s.splat(1.0);
    let two = s.splat(2.0);
    let large = one - two / (exp(a + a) + one);
    F::select(a.lt(s.splat(0.625)), small, large.copysign(x))
}

/// Natural logarithm of normal positive numbers and of infinity; for others anything.
#[inline(always)]
fn ln_positive<F: Lanes>(x: F) -> F {
    let s = x.token();
    let one = s.splat(1.0);
    let (m, e) = x.split();
    // m into [sqrt(1/2), sqrt(2)).
    let upper = s.splat(core::f32::consts::SQRT_2).le(m);
    let m = F::select(upper, m * s.splat(0.5), m);
    let e = F::select(upper, e + one, e);
    let t = m - one;
    let z = t * t;
    let p = horner!(
        s,
        t,
        7.037_683_6e-2,
        -0.115_146_1,
        0.116_769_984,
        -0.124_201_41,
        0.142_493_23,
        -0.166_680_58,
        0.200_007_14,
        -0.249_999_94,
        0.333_333_3
    );
    let y = (p * t) * z;
    let y = e.mul_add(s.splat(LN2_LOW), y);
    let y = z.mul_add(s.splat(-0.5), y);
    let y = e.mul_add(s.splat(LN2_HIGH), t + y);
    let inf = s.splat(f32::INFINITY);
    F::select(x.lt(inf), y, inf)
}

/// `log(1 + e^x)`; x itself above 20, as ggml has it.
#[inline(always)]
pub(crate) fn softplus<F: Lanes>(x: F) -> F {
    let s = x.token();
    let one = s.splat(1.0);
    let twenty = s.splat(20.0);
    let u = exp(twenty.min(x));
    let w = one + u;
    // What the sum lost by rounding, to first order.
    let y = ln_positive(w) + (u - (w - one)) / w;
    // Where the sum is 1 the logarithm has nothing to say, and NaN must come through.
    F::select(twenty.lt(x), x, F::select(one.lt(w), y, u))
}

/// Error function.
#[inline(always)]
pub(crate) fn erf<F: Lanes>(x: F) -> F {
    let s = x.token();
    let one = s.splat(1.0);
    let z = x * x;
    let p = horner!(
        s,
        z,
        -5.967_617e-4,
        4.991_194e-3,
        -2.676_813_5e-2,
        0.112_819_925,
        -0.376_125_34,
        0.128_379_17
    );
    let small = p.mul_add(x, x);
    // 1 from here on.
    let t = s.splat(4.0).min(x.abs());
    let q = horner!(
        s,
        t,
        -1.728_534_7e-5,
        3.831_972_6e-4,
        -3.883_964_4e-3,
        2.425_462_2e-2,
        -0.106_777_88,
        -0.634_846_87,
        -0.128_717_51
    );
    let q = q.mul_add(t, -t);
    let large = (one - exp(q)).copysign(x);
    F::select(x.abs().lt(s.splat(0.927_734_4)), small, large)
}

/// `x * sigmoid(x)`.
#[inline(always)]
pub(crate) fn silu<F: Lanes>(x: F) -> F {
    x / (x.token().splat(1.0) + exp(-x))
}

/// GELU by the tanh approximation; exactly 0 and x beyond -10 and 10, as ggml has it.
#[inline(always)]
pub(crate) fn gelu<F: Lanes>(x: F) -> F {
    let s = x.token();
    let one = s.splat(1.0);
    // (1 + tanh u) / 2 = 1 / (1 + e^-2u) saves the cancellation on the negative side.
    let inner = (x * x).mul_add(s.splat(0.044_715), one);
    let u = x * s.splat(-2.0 * 0.797_884_6) * inner;
    let y = x / (one + exp(u));
    F::select(x.le(s.splat(-10.0)), s.splat(0.0), y)
}

/// `x * sigmoid(1.702 x)`.
#[inline(always)]
pub(crate) fn gelu_quick<F: Lanes>(x: F) -> F {
    let s = x.token();
    x / (s.splat(1.0) + exp(x * s.splat(-1.702)))
}

/// GELU by the error function.
#[inline(always)]
pub(crate) fn gelu_erf<F: Lanes>(x: F) -> F {
    let s = x.token();
    let half = s.splat(0.5) * x;
    erf(x * s.splat(core::f32::consts::FRAC_1_SQRT_2)).mul_add(half, half)
}
