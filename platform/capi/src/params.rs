//! Parameters of operations
//!
//! What the functions of the next chapter take beside nodes.

use crate::error::Fault;
use dinrail::Error;
use dinrail::op::{GluKind, Precision, Rope, RopeMode, Unary};

/// A function of one element.
pub type dinrail_unary = u32;
/// |x|
pub const DINRAIL_UNARY_ABS: u32 = 0;
/// -1, 0 or 1.
pub const DINRAIL_UNARY_SGN: u32 = 1;
/// -x
pub const DINRAIL_UNARY_NEG: u32 = 2;
/// 1 where x > 0, else 0.
pub const DINRAIL_UNARY_STEP: u32 = 3;
/// tanh(x)
pub const DINRAIL_UNARY_TANH: u32 = 4;
/// x where x > 0, else exp(x) - 1.
pub const DINRAIL_UNARY_ELU: u32 = 5;
/// max(x, 0)
pub const DINRAIL_UNARY_RELU: u32 = 6;
/// 1 / (1 + exp(-x))
pub const DINRAIL_UNARY_SIGMOID: u32 = 7;
/// GELU, tanh approximation.
pub const DINRAIL_UNARY_GELU: u32 = 8;
/// x * sigmoid(1.702 x)
pub const DINRAIL_UNARY_GELU_QUICK: u32 = 9;
/// x * sigmoid(x)
pub const DINRAIL_UNARY_SILU: u32 = 10;
/// x * min(1, max(0, (x + 3) / 6))
pub const DINRAIL_UNARY_HARDSWISH: u32 = 11;
/// min(1, max(0, (x + 3) / 6))
pub const DINRAIL_UNARY_HARDSIGMOID: u32 = 12;
/// exp(x)
pub const DINRAIL_UNARY_EXP: u32 = 13;
/// exp(x) - 1
pub const DINRAIL_UNARY_EXPM1: u32 = 14;
/// log(1 + exp(x))
pub const DINRAIL_UNARY_SOFTPLUS: u32 = 15;
/// GELU, exact.
pub const DINRAIL_UNARY_GELU_ERF: u32 = 16;
/// Rounded down.
pub const DINRAIL_UNARY_FLOOR: u32 = 17;
/// Rounded up.
pub const DINRAIL_UNARY_CEIL: u32 = 18;
/// Rounded, halves away from zero.
pub const DINRAIL_UNARY_ROUND: u32 = 19;
/// Rounded towards zero.
pub const DINRAIL_UNARY_TRUNC: u32 = 20;

/// The function in a gated unit.
pub type dinrail_glu = u32;
/// max(x, 0)
pub const DINRAIL_GLU_REGLU: u32 = 0;
/// GELU, tanh approximation.
pub const DINRAIL_GLU_GEGLU: u32 = 1;
/// x * sigmoid(x)
pub const DINRAIL_GLU_SWIGLU: u32 = 2;
/// GELU, exact.
pub const DINRAIL_GLU_GEGLU_ERF: u32 = 3;
/// x * sigmoid(1.702 x)
pub const DINRAIL_GLU_GEGLU_QUICK: u32 = 4;

/// Neighbours are rotated together: (0, 1), (2, 3) and so on.
pub const DINRAIL_ROPE_NORMAL: u32 = 0;
/// Halves are rotated together: (0, n/2), (1, n/2 + 1) and so on.
pub const DINRAIL_ROPE_NEOX: u32 = 2;

/// Parameters of the rotary embedding (with YaRN where `ext_factor` isn't 0). Start from `DINRAIL_ROPE_INIT`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct dinrail_rope {
    /// Elements of each row that are rotated (at most 65535); the rest is copied.
    pub dims: u32,
    /// One of DINRAIL_ROPE_*.
    pub mode: u32,
    /// Context length that the model was trained with (YaRN).
    pub trained_context: u32,
    /// Base of the frequencies, such as 10000.
    pub base: f32,
    /// Factor on positions.
    pub scale: f32,
    /// YaRN: share of extrapolation, 0 for none.
    pub ext_factor: f32,
    /// Factor on the rotated values' magnitude.
    pub attn_factor: f32,
    /// YaRN: number of rotations above which a dimension is only extrapolated.
    pub beta_fast: f32,
    /// YaRN: number of rotations below which a dimension is only interpolated.
    pub beta_slow: f32,
}

