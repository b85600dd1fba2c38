//! Functions of one element.

use super::vec::row::map_row;
use super::vec::{Bf16, Elem, F16, F32, Lanes, Simd, math, per_level, pick, share, split};
use crate::{Args, Kernel, Level};
use dinrail_core::error::Result;
use dinrail_core::hal::Query;
use dinrail_core::op::{Op, Unary};
use dinrail_core::tensor::DType;

/// Elements that a worker takes at once.
const PIECE: usize = 1024;

/// A function on vectors, with its parameters.
trait Map: Copy {
    /// Reads the parameters.
    fn of(op: &Op) -> Self;
    /// The function.
    fn apply<F: Lanes>(self, x: F) -> F;
}

/// `f(x)` for every element, in pieces of rows.
///
/// # Safety
/// As [`Kernel`].
#[inline(always)]
unsafe fn run<S: Simd, E: Elem, M: Map>(s: S, args: &Args<'_>) -> Result<()> {
    let [Some(src), ..] = args.src else { return Ok(()) };
    let (s, f) = (s.map(), M::of(args.op));
    let (from, to) = (src.desc, args.dst.desc);
    let n = to.ne[0];
    let pieces = n.div_ceil(PIECE);
    for unit in share(args.worker, to.rows().wrapping_mul(pieces), n.min(PIECE)) {
        let (row, start) = (unit / pieces.max(1), unit % pieces.max(1) * PIECE);
        let (i1, i2, i3) = split(row, &to.ne);
        let at = start.wrapping_mul(E::SIZE);
        let x = src.ptr.wrapping_add(from.row_offset(i1, i2, i3).wrapping_add(at));
        let y = args.dst.ptr.wrapping_add(to.row_offset(i1, i2, i3).wrapping_add(at));
        map_row!(s, E, x, y, (n - start).min(PIECE), |v| f.apply(v));
    }
    Ok(())
}

macro_rules! maps {
    ($($name:ident, $f16:ident, $bf16:ident = |$s:ident, $x:ident| $value:expr;)*) => {
        $(
            #[allow(non_camel_case_types)]
            #[derive(Clone, Copy)]
            struct $name;

            impl Map for $name {
                fn of(_: &Op) -> Self {
                    Self
                }

                #[inline(always)]
                fn apply<F: Lanes>(self, $x: F) -> F {
                    let $s = $x.token();
                    $value
                }
            }
        )*

        per_level! {
            $(
                $name = run::<_, F32, super::$name>;
                $f16 = run::<_, F16, super::$name>;
                $bf16 = run::<_, Bf16, super::$name>;
            )*
            xielu = run::<_, F32, Xielu>;
            xielu_f16 = run::<_, F16, Xielu>;
            xielu_bf16 = run::<_, Bf16, Xielu>;
        }
    };
}

maps! {
    abs, abs_f16, abs_bf16 = |_s, x| x.abs();
    // Not of a NaN: that is neither above nor below, thus 0 as in ggml.
    sgn, sgn_f16, sgn_bf16 = |s, x| {
        let (zero, one) = (s.splat(0.0), s.splat(1.0));
        F::select(zero.lt(x), one, F::select(x.lt(zero), -one, zero))
    };
    neg, neg_f16, neg_bf16 = |_s, x| -x;
    step, step_f16, step_bf16 = |s, x| {
        let zero = s.splat(0.0);
        F::select(zero.lt(x), s.splat(1.0), zero)
    };
    tanh, tanh_f16, tanh_bf16 = |_s, x| math::tanh(x);
    elu, elu_f16, elu_bf16 = |s, x| F::select(s.splat(0.0).lt(x), x, math::expm1(x));
    // 0 for a NaN, as in ggml.
    relu, relu_f16, relu_bf16 = |s, x| x.max(s.splat(0.0));
    sigmoid, sigmoid_f16, sigmoid_bf16 = |_s, x| math::sigmoid(x);
    gelu, gelu_f16, gelu_bf16 = |_s, x| math::gelu(x);
    gelu_quick, gelu_quick_f16, gelu_quick_bf16 = |_s, x| math::gelu_quick(x);
    silu, silu_f16, silu_bf16 = |_s, x| math::silu(x);
    hard_swish, hard_swish_f16, hard_swish_bf16 = |_s, x| x * hard(x);
    hard_sigmoid, hard_sigmoid_f16, hard_sigmoid_bf16 = |_s, x| hard(x);
    exp, exp_f16, exp_bf16 = |_s, x| math::exp(x);
    expm1, expm1_f16, expm1_bf16 = |_s, x| math::expm1(x);
    softplus, softplus_f16, softplus_bf16 = |_s, x| math::softplus(x);
    gelu_erf, gelu_erf_f16, gelu_erf_bf16 = |_s, x| math::gelu_erf(x);
    floor, floor_f16, floor_bf16 = |_s, x| x.floor();
    ceil, ceil_f16, ceil_bf16 = |_s, x| x.ceil();
    // The largest number below a half, so that what is just below does not become 1.
    round, round_f16, round_bf16 = |s, x| (x + s.splat(0.499_999_97).copysign(x)).trunc();
    trunc, trunc_f16, trunc_bf16 = |_s, x| x.trunc();
}

