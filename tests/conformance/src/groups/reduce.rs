//! Sums, means, norms, sorting.

use crate::case::{F32 as ALL_F32, Group, Layout, PACKED, PLAIN, Shape};
use crate::fill::Fill;
use dinrail_core::op::Op;
use dinrail_core::tensor::DType::*;

use Layout::{Permuted, Window};

const SHAPES: &[Shape] = &[
    Shape::of(&[[1, 1, 1, 1]]),
    Shape::of(&[[2, 3, 1, 1]]),
    Shape::of(&[[7, 3, 2, 2]]),
    Shape::of(&[[33, 5, 1, 1]]),
    Shape::of(&[[64, 2, 3, 1]]),
    Shape::of(&[[257, 2, 2, 1]]),
    Shape::of(&[[1000, 3, 1, 1]]),
    Shape::of(&[[4096, 1, 1, 1]]),
];

const EMPTY: &[Shape] = &[Shape::of(&[[5, 0, 1, 1]]), Shape::of(&[[5, 2, 0, 1]])];

const ROWS: &[&[Layout]] = &[&[], &[Window], &[Permuted([0, 2, 1, 3])]];

/// The groups.
pub const GROUPS: &[Group] = &[
    Group {
        name: "sum",
        ops: &[Op::Sum],
        shapes: SHAPES,
        types: &[&[F32], &[F16], &[BF16]],
        layouts: &[&[], &[Window], &[Permuted([0, 2, 1, 3])], &[Permuted([1, 0, 2, 3])]],
        fills: PLAIN,
    },
    Group {
        name: "row sums",
        ops: &[Op::SumRows, Op::Mean],
        shapes: SHAPES,
        types: ALL_F32,
        layouts: ROWS,
        fills: &[&[], &[Fill::Uniform(0.0, 1000.0)]],
    },
    Group {
        name: "nothing to sum",
        ops: &[Op::Sum, Op::SumRows],
        shapes: &[
            Shape::of(&[[0, 3, 1, 1]]),
            Shape::of(&[[5, 0, 1, 1]]),
            Shape::of(&[[0, 0, 1, 1]]),
        ],
        types: ALL_F32,
        layouts: PACKED,
        fills: PLAIN,
    },
    Group {
        name: "argmax",
        ops: &[Op::Argmax],
        shapes: &[
            Shape::of(&[[1, 1, 1, 1]]),
            Shape::of(&[[2, 3, 1, 1]]),
            Shape::of(&[[33, 7, 1, 1]]),
            Shape::of(&[[1000, 3, 1, 1]]),
            Shape::of(&[[5, 0, 1, 1]]),
        ],
        types: ALL_F32,
        layouts: &[&[], &[Window]],
        fills: &[&[Fill::Distinct], &[], &[Fill::Values(&[f32::NEG_INFINITY, -3.0, -5.0])]],
    },
    Group {
        name: "argsort",
        ops: &[Op::Argsort { descending: false }, Op::Argsort { descending: true }],
        shapes: &[
            Shape::of(&[[1, 2, 1, 1]]),
            Shape::of(&[[2, 3, 1, 1]]),
            Shape::of(&[[7, 3, 2, 2]]),
            Shape::of(&[[33, 5, 1, 1]]),
            Shape::of(&[[256, 2, 1, 1]]),
            Shape::of(&[[1000, 1, 1, 1]]),
            Shape::of(&[[0, 3, 1, 1]]),
        ],
        types: ALL_F32,
        layouts: ROWS,
        fills: &[&[Fill::Distinct]],
    },
    Group {
        name: "norms",
        ops: &[
            Op::Norm { eps: 1e-5 },
            Op::Norm { eps: 0.1 },
            Op::RmsNorm { eps: 1e-6 },
            Op::RmsNorm { eps: 0.1 },
            Op::L2Norm { eps: 1e-12 },
            Op::L2Norm { eps: 10.0 },
        ],
        shapes: SHAPES,
        types: ALL_F32,
        layouts: ROWS,
        fills: &[&[], &[Fill::Uniform(-50.0, 20.0)]],
    },
    Group {
        name: "norms of zeros",
        ops: &[Op::Norm { eps: 1e-5 }, Op::RmsNorm { eps: 1e-6 }, Op::L2Norm { eps: 1e-12 }],
        shapes: &[Shape::of(&[[33, 2, 1, 1]])],
        types: ALL_F32,
        layouts: PACKED,
        fills: &[&[Fill::Values(&[0.0])]],
    },
    Group {
        name: "norms of nothing",
        ops: &[Op::Norm { eps: 1e-5 }, Op::RmsNorm { eps: 1e-6 }, Op::L2Norm { eps: 1e-12 }],
        shapes: EMPTY,
        types: ALL_F32,
        layouts: PACKED,
        fills: PLAIN,
    },
    Group {
        name: "group norm",
        ops: &[
            Op::GroupNorm { groups: 1, eps: 1e-5 },
            Op::GroupNorm { groups: 2, eps: 1e-5 },
            Op::GroupNorm { groups: 3, eps: 1e-5 },
            Op::GroupNorm { groups: 4, eps: 1e-5 },
        ],
        shapes: &[
            Shape::of(&[[5, 3, 4, 2]]),
            Shape::of(&[[16, 2, 6, 1]]),
            Shape::of(&[[33, 1, 7, 1]]),
            Shape::of(&[[1, 3, 5, 1]]),
        ],
        types: ALL_F32,
        layouts: PACKED,
        fills: &[&[], &[Fill::Uniform(-50.0, 20.0)]],
    },
];
