//! Functions of one and two elements, gated units, ranges.

use super::Work;
use crate::Args;
use crate::table::Family;
use dinrail_core::hal::Query;
use dinrail_core::op::{Glu, GluKind, Op, Unary};
use dinrail_core::tensor::{DType, Desc};

/// The number of a function in `kernels/map.wgsl`, and its parameters.
fn function(op: &Op) -> Option<(usize, [f32; 4])> {
    let none = [0.0; 4];
    Some(match *op {
        Op::Unary(u) => match u {
            Unary::Abs => (0, none),
            Unary::Sgn => (1, none),
            Unary::Neg => (2, none),
            Unary::Step => (3, none),
            Unary::Tanh => (4, none),
            Unary::Elu => (5, none),
            Unary::Relu => (6, none),
            Unary::Sigmoid => (7, none),
            Unary::Gelu => (8, none),
            Unary::GeluQuick => (9, none),
            Unary::Silu => (10, none),
            Unary::HardSwish => (11, none),
            Unary::HardSigmoid => (12, none),
            Unary::Exp => (13, none),
            Unary::Expm1 => (14, none),
            Unary::Softplus => (15, none),
            Unary::GeluErf => (16, none),
            Unary::Xielu { alpha_n, alpha_p, beta, eps } => (17, [alpha_n, alpha_p, beta, eps]),
            Unary::Floor => (18, none),
            Unary::Ceil => (19, none),
            Unary::Round => (20, none),
            Unary::Trunc => (21, none),
            _ => return None,
        },
        Op::Sqr => (22, none),
        Op::Sqrt => (23, none),
        Op::Log => (24, none),
        Op::Sin => (25, none),
        Op::Cos => (26, none),
        Op::Scale { scale, bias } => (27, [scale, bias, 0.0, 0.0]),
        Op::Clamp { min, max } => (28, [min, max, 0.0, 0.0]),
        _ => return None,
    })
}

pub(super) fn map<'w>(args: &'w mut Args, q: &Query<'_>) -> Option<Work<'w>> {
    let a = q.src.source(0)?;
    let (number, parameters) = function(q.op)?;
    let mut w = Work::new(args, Family::Map, [q.dst.dtype, a.dtype, a.dtype], q.dst, &[a]);
    w.n([q.dst.elements(), number, 0, 0]);
    w.args.f(0, &parameters);
    w.invocations(q.dst.elements());
    Some(w)
}

pub(super) fn binary<'w>(args: &'w mut Args, q: &Query<'_>) -> Option<Work<'w>> {
    let (a, b) = (q.src.source(0)?, q.src.source(1)?);
    let number = match q.op {
        Op::Add | Op::Add1 => 0,
        Op::Sub => 1,
        Op::Mul => 2,
        Op::Div => 3,
        _ => return None,
    };
    let mut w = Work::new(args, Family::Binary, [q.dst.dtype, a.dtype, b.dtype], q.dst, &[a, b]);
    w.n([q.dst.elements(), number, 0, 0]);
    w.invocations(q.dst.elements());
    Some(w)
}

pub(super) fn glu<'w>(args: &'w mut Args, q: &Query<'_>, g: &Glu) -> Option<Work<'w>> {
    let a = q.src.source(0)?;
    let (number, f) = match g.kind {
        GluKind::Reglu => (0, [0.0; 2]),
        GluKind::Geglu => (1, [0.0; 2]),
        GluKind::Swiglu => (2, [0.0; 2]),
        GluKind::SwigluOai { alpha, limit } => (3, [alpha, limit]),
        GluKind::GegluErf => (4, [0.0; 2]),
        GluKind::GegluQuick => (5, [0.0; 2]),
        _ => return None,
    };
    let types = [q.dst.dtype, a.dtype, a.dtype];
    let mut w = match q.src.source(1) {
        Some(b) => Work::new(args, Family::Glu, types, q.dst, &[a, b]),
        None => {
            // Both are halves of one source's rows.
            let half = Desc { ne: [a.ne[0] / 2, a.ne[1], a.ne[2], a.ne[3]], ..*a };
            let mut w = Work::new(args, Family::Glu, types, q.dst, &[&half, &half]);
            w.sources = [0; 5];
            let second = (half.ne[0] * a.nb[0]) as u32;
            w.args.move_by(if g.swapped { 1 } else { 2 }, second);
            w
        }
    };
    w.n([q.dst.elements(), number, 0, 0]);
    w.args.f(0, &f);
    w.invocations(q.dst.elements());
    Some(w)
}

pub(super) fn arange<'w>(args: &'w mut Args, q: &Query<'_>) -> Option<Work<'w>> {
    let Op::Arange { start, step, .. } = *q.op else { return None };
    let mut w = Work::new(args, Family::Arange, [DType::F32; 3], q.dst, &[]);
    w.n([q.dst.elements(), 0, 0, 0]);
    w.args.f(0, &[start, step]);
    w.invocations(q.dst.elements());
    Some(w)
}