pub(crate) fn unary_from(function: dinrail_unary) -> Result<Unary, Fault> {
    Ok(match function {
        DINRAIL_UNARY_ABS => Unary::Abs,
        DINRAIL_UNARY_SGN => Unary::Sgn,
        DINRAIL_UNARY_NEG => Unary::Neg,
        DINRAIL_UNARY_STEP => Unary::Step,
        DINRAIL_UNARY_TANH => Unary::Tanh,
        DINRAIL_UNARY_ELU => Unary::Elu,
        DINRAIL_UNARY_RELU => Unary::Relu,
        DINRAIL_UNARY_SIGMOID => Unary::Sigmoid,
        DINRAIL_UNARY_GELU => Unary::Gelu,
        DINRAIL_UNARY_GELU_QUICK => Unary::GeluQuick,
        DINRAIL_UNARY_SILU => Unary::Silu,
        DINRAIL_UNARY_HARDSWISH => Unary::HardSwish,
        DINRAIL_UNARY_HARDSIGMOID => Unary::HardSigmoid,
        DINRAIL_UNARY_EXP => Unary::Exp,
        DINRAIL_UNARY_EXPM1 => Unary::Expm1,
        DINRAIL_UNARY_SOFTPLUS => Unary::Softplus,
        DINRAIL_UNARY_GELU_ERF => Unary::GeluErf,
        DINRAIL_UNARY_FLOOR => Unary::Floor,
        DINRAIL_UNARY_CEIL => Unary::Ceil,
        DINRAIL_UNARY_ROUND => Unary::Round,
        DINRAIL_UNARY_TRUNC => Unary::Trunc,
        other => {
            return Err(Error::Invalid {
                what: "function of one element",
                value: i64::from(other),
            }
            .into());
        }
    })
}

pub(crate) fn glu_from(function: dinrail_glu) -> Result<GluKind, Fault> {
    Ok(match function {
        DINRAIL_GLU_REGLU => GluKind::Reglu,
        DINRAIL_GLU_GEGLU => GluKind::Geglu,
        DINRAIL_GLU_SWIGLU => GluKind::Swiglu,
        DINRAIL_GLU_GEGLU_ERF => GluKind::GegluErf,
        DINRAIL_GLU_GEGLU_QUICK => GluKind::GegluQuick,
        other => {
            return Err(Error::Invalid {
                what: "function of a gated unit",
                value: i64::from(other),
            }
            .into());
        }
    })
}

pub(crate) fn rope_from(rope: Option<&dinrail_rope>) -> Result<Rope, Fault> {
    let r = rope.ok_or(Error::Invalid { what: "pointer to the parameters of ROPE", value: 0 })?;
    let mode = match r.mode {
        DINRAIL_ROPE_NORMAL => RopeMode::Normal,
        DINRAIL_ROPE_NEOX => RopeMode::NeoX,
        other => {
            return Err(Error::Invalid { what: "mode of ROPE", value: i64::from(other) }.into());
        }
    };
    let wrong =
        Error::Invalid { what: "number of rotated elements of ROPE", value: i64::from(r.dims) };
    Ok(Rope {
        dims: u16::try_from(r.dims).map_err(|_| wrong)?,
        mode,
        trained_context: r.trained_context,
        base: r.base,
        scale: r.scale,
        ext_factor: r.ext_factor,
        attn_factor: r.attn_factor,
        beta_fast: r.beta_fast,
        beta_slow: r.beta_slow,
    })
}

/// A number of a dimension. One that no tensor has stays one that no tensor has.
pub(crate) fn axis(axis: u32) -> u8 {
    u8::try_from(axis).unwrap_or(u8::MAX)
}

pub(crate) fn precision(exact: bool) -> Precision {
    if exact { Precision::F32 } else { Precision::Default }
}
