//! Functions of one element, of two, and gated units.

use super::Ctx;
use crate::element::wrapped;
use dinrail_core::error::Result;
use dinrail_core::op::{Glu, GluKind, Unary};

/// `f(a, b)` with b repeated to a's shape.
pub fn binary(ctx: &Ctx<'_>, f: impl Fn(f64, f64) -> f64) -> Result<()> {
    let (a, b) = (ctx.src(0)?, ctx.src(1)?);
    ctx.dst.fill(|at| f(a.get(at), b.get(wrapped(at, &b.desc.ne))));
    Ok(())
}

/// `f(a)`.
pub fn map(ctx: &Ctx<'_>, f: impl Fn(f64) -> f64) -> Result<()> {
    let a = ctx.src(0)?;
    ctx.dst.fill(|at| f(a.get(at)));
    Ok(())
}

/// `x` within `min..=max`; NaN stays NaN.
pub fn clamp(x: f64, min: f32, max: f32) -> f64 {
    if x < f64::from(min) {
        f64::from(min)
    } else if x > f64::from(max) {
        f64::from(max)
    } else {
        x
    }
}

fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + libm::exp(-x))
}

fn silu(x: f64) -> f64 {
    // At minus infinity the limit, where the formula has 0 times infinity.
    if x == f64::NEG_INFINITY { 0.0 } else { x * sigmoid(x) }
}

/// Constants of the tanh approximation: sqrt(2/pi) and the cubic term.
fn gelu(x: f64) -> f64 {
    if x == f64::NEG_INFINITY {
        return 0.0;
    }
    0.5 * x * (1.0 + libm::tanh(0.797_884_560_802_865_4 * x * (1.0 + 0.044715 * x * x)))
}

fn gelu_erf(x: f64) -> f64 {
    if x == f64::NEG_INFINITY {
        return 0.0;
    }
    0.5 * x * (1.0 + libm::erf(x * core::f64::consts::FRAC_1_SQRT_2))
}

fn gelu_quick(x: f64) -> f64 {
    if x == f64::NEG_INFINITY { 0.0 } else { x * sigmoid(1.702 * x) }
}

fn hard_sigmoid(x: f64) -> f64 {
    clamp((x + 3.0) / 6.0, 0.0, 1.0)
}

/// A function of one element.
pub fn unary(u: &Unary, x: f64) -> f64 {
    match *u {
        Unary::Abs => x.abs(),
        Unary::Sgn => f64::from(i8::from(x > 0.0) - i8::from(x < 0.0)),
        Unary::Neg => -x,
        Unary::Step => f64::from(u8::from(x > 0.0)),
        Unary::Tanh => libm::tanh(x),
        Unary::Elu => {
            if x > 0.0 {
                x
            } else {
                libm::expm1(x)
            }
        }
        Unary::Relu => {
            if x > 0.0 {
                x
            } else {
                0.0
            }
        }
        Unary::Sigmoid => sigmoid(x),
        Unary::Gelu => gelu(x),
        Unary::GeluQuick => gelu_quick(x),
        Unary::Silu => silu(x),
        Unary::HardSwish => x * hard_sigmoid(x),
        Unary::HardSigmoid => hard_sigmoid(x),
        Unary::Exp => libm::exp(x),
        Unary::Expm1 => libm::expm1(x),
        Unary::Softplus => {
            if x > 20.0 {
                x
            } else {
                libm::log1p(libm::exp(x))
            }
        }
        Unary::GeluErf => gelu_erf(x),
        Unary::Xielu { alpha_n, alpha_p, beta, eps } => {
            let [alpha_n, alpha_p, beta] = [alpha_n, alpha_p, beta].map(f64::from);
            if x > 0.0 {
                alpha_p * x * x + beta * x
            } else {
                (libm::expm1(x.min(f64::from(eps))) - x) * alpha_n + beta * x
            }
        }
        Unary::Floor => libm::floor(x),
        Unary::Ceil => libm::ceil(x),
        Unary::Round => libm::round(x),
        Unary::Trunc => libm::trunc(x),
        _ => f64::NAN,
    }
}

/// The gated unit of one pair.
fn gated(kind: &GluKind, x: f64, g: f64) -> f64 {
    match *kind {
        GluKind::Reglu => unary(&Unary::Relu, x) * g,
        GluKind::Geglu => gelu(x) * g,
        GluKind::Swiglu => silu(x) * g,
        GluKind::SwigluOai { alpha, limit } => {
            let x = clamp(x, f32::NEG_INFINITY, limit);
            let g = clamp(g, -limit, limit);
            x * sigmoid(f64::from(alpha) * x) * (g + 1.0)
        }
        GluKind::GegluErf => gelu_erf(x) * g,
        GluKind::GegluQuick => gelu_quick(x) * g,
        _ => f64::NAN,
    }
}

/// Gated units: x and gate are two sources, or halves of the rows of one.
pub fn glu(ctx: &Ctx<'_>, glu: &Glu) -> Result<()> {
    let (a, b) = (ctx.src(0)?, ctx.optional(1)?);
    let half = ctx.dst.desc.ne[0];
    let (x0, g0) = if glu.swapped { (half, 0) } else { (0, half) };
    ctx.dst.fill(|[i0, i1, i2, i3]| {
        let (x, g) = match &b {
            Some(b) => (a.get([i0, i1, i2, i3]), b.get([i0, i1, i2, i3])),
            None => (a.get([x0 + i0, i1, i2, i3]), a.get([g0 + i0, i1, i2, i3])),
        };
        gated(&glu.kind, x, g)
    });
    Ok(())
}

/// `start`, `start + step`, …
pub fn arange(ctx: &Ctx<'_>, start: f32, step: f32) -> Result<()> {
    ctx.dst.fill(|[i0, ..]| f64::from(start) + f64::from(step) * i0 as f64);
    Ok(())
}
