//! Operations
//!
//! One function for each; each lays down a node and returns its number. The result's type and lengths follow from the
//! sources. `dinrail_device_supports` tells whether a device has a kernel for it.

use crate::error::Fault;
use crate::graph::{dinrail_graph, dinrail_id, id, lay, mistake};
use dinrail::Error;
use dinrail::op::{Glu, GluKind, Op, Precision, Rope, RopeMode, Unary, Window};

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

fn unary_from(function: dinrail_unary) -> Result<Unary, Fault> {
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

fn glu_from(function: dinrail_glu) -> Result<GluKind, Fault> {
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

fn rope_from(rope: Option<&dinrail_rope>) -> Result<Rope, Fault> {
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
fn axis(axis: u32) -> u8 {
    u8::try_from(axis).unwrap_or(u8::MAX)
}

fn precision(exact: bool) -> Precision {
    if exact { Precision::F32 } else { Precision::Default }
}

/// `a + b`, b repeated to a's lengths.
///
/// Threads: the graph's.
#[unsafe(export_name = symbol!("op_add"))]
pub extern "C" fn dinrail_op_add(
    graph: Option<&mut dinrail_graph>,
    a: dinrail_id,
    b: dinrail_id,
) -> dinrail_id {
    lay(graph, |g| g.add(id(a), id(b)))
}

/// `a - b`, b repeated to a's lengths.
///
/// Threads: the graph's.
#[unsafe(export_name = symbol!("op_sub"))]
pub extern "C" fn dinrail_op_sub(
    graph: Option<&mut dinrail_graph>,
    a: dinrail_id,
    b: dinrail_id,
) -> dinrail_id {
    lay(graph, |g| g.sub(id(a), id(b)))
}

/// `a * b`, element by element, b repeated to a's lengths.
///
/// Threads: the graph's.
#[unsafe(export_name = symbol!("op_mul"))]
pub extern "C" fn dinrail_op_mul(
    graph: Option<&mut dinrail_graph>,
    a: dinrail_id,
    b: dinrail_id,
) -> dinrail_id {
    lay(graph, |g| g.mul(id(a), id(b)))
}

/// `a / b`, b repeated to a's lengths.
///
/// Threads: the graph's.
#[unsafe(export_name = symbol!("op_div"))]
pub extern "C" fn dinrail_op_div(
    graph: Option<&mut dinrail_graph>,
    a: dinrail_id,
    b: dinrail_id,
) -> dinrail_id {
    lay(graph, |g| g.div(id(a), id(b)))
}

/// `a + b`, b a single element.
///
/// Threads: the graph's.
#[unsafe(export_name = symbol!("op_add1"))]
pub extern "C" fn dinrail_op_add1(
    graph: Option<&mut dinrail_graph>,
    a: dinrail_id,
    b: dinrail_id,
) -> dinrail_id {
    lay(graph, |g| g.add1(id(a), id(b)))
}

/// `a * scale + bias`.
///
/// Threads: the graph's.
#[unsafe(export_name = symbol!("op_scale"))]
pub extern "C" fn dinrail_op_scale(
    graph: Option<&mut dinrail_graph>,
    a: dinrail_id,
    scale: f32,
    bias: f32,
) -> dinrail_id {
    lay(graph, |g| g.scale(id(a), scale, bias))
}

/// Each element limited to `min` to `max`.
///
/// Threads: the graph's.
#[unsafe(export_name = symbol!("op_clamp"))]
pub extern "C" fn dinrail_op_clamp(
    graph: Option<&mut dinrail_graph>,
    a: dinrail_id,
    min: f32,
    max: f32,
) -> dinrail_id {
    lay(graph, |g| g.clamp(id(a), min, max))
}

/// Squares.
///
/// Threads: the graph's.
#[unsafe(export_name = symbol!("op_sqr"))]
pub extern "C" fn dinrail_op_sqr(graph: Option<&mut dinrail_graph>, a: dinrail_id) -> dinrail_id {
    lay(graph, |g| g.sqr(id(a)))
}

/// Square roots.
///
/// Threads: the graph's.
#[unsafe(export_name = symbol!("op_sqrt"))]
pub extern "C" fn dinrail_op_sqrt(graph: Option<&mut dinrail_graph>, a: dinrail_id) -> dinrail_id {
    lay(graph, |g| g.sqrt(id(a)))
}

/// Natural logarithms.
///
/// Threads: the graph's.
#[unsafe(export_name = symbol!("op_log"))]
pub extern "C" fn dinrail_op_log(graph: Option<&mut dinrail_graph>, a: dinrail_id) -> dinrail_id {
    lay(graph, |g| g.log(id(a)))
}

/// Sines.
///
/// Threads: the graph's.
#[unsafe(export_name = symbol!("op_sin"))]
pub extern "C" fn dinrail_op_sin(graph: Option<&mut dinrail_graph>, a: dinrail_id) -> dinrail_id {
    lay(graph, |g| g.sin(id(a)))
}

/// Cosines.
///
/// Threads: the graph's.
#[unsafe(export_name = symbol!("op_cos"))]
pub extern "C" fn dinrail_op_cos(graph: Option<&mut dinrail_graph>, a: dinrail_id) -> dinrail_id {
    lay(graph, |g| g.cos(id(a)))
}

/// `max(x, 0)`; short for `dinrail_op_unary`.
///
/// Threads: the graph's.
#[unsafe(export_name = symbol!("op_relu"))]
pub extern "C" fn dinrail_op_relu(graph: Option<&mut dinrail_graph>, a: dinrail_id) -> dinrail_id {
    lay(graph, |g| g.relu(id(a)))
}

/// `x * sigmoid(x)`; short for `dinrail_op_unary`.
///
/// Threads: the graph's.
#[unsafe(export_name = symbol!("op_silu"))]
pub extern "C" fn dinrail_op_silu(graph: Option<&mut dinrail_graph>, a: dinrail_id) -> dinrail_id {
    lay(graph, |g| g.silu(id(a)))
}

/// GELU, tanh approximation; short for `dinrail_op_unary`.
///
/// Threads: the graph's.
#[unsafe(export_name = symbol!("op_gelu"))]
pub extern "C" fn dinrail_op_gelu(graph: Option<&mut dinrail_graph>, a: dinrail_id) -> dinrail_id {
    lay(graph, |g| g.gelu(id(a)))
}

/// A function of one element: one of DINRAIL_UNARY_*.
///
/// Threads: the graph's.
#[unsafe(export_name = symbol!("op_unary"))]
pub extern "C" fn dinrail_op_unary(
    graph: Option<&mut dinrail_graph>,
    a: dinrail_id,
    function: dinrail_unary,
) -> dinrail_id {
    lay(graph, |g| match unary_from(function) {
        Ok(f) => g.unary(id(a), f),
        Err(e) => mistake(g, e),
    })
}

/// xIELU with its parameters as the kernels take them.
///
/// Threads: the graph's.
#[unsafe(export_name = symbol!("op_xielu"))]
pub extern "C" fn dinrail_op_xielu(
    graph: Option<&mut dinrail_graph>,
    a: dinrail_id,
    alpha_n: f32,
    alpha_p: f32,
    beta: f32,
    eps: f32,
) -> dinrail_id {
    lay(graph, |g| g.unary(id(a), Unary::Xielu { alpha_n, alpha_p, beta, eps }))
}

/// A gated unit: `f(a) * gate`, f by one of DINRAIL_GLU_*. With DINRAIL_NONE for the gate the halves of a's rows are the two, the other way round if `swapped`.
///
/// Threads: the graph's.
#[unsafe(export_name = symbol!("op_glu"))]
pub extern "C" fn dinrail_op_glu(
    graph: Option<&mut dinrail_graph>,
    a: dinrail_id,
    gate: dinrail_id,
    function: dinrail_glu,
    swapped: bool,
) -> dinrail_id {
    lay(graph, |g| match glu_from(function) {
        Ok(kind) => g.op(Op::Glu(Glu { kind, swapped }), &[id(a), id(gate)]),
        Err(e) => mistake(g, e),
    })
}

/// The gated unit of OpenAI's open models: alpha and limit are its parameters. Otherwise as `dinrail_op_glu`.
///
/// Threads: the graph's.
#[unsafe(export_name = symbol!("op_swiglu_oai"))]
pub extern "C" fn dinrail_op_swiglu_oai(
    graph: Option<&mut dinrail_graph>,
    a: dinrail_id,
    gate: dinrail_id,
    alpha: f32,
    limit: f32,
    swapped: bool,
) -> dinrail_id {
    lay(graph, |g| {
        let kind = GluKind::SwigluOai { alpha, limit };
        g.op(Op::Glu(Glu { kind, swapped }), &[id(a), id(gate)])
    })
}

/// The sum of all elements.
///
/// Threads: the graph's.
#[unsafe(export_name = symbol!("op_sum"))]
pub extern "C" fn dinrail_op_sum(graph: Option<&mut dinrail_graph>, a: dinrail_id) -> dinrail_id {
    lay(graph, |g| g.sum(id(a)))
}

/// The sum of each row.
///
/// Threads: the graph's.
#[unsafe(export_name = symbol!("op_sum_rows"))]
pub extern "C" fn dinrail_op_sum_rows(
    graph: Option<&mut dinrail_graph>,
    a: dinrail_id,
) -> dinrail_id {
    lay(graph, |g| g.sum_rows(id(a)))
}

/// The mean of each row.
///
/// Threads: the graph's.
#[unsafe(export_name = symbol!("op_mean"))]
pub extern "C" fn dinrail_op_mean(graph: Option<&mut dinrail_graph>, a: dinrail_id) -> dinrail_id {
    lay(graph, |g| g.mean(id(a)))
}

/// The number of each row's largest element, as I32.
///
/// Threads: the graph's.
#[unsafe(export_name = symbol!("op_argmax"))]
pub extern "C" fn dinrail_op_argmax(
    graph: Option<&mut dinrail_graph>,
    a: dinrail_id,
) -> dinrail_id {
    lay(graph, |g| g.argmax(id(a)))
}

/// Numbers that sort each row, as I32.
///
/// Threads: the graph's.
#[unsafe(export_name = symbol!("op_argsort"))]
pub extern "C" fn dinrail_op_argsort(
    graph: Option<&mut dinrail_graph>,
    a: dinrail_id,
    descending: bool,
) -> dinrail_id {
    lay(graph, |g| g.argsort(id(a), descending))
}

/// Rows minus mean, over `sqrt(variance + eps)`.
///
/// Threads: the graph's.
#[unsafe(export_name = symbol!("op_norm"))]
pub extern "C" fn dinrail_op_norm(
    graph: Option<&mut dinrail_graph>,
    a: dinrail_id,
    eps: f32,
) -> dinrail_id {
    lay(graph, |g| g.norm(id(a), eps))
}

/// Rows over `sqrt(mean of squares + eps)`.
///
/// Threads: the graph's.
#[unsafe(export_name = symbol!("op_rms_norm"))]
pub extern "C" fn dinrail_op_rms_norm(
    graph: Option<&mut dinrail_graph>,
    a: dinrail_id,
    eps: f32,
) -> dinrail_id {
    lay(graph, |g| g.rms_norm(id(a), eps))
}

/// Norm over groups of channels (dimension 2).
///
/// Threads: the graph's.
#[unsafe(export_name = symbol!("op_group_norm"))]
pub extern "C" fn dinrail_op_group_norm(
    graph: Option<&mut dinrail_graph>,
    a: dinrail_id,
    groups: u32,
    eps: f32,
) -> dinrail_id {
    lay(graph, |g| g.group_norm(id(a), groups, eps))
}

/// Rows over `max(length, eps)`.
///
/// Threads: the graph's.
#[unsafe(export_name = symbol!("op_l2_norm"))]
pub extern "C" fn dinrail_op_l2_norm(
    graph: Option<&mut dinrail_graph>,
    a: dinrail_id,
    eps: f32,
) -> dinrail_id {
    lay(graph, |g| g.l2_norm(id(a), eps))
}

/// The product: `a [k, n]` and `b [k, m]` give `[n, m]`, a repeated over b's dimensions 2 and 3. With `exact`, it is accumulated in f32.
///
/// Threads: the graph's.
#[unsafe(export_name = symbol!("op_mul_mat"))]
pub extern "C" fn dinrail_op_mul_mat(
    graph: Option<&mut dinrail_graph>,
    a: dinrail_id,
    b: dinrail_id,
    exact: bool,
) -> dinrail_id {
    lay(graph, |g| g.op(Op::MulMat { precision: precision(exact) }, &[id(a), id(b)]))
}

/// Rows of `a` at the numbers `b` (I32), as F32.
///
/// Threads: the graph's.
#[unsafe(export_name = symbol!("op_get_rows"))]
pub extern "C" fn dinrail_op_get_rows(
    graph: Option<&mut dinrail_graph>,
    a: dinrail_id,
    b: dinrail_id,
) -> dinrail_id {
    lay(graph, |g| g.get_rows(id(a), id(b)))
}

/// Stores `rows` (F32) at the row numbers `at` (I32 or I64) of `target`; the result is `target`.
///
/// Threads: the graph's.
#[unsafe(export_name = symbol!("op_set_rows"))]
pub extern "C" fn dinrail_op_set_rows(
    graph: Option<&mut dinrail_graph>,
    rows: dinrail_id,
    at: dinrail_id,
    target: dinrail_id,
) -> dinrail_id {
    lay(graph, |g| g.set_rows(id(rows), id(at), id(target)))
}

/// Copies and converts `a` into the memory of `b`; the result is `b`.
///
/// Threads: the graph's.
#[unsafe(export_name = symbol!("op_cpy"))]
pub extern "C" fn dinrail_op_cpy(
    graph: Option<&mut dinrail_graph>,
    a: dinrail_id,
    b: dinrail_id,
) -> dinrail_id {
    lay(graph, |g| g.cpy(id(a), id(b)))
}

/// A contiguous copy.
///
/// Threads: the graph's.
#[unsafe(export_name = symbol!("op_cont"))]
pub extern "C" fn dinrail_op_cont(graph: Option<&mut dinrail_graph>, a: dinrail_id) -> dinrail_id {
    lay(graph, |g| g.cont(id(a)))
}

/// A contiguous copy.
///
/// Threads: the graph's.
#[unsafe(export_name = symbol!("op_dup"))]
pub extern "C" fn dinrail_op_dup(graph: Option<&mut dinrail_graph>, a: dinrail_id) -> dinrail_id {
    lay(graph, |g| g.dup(id(a)))
}

/// The same elements under other lengths; a view. `a` is contiguous.
///
/// Threads: the graph's.
#[unsafe(export_name = symbol!("op_reshape"))]
pub extern "C" fn dinrail_op_reshape(
    graph: Option<&mut dinrail_graph>,
    a: dinrail_id,
    ne0: usize,
    ne1: usize,
    ne2: usize,
    ne3: usize,
) -> dinrail_id {
    lay(graph, |g| g.reshape(id(a), [ne0, ne1, ne2, ne3]))
}

/// A window on `a`: lengths, strides of dimensions 1 to 3 in bytes, first byte.
///
/// Threads: the graph's.
#[unsafe(export_name = symbol!("op_view"))]
pub extern "C" fn dinrail_op_view(
    graph: Option<&mut dinrail_graph>,
    a: dinrail_id,
    ne0: usize,
    ne1: usize,
    ne2: usize,
    ne3: usize,
    nb1: usize,
    nb2: usize,
    nb3: usize,
    offset: usize,
) -> dinrail_id {
    lay(graph, |g| g.view(id(a), [ne0, ne1, ne2, ne3], [nb1, nb2, nb3], offset))
}

/// Dimension 0 of `a` becomes dimension `axis0`, and so on; a view.
///
/// Threads: the graph's.
#[unsafe(export_name = symbol!("op_permute"))]
pub extern "C" fn dinrail_op_permute(
    graph: Option<&mut dinrail_graph>,
    a: dinrail_id,
    axis0: u32,
    axis1: u32,
    axis2: u32,
    axis3: u32,
) -> dinrail_id {
    lay(graph, |g| g.permute(id(a), [axis0, axis1, axis2, axis3].map(axis)))
}

/// Dimensions 0 and 1 change places; a view.
///
/// Threads: the graph's.
#[unsafe(export_name = symbol!("op_transpose"))]
pub extern "C" fn dinrail_op_transpose(
    graph: Option<&mut dinrail_graph>,
    a: dinrail_id,
) -> dinrail_id {
    lay(graph, |g| g.transpose(id(a)))
}

/// `a` repeated to lengths.
///
/// Threads: the graph's.
#[unsafe(export_name = symbol!("op_repeat"))]
pub extern "C" fn dinrail_op_repeat(
    graph: Option<&mut dinrail_graph>,
    a: dinrail_id,
    ne0: usize,
    ne1: usize,
    ne2: usize,
    ne3: usize,
) -> dinrail_id {
    lay(graph, |g| g.repeat(id(a), [ne0, ne1, ne2, ne3]))
}

/// `a` and `b` one after the other along a dimension.
///
/// Threads: the graph's.
#[unsafe(export_name = symbol!("op_concat"))]
pub extern "C" fn dinrail_op_concat(
    graph: Option<&mut dinrail_graph>,
    a: dinrail_id,
    b: dinrail_id,
    dim: u32,
) -> dinrail_id {
    lay(graph, |g| g.concat(id(a), id(b), axis(dim)))
}

/// A copy of `a` with `b` added in a window: strides of dimensions 1 to 3 and first byte, in bytes.
///
/// Threads: the graph's.
#[unsafe(export_name = symbol!("op_acc"))]
pub extern "C" fn dinrail_op_acc(
    graph: Option<&mut dinrail_graph>,
    a: dinrail_id,
    b: dinrail_id,
    nb1: usize,
    nb2: usize,
    nb3: usize,
    offset: usize,
) -> dinrail_id {
    lay(graph, |g| g.acc(id(a), id(b), Window { nb: [nb1, nb2, nb3], offset }))
}

/// A copy of `a` with `b` stored in a window: strides of dimensions 1 to 3 and first byte, in bytes.
///
/// Threads: the graph's.
#[unsafe(export_name = symbol!("op_set"))]
pub extern "C" fn dinrail_op_set(
    graph: Option<&mut dinrail_graph>,
    a: dinrail_id,
    b: dinrail_id,
    nb1: usize,
    nb2: usize,
    nb3: usize,
    offset: usize,
) -> dinrail_id {
    lay(graph, |g| g.set(id(a), id(b), Window { nb: [nb1, nb2, nb3], offset }))
}

/// Elements whose column is greater than row plus `past` become minus infinity.
///
/// Threads: the graph's.
#[unsafe(export_name = symbol!("op_diag_mask_inf"))]
pub extern "C" fn dinrail_op_diag_mask_inf(
    graph: Option<&mut dinrail_graph>,
    a: dinrail_id,
    past: u32,
) -> dinrail_id {
    lay(graph, |g| g.diag_mask_inf(id(a), past))
}

/// `softmax(a * scale + slope * mask)` by row. `mask` and `sinks` (one logit per head) may be DINRAIL_NONE; `max_bias` is ALiBi's, 0 for none.
///
/// Threads: the graph's.
#[unsafe(export_name = symbol!("op_soft_max"))]
pub extern "C" fn dinrail_op_soft_max(
    graph: Option<&mut dinrail_graph>,
    a: dinrail_id,
    mask: dinrail_id,
    sinks: dinrail_id,
    scale: f32,
    max_bias: f32,
) -> dinrail_id {
    lay(graph, |g| g.op(Op::SoftMax { scale, max_bias }, &[id(a), id(mask), id(sinks)]))
}

/// Rotary embedding of `a` by the positions `at` (I32). `factors` (on frequencies) may be DINRAIL_NONE.
///
/// Threads: the graph's.
#[unsafe(export_name = symbol!("op_rope"))]
pub extern "C" fn dinrail_op_rope(
    graph: Option<&mut dinrail_graph>,
    a: dinrail_id,
    at: dinrail_id,
    factors: dinrail_id,
    rope: Option<&dinrail_rope>,
) -> dinrail_id {
    lay(graph, |g| match rope_from(rope) {
        Ok(rope) => g.rope(id(a), id(at), id(factors), rope),
        Err(e) => mistake(g, e),
    })
}

/// Attention in one node: `softmax(q k^T * scale + slope * mask) v` per head. `mask` and `sinks` may be DINRAIL_NONE; `max_bias` is ALiBi's and `softcap` limits the products, 0 for none. With `exact`, products are accumulated in f32.
///
/// Threads: the graph's.
#[unsafe(export_name = symbol!("op_flash_attn"))]
pub extern "C" fn dinrail_op_flash_attn(
    graph: Option<&mut dinrail_graph>,
    q: dinrail_id,
    k: dinrail_id,
    v: dinrail_id,
    mask: dinrail_id,
    sinks: dinrail_id,
    scale: f32,
    max_bias: f32,
    softcap: f32,
    exact: bool,
) -> dinrail_id {
    lay(graph, |g| {
        let precision = precision(exact);
        g.op(
            Op::FlashAttn { scale, max_bias, softcap, precision },
            &[id(q), id(k), id(v), id(mask), id(sinks)],
        )
    })
}

/// `start`, `start + step`, and so on, below `stop`.
///
/// Threads: the graph's.
#[unsafe(export_name = symbol!("op_arange"))]
pub extern "C" fn dinrail_op_arange(
    graph: Option<&mut dinrail_graph>,
    start: f32,
    stop: f32,
    step: f32,
) -> dinrail_id {
    lay(graph, |g| g.arange(start, stop, step))
}
