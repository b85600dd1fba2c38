//! Functions of one element, of two, and gated units.

use super::{Reason, Sources, fresh};
use crate::error::tri;
use crate::tensor::{DType, Desc};

/// A function of one element.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum Unary {
    /// Absolute value.
    Abs,
    /// -1, 0 or 1.
    Sgn,
    /// Sign change.
    Neg,
    /// 1 where positive, else 0.
    Step,
    /// Hyperbolic tangent.
    Tanh,
    /// `x` where positive, else `exp(x) - 1`.
    Elu,
    /// `max(x, 0)`.
    Relu,
    /// `1 / (1 + exp(-x))`.
    Sigmoid,
    /// GELU by the tanh approximation.
    Gelu,
    /// `x * sigmoid(1.702 x)`.
    GeluQuick,
    /// `x * sigmoid(x)`.
    Silu,
    /// `x * min(1, max(0, (x + 3) / 6))`.
    HardSwish,
    /// `min(1, max(0, (x + 3) / 6))`.
    HardSigmoid,
    /// Exponential.
    Exp,
    /// `exp(x) - 1`.
    Expm1,
    /// `log(1 + exp(x))`; x itself above 20.
    Softplus,
    /// GELU by the error function.
    GeluErf,
    /// xIELU with its four parameters.
    Xielu {
        /// Factor of the negative side, after softplus.
        alpha_n: f32,
        /// Factor of the positive side, after softplus.
        alpha_p: f32,
        /// Linear part.
        beta: f32,
        /// Upper limit of x inside `expm1`.
        eps: f32,
    },
    /// Largest integer not above.
    Floor,
    /// Smallest integer not below.
    Ceil,
    /// Nearest integer, halves away from zero.
    Round,
    /// Towards zero.
    Trunc,
}

impl Unary {
    /// Every function without parameters, in ggml's order.
    pub const PLAIN: [Unary; 21] = [
        Unary::Abs,
        Unary::Sgn,
        Unary::Neg,
        Unary::Step,
        Unary::Tanh,
        Unary::Elu,
        Unary::Relu,
        Unary::Sigmoid,
        Unary::Gelu,
        Unary::GeluQuick,
        Unary::Silu,
        Unary::HardSwish,
        Unary::HardSigmoid,
        Unary::Exp,
        Unary::Expm1,
        Unary::Softplus,
        Unary::GeluErf,
        Unary::Floor,
        Unary::Ceil,
        Unary::Round,
        Unary::Trunc,
    ];

    /// ggml's name.
    pub const fn name(&self) -> &'static str {
        match self {
            Unary::Abs => "ABS",
            Unary::Sgn => "SGN",
            Unary::Neg => "NEG",
            Unary::Step => "STEP",
            Unary::Tanh => "TANH",
            Unary::Elu => "ELU",
            Unary::Relu => "RELU",
            Unary::Sigmoid => "SIGMOID",
            Unary::Gelu => "GELU",
            Unary::GeluQuick => "GELU_QUICK",
            Unary::Silu => "SILU",
            Unary::HardSwish => "HARDSWISH",
            Unary::HardSigmoid => "HARDSIGMOID",
            Unary::Exp => "EXP",
            Unary::Expm1 => "EXPM1",
            Unary::Softplus => "SOFTPLUS",
            Unary::GeluErf => "GELU_ERF",
            Unary::Xielu { .. } => "XIELU",
            Unary::Floor => "FLOOR",
            Unary::Ceil => "CEIL",
            Unary::Round => "ROUND",
            Unary::Trunc => "TRUNC",
        }
    }
}

/// The function of a gated unit.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum GluKind {
    /// `relu(x) * g`.
    Reglu,
    /// `gelu(x) * g`, tanh approximation.
    Geglu,
    /// `silu(x) * g`.
    Swiglu,
    /// `x sigmoid(alpha x) * (g + 1)` with x at most `limit` and g within `limit` of zero.
    SwigluOai {
        /// Factor inside the sigmoid.
        alpha: f32,
        /// Limit on x and g.
        limit: f32,
    },
    /// `gelu(x) * g`, error function.
    GegluErf,
    /// `x sigmoid(1.702 x) * g`.
    GegluQuick,
}

