//! Operations
//!
//! One function for each; each lays down a node and returns its number. The result's type and lengths follow from the
//! sources. `dinrail_device_supports` tells whether a device has a kernel for it.

use crate::graph::{dinrail_graph, dinrail_id, id, lay, mistake};
use crate::params::{
    axis, dinrail_glu, dinrail_rope, dinrail_unary, glu_from, precision, rope_from, unary_from,
};
use dinrail::op::{Glu, GluKind, Op, Unary, Window};

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
