//! Functions of one element, of two, and gated units.

use crate::case::{F32 as ALL_F32, Group, Layout, PACKED, PLAIN, Shape};
use crate::fill::Fill;
use dinrail_core::op::{Glu, GluKind, Op, Unary};
use dinrail_core::tensor::DType::{self, *};

use Layout::{Packed, Permuted, Window};

/// Odd tails, one element, several dimensions, none.
const SHAPES: &[Shape] = &[
    Shape::of(&[[1, 1, 1, 1]]),
    Shape::of(&[[7, 1, 1, 1]]),
    Shape::of(&[[33, 3, 2, 2]]),
    Shape::of(&[[64, 2, 3, 1]]),
    Shape::of(&[[257, 5, 1, 1]]),
    Shape::of(&[[1, 9, 1, 2]]),
    Shape::of(&[[0, 3, 1, 1]]),
    Shape::of(&[[5, 0, 1, 1]]),
];

const FLOATS: &[&[DType]] = &[&[F32], &[F16], &[BF16]];
const ALL_FLOATS: &[&[DType]] = &[&[F32], &[F16], &[BF16], &[F64]];

/// Where functions bend, overflow or end. No signalling NaN, and no numbers that some processors treat as zero.
const SPECIAL: &[f32] = &[
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    -0.5,
    2.5,
    -2.5,
    3.0,
    -3.0,
    20.0,
    20.5,
    -20.0,
    88.0,
    -88.0,
    -104.0,
    1e4,
    -1e4,
    1e-6,
    -1e-6,
    f32::INFINITY,
    f32::NEG_INFINITY,
];

/// The same without minus infinity, where a product of a function's limits is 0 times infinity.
const BENDS: &[f32] = SPECIAL.split_at(SPECIAL.len() - 1).0;

const XIELU: Unary = Unary::Xielu { alpha_n: 1.2, alpha_p: 0.8, beta: 0.5, eps: -1e-6 };

const UNARY: &[Op] = &[
    Op::Unary(Unary::Abs),
    Op::Unary(Unary::Sgn),
    Op::Unary(Unary::Neg),
    Op::Unary(Unary::Step),
    Op::Unary(Unary::Tanh),
    Op::Unary(Unary::Elu),
    Op::Unary(Unary::Relu),
    Op::Unary(Unary::Sigmoid),
    Op::Unary(Unary::Gelu),
    Op::Unary(Unary::GeluQuick),
    Op::Unary(Unary::Silu),
    Op::Unary(Unary::HardSwish),
    Op::Unary(Unary::HardSigmoid),
    Op::Unary(Unary::Exp),
    Op::Unary(Unary::Expm1),
    Op::Unary(Unary::Softplus),
    Op::Unary(Unary::GeluErf),
    Op::Unary(XIELU),
    Op::Unary(Unary::Floor),
    Op::Unary(Unary::Ceil),
    Op::Unary(Unary::Round),
    Op::Unary(Unary::Trunc),
];

const OAI: GluKind = GluKind::SwigluOai { alpha: 1.702, limit: 0.7 };

const fn glu(kind: GluKind, swapped: bool) -> Op {
    Op::Glu(Glu { kind, swapped })
}

const GLU_HALVES: &[Op] = &[
    glu(GluKind::Reglu, false),
    glu(GluKind::Reglu, true),
    glu(GluKind::Geglu, false),
    glu(GluKind::Geglu, true),
    glu(GluKind::Swiglu, false),
    glu(GluKind::Swiglu, true),
    glu(OAI, false),
    glu(OAI, true),
    glu(GluKind::GegluErf, false),
    glu(GluKind::GegluErf, true),
    glu(GluKind::GegluQuick, false),
    glu(GluKind::GegluQuick, true),
];

const GLU_TWO: &[Op] = &[
    glu(GluKind::Reglu, false),
    glu(GluKind::Geglu, false),
    glu(GluKind::Swiglu, false),
    glu(OAI, false),
    glu(GluKind::GegluErf, false),
    glu(GluKind::GegluQuick, false),
];