/// `min(1, max(0, (x + 3) / 6))`; a NaN stays one.
#[inline(always)]
fn hard<F: Lanes>(x: F) -> F {
    let s = x.token();
    let y = (x + s.splat(3.0)) / s.splat(6.0);
    s.splat(1.0).min(s.splat(0.0).max(y))
}

#[derive(Clone, Copy)]
struct Xielu {
    alpha_n: f32,
    alpha_p: f32,
    beta: f32,
    eps: f32,
}

impl Map for Xielu {
    fn of(op: &Op) -> Self {
        match *op {
            Op::Unary(Unary::Xielu { alpha_n, alpha_p, beta, eps }) => {
                Self { alpha_n, alpha_p, beta, eps }
            }
            _ => Self { alpha_n: 0.0, alpha_p: 0.0, beta: 0.0, eps: 0.0 },
        }
    }

    #[inline(always)]
    fn apply<F: Lanes>(self, x: F) -> F {
        let s = x.token();
        let linear = s.splat(self.beta) * x;
        let positive = (s.splat(self.alpha_p) * x).mul_add(x, linear);
        let e = math::expm1(x.min(s.splat(self.eps)));
        let negative = (e - x).mul_add(s.splat(self.alpha_n), linear);
        F::select(s.splat(0.0).lt(x), positive, negative)
    }
}

/// The kernel of a level for a node.
pub(super) const fn resolve(level: Level, q: &Query<'_>) -> Option<Kernel> {
    let (Op::Unary(u), Some(a)) = (q.op, q.src.source(0)) else { return None };
    if a.dtype as u8 != q.dst.dtype as u8 || !a.rows_contiguous() || !q.dst.rows_contiguous() {
        return None;
    }
    macro_rules! by_type {
        ($f32:ident $f16:ident $bf16:ident) => {
            match a.dtype {
                DType::F32 => pick!(level, $f32),
                DType::F16 => pick!(level, $f16),
                DType::BF16 => pick!(level, $bf16),
                _ => return None,
            }
        };
    }
    Some(match u {
        Unary::Abs => by_type!(abs abs_f16 abs_bf16),
        Unary::Sgn => by_type!(sgn sgn_f16 sgn_bf16),
        Unary::Neg => by_type!(neg neg_f16 neg_bf16),
        Unary::Step => by_type!(step step_f16 step_bf16),
        Unary::Tanh => by_type!(tanh tanh_f16 tanh_bf16),
        Unary::Elu => by_type!(elu elu_f16 elu_bf16),
        Unary::Relu => by_type!(relu relu_f16 relu_bf16),
        Unary::Sigmoid => by_type!(sigmoid sigmoid_f16 sigmoid_bf16),
        Unary::Gelu => by_type!(gelu gelu_f16 gelu_bf16),
        Unary::GeluQuick => by_type!(gelu_quick gelu_quick_f16 gelu_quick_bf16),
        Unary::Silu => by_type!(silu silu_f16 silu_bf16),
        Unary::HardSwish => by_type!(hard_swish hard_swish_f16 hard_swish_bf16),
        Unary::HardSigmoid => by_type!(hard_sigmoid hard_sigmoid_f16 hard_sigmoid_bf16),
        Unary::Exp => by_type!(exp exp_f16 exp_bf16),
        Unary::Expm1 => by_type!(expm1 expm1_f16 expm1_bf16),
        Unary::Softplus => by_type!(softplus softplus_f16 softplus_bf16),
        Unary::GeluErf => by_type!(gelu_erf gelu_erf_f16 gelu_erf_bf16),
        Unary::Xielu { .. } => by_type!(xielu xielu_f16 xielu_bf16),
        Unary::Floor => by_type!(floor floor_f16 floor_bf16),
        Unary::Ceil => by_type!(ceil ceil_f16 ceil_bf16),
        Unary::Round => by_type!(round round_f16 round_bf16),
        Unary::Trunc => by_type!(trunc trunc_f16 trunc_bf16),
        _ => return None,
    })
}

#[cfg(test)]
mod tests;