impl GluKind {
    /// ggml's name.
    pub const fn name(&self) -> &'static str {
        match self {
            GluKind::Reglu => "REGLU",
            GluKind::Geglu => "GEGLU",
            GluKind::Swiglu => "SWIGLU",
            GluKind::SwigluOai { .. } => "SWIGLU_OAI",
            GluKind::GegluErf => "GEGLU_ERF",
            GluKind::GegluQuick => "GEGLU_QUICK",
        }
    }
}

/// A gated unit. With one source, its rows hold x in the first half and the gate in the second (`swapped`: the other
/// way round); with two, x is the first and the gate the second.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Glu {
    /// The function.
    pub kind: GluKind,
    /// Gate first. Only for one source.
    pub swapped: bool,
}

const fn float(d: &Desc) -> Result<(), Reason> {
    if d.dtype.is_float() { Ok(()) } else { Err(Reason::TypeNotAllowed) }
}

/// `Add`, `Sub`, `Mul`, `Div`: b repeats to a; the result has a's type and lengths.
pub(super) const fn binary(src: &Sources) -> Result<Desc, Reason> {
    let a = tri!(src.need(0));
    let b = tri!(src.need(1));
    if !b.repeats_to(a) {
        return Err(Reason::NotBroadcastable);
    }
    if b.dtype.is_quantized() || a.dtype.is_integer() != b.dtype.is_integer() {
        return Err(Reason::TypeNotAllowed);
    }
    fresh(a.dtype, a.ne)
}

/// `Add1`: b is a single element.
pub(super) const fn add1(src: &Sources) -> Result<Desc, Reason> {
    let a = tri!(src.need(0));
    let b = tri!(src.need(1));
    if !b.is_scalar() {
        return Err(Reason::ShapeMismatch);
    }
    tri!(float(b));
    fresh(a.dtype, a.ne)
}

/// Maps of one float element.
pub(super) const fn float_map(src: &Sources) -> Result<Desc, Reason> {
    let a = tri!(src.need(0));
    tri!(float(a));
    fresh(a.dtype, a.ne)
}

/// `Clamp`: an ordered range.
pub(super) const fn clamp(src: &Sources, min: f32, max: f32) -> Result<Desc, Reason> {
    if min > max || min.is_nan() || max.is_nan() {
        return Err(Reason::BadParameter);
    }
    float_map(src)
}

/// `Unary`: rows without gaps.
pub(super) const fn unary(src: &Sources, _u: &Unary) -> Result<Desc, Reason> {
    let a = tri!(src.need(0));
    if !a.rows_contiguous() {
        return Err(Reason::NotContiguous);
    }
    float_map(src)
}

/// `Glu`: halves of one source, or two equal ones.
pub(super) const fn glu(src: &Sources, g: &Glu) -> Result<Desc, Reason> {
    let a = tri!(src.need(0));
    tri!(float(a));
    if !a.rows_contiguous() {
        return Err(Reason::NotContiguous);
    }
    match src.source(1) {
        Some(b) => {
            if !b.rows_contiguous() {
                return Err(Reason::NotContiguous);
            }
            if !a.same_shape(b) {
                return Err(Reason::ShapeMismatch);
            }
            if a.dtype as u8 != b.dtype as u8 {
                return Err(Reason::TypeMismatch);
            }
            if g.swapped {
                return Err(Reason::BadParameter);
            }
            fresh(a.dtype, a.ne)
        }
        None => {
            if !a.ne[0].is_multiple_of(2) {
                return Err(Reason::ShapeMismatch);
            }
            fresh(a.dtype, [a.ne[0] / 2, a.ne[1], a.ne[2], a.ne[3]])
        }
    }
}

/// `Arange`: `ceil((stop - start) / step)` values.
pub(super) const fn arange(start: f32, stop: f32, step: f32) -> Result<Desc, Reason> {
    let steps = (stop - start) / step;
    // Also refuses NaN and infinities.
    if !(steps > 0.0 && steps <= 16_777_216.0) {
        return Err(Reason::BadParameter);
    }
    let whole = steps as usize;
    let n = if (whole as f32) < steps { whole + 1 } else { whole };
    fresh(DType::F32, [n, 1, 1, 1])
}