/// The groups.
pub const GROUPS: &[Group] = &[
    Group {
        name: "binary",
        ops: &[Op::Add, Op::Sub, Op::Mul, Op::Div],
        shapes: &[
            Shape::of(&[[1, 1, 1, 1], [1, 1, 1, 1]]),
            Shape::of(&[[7, 3, 2, 2], [7, 3, 2, 2]]),
            Shape::of(&[[33, 5, 1, 1], [33, 1, 1, 1]]),
            Shape::of(&[[33, 5, 2, 1], [1, 5, 1, 1]]),
            Shape::of(&[[33, 2, 3, 1], [1, 1, 1, 1]]),
            Shape::of(&[[16, 6, 2, 2], [4, 3, 1, 2]]),
            Shape::of(&[[64, 4, 2, 3], [64, 1, 2, 1]]),
            Shape::of(&[[1000, 3, 1, 1], [1000, 3, 1, 1]]),
            Shape::of(&[[0, 3, 1, 1], [0, 1, 1, 1]]),
            Shape::of(&[[3, 0, 1, 1], [3, 0, 1, 1]]),
        ],
        types: &[
            &[F32, F32],
            &[F16, F16],
            &[F16, F32],
            &[F32, F16],
            &[BF16, BF16],
            &[BF16, F32],
            &[F32, BF16],
        ],
        layouts: &[
            &[],
            &[Permuted([1, 0, 2, 3])],
            &[Packed, Permuted([0, 2, 1, 3])],
            &[Window, Window],
        ],
        fills: &[&[Fill::Uniform(-1.0, 1.0), Fill::Uniform(0.5, 2.0)]],
    },
    Group {
        name: "binary quantised",
        ops: &[Op::Add, Op::Sub, Op::Mul, Op::Div],
        shapes: &[
            Shape::of(&[[32, 3, 1, 1], [32, 3, 1, 1]]),
            Shape::of(&[[64, 3, 2, 1], [64, 1, 1, 1]]),
            Shape::of(&[[256, 2, 1, 1], [256, 2, 1, 1]]),
        ],
        types: &[
            &[Q4_0],
            &[Q4_1],
            &[Q5_0],
            &[Q5_1],
            &[Q8_0],
            &[Q2_K],
            &[Q3_K],
            &[Q4_K],
            &[Q5_K],
            &[Q6_K],
            &[IQ4_NL],
            &[IQ4_XS],
            &[MXFP4],
        ],
        layouts: PACKED,
        fills: &[&[Fill::Uniform(-1.0, 1.0), Fill::Uniform(0.5, 2.0)]],
    },
    Group {
        // What integers do when they overflow isn't said, so devices may well refuse.
        name: "binary of integers",
        ops: &[Op::Add, Op::Sub, Op::Mul, Op::Div],
        shapes: &[Shape::of(&[[7, 3, 1, 1], [7, 1, 1, 1]])],
        types: &[&[I32, I32], &[I64, I64], &[I8, I8]],
        layouts: PACKED,
        fills: &[&[Fill::Index(10), Fill::Values(&[1.0, 2.0])]],
    },
    Group {
        name: "add1",
        ops: &[Op::Add1],
        shapes: &[
            Shape::of(&[[33, 3, 2, 1], [1, 1, 1, 1]]),
            Shape::of(&[[64, 1, 1, 1], [1, 1, 1, 1]]),
            Shape::of(&[[0, 2, 1, 1], [1, 1, 1, 1]]),
        ],
        types: &[&[F32, F32], &[F16, F32], &[F16, F16], &[BF16, F32], &[BF16, BF16], &[Q8_0, F32]],
        layouts: &[&[], &[Window], &[Permuted([0, 2, 1, 3])]],
        fills: PLAIN,
    },
    Group {
        name: "map",
        ops: &[
            Op::Sqr,
            Op::Sin,
            Op::Cos,
            Op::Scale { scale: 2.5, bias: 0.0 },
            Op::Scale { scale: -0.3, bias: 1.0 },
            Op::Clamp { min: -0.5, max: 0.25 },
        ],
        shapes: SHAPES,
        types: ALL_FLOATS,
        layouts: &[&[], &[Permuted([1, 0, 2, 3])], &[Window]],
        fills: PLAIN,
    },
    Group {
        name: "map positive",
        ops: &[Op::Sqrt, Op::Log],
        shapes: SHAPES,
        types: ALL_FLOATS,
        layouts: &[&[], &[Permuted([1, 0, 2, 3])], &[Window]],
        fills: &[&[Fill::Uniform(0.01, 4.0)]],
    },
    Group {
        name: "map special",
        ops: &[
            Op::Sqr,
            Op::Sqrt,
            Op::Log,
            Op::Scale { scale: 1.0, bias: 0.0 },
            Op::Clamp { min: -1.0, max: 1.0 },
        ],
        shapes: &[Shape::of(&[[22, 1, 1, 1]])],
        types: ALL_F32,
        layouts: PACKED,
        fills: &[&[Fill::Values(SPECIAL)]],
    },
    Group {
        name: "sin and cos far out",
        ops: &[Op::Sin, Op::Cos],
        shapes: &[Shape::of(&[[100, 1, 1, 1]])],
        types: ALL_F32,
        layouts: PACKED,
        fills: &[&[Fill::Uniform(-1000.0, 1000.0)]],
    },
    Group {
        name: "unary",
        ops: UNARY,
        shapes: SHAPES,
        types: FLOATS,
        layouts: &[&[], &[Permuted([0, 2, 1, 3])], &[Window]],
        fills: &[&[Fill::Uniform(-6.0, 6.0)]],
    },
    Group {
        name: "unary special",
        ops: UNARY,
        shapes: &[Shape::of(&[[21, 2, 1, 1]])],
        types: ALL_F32,
        layouts: PACKED,
        fills: &[&[Fill::Values(BENDS)]],
    },
    Group {
        name: "glu of halves",
        ops: GLU_HALVES,
        shapes: &[
            Shape::of(&[[2, 1, 1, 1]]),
            Shape::of(&[[14, 3, 1, 1]]),
            Shape::of(&[[66, 2, 2, 2]]),
            Shape::of(&[[256, 3, 1, 1]]),
            Shape::of(&[[0, 3, 1, 1]]),
        ],
        types: FLOATS,
        layouts: &[&[], &[Window]],
        fills: &[&[Fill::Uniform(-4.0, 4.0)]],
    },
    Group {
        name: "glu of two",
        ops: GLU_TWO,
        shapes: &[
            Shape::of(&[[1, 1, 1, 1], [1, 1, 1, 1]]),
            Shape::of(&[[33, 3, 2, 1], [33, 3, 2, 1]]),
            Shape::of(&[[128, 5, 1, 1], [128, 5, 1, 1]]),
        ],
        types: &[&[F32, F32], &[F16, F16], &[BF16, BF16]],
        layouts: &[&[], &[Window], &[Packed, Window], &[Permuted([0, 2, 1, 3]), Packed]],
        fills: &[&[Fill::Uniform(-4.0, 4.0), Fill::Uniform(-4.0, 4.0)]],
    },
    Group {
        name: "arange",
        ops: &[
            Op::Arange { start: 0.0, stop: 10.0, step: 1.0 },
            Op::Arange { start: 2.0, stop: 2.1, step: 1.0 },
            Op::Arange { start: 1.0, stop: -2.0, step: -0.5 },
            Op::Arange { start: 0.0, stop: 1000.0, step: 2.5 },
        ],
        shapes: &[Shape::of(&[])],
        types: ALL_F32,
        layouts: PACKED,
        fills: PLAIN,
    },
];
