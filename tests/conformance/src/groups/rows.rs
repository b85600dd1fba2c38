//! Rows by number.

use crate::case::{Group, Layout, Shape};
use crate::fill::Fill;
use dinrail_core::op::Op;
use dinrail_core::tensor::DType::*;

use Layout::{Packed, Permuted, Window};

/// The groups.
pub const GROUPS: &[Group] = &[
    Group {
        name: "get_rows",
        ops: &[Op::GetRows],
        shapes: &[
            Shape::of(&[[1, 5, 1, 1], [3, 1, 1, 1]]),
            Shape::of(&[[33, 5, 1, 1], [7, 1, 1, 1]]),
            Shape::of(&[[64, 5, 1, 1], [1, 1, 1, 1]]),
            Shape::of(&[[96, 5, 2, 1], [4, 2, 1, 1]]),
            Shape::of(&[[256, 5, 2, 3], [2, 2, 3, 1]]),
            Shape::of(&[[256, 5, 1, 1], [0, 1, 1, 1]]),
        ],
        types: &[
            &[F32, I32],
            &[F16, I32],
            &[BF16, I32],
            &[I32, I32],
            &[Q4_0, I32],
            &[Q4_1, I32],
            &[Q5_0, I32],
            &[Q5_1, I32],
            &[Q8_0, I32],
            &[Q2_K, I32],
            &[Q3_K, I32],
            &[Q4_K, I32],
            &[Q5_K, I32],
            &[Q6_K, I32],
            &[IQ4_NL, I32],
            &[IQ4_XS, I32],
            &[TQ1_0, I32],
            &[TQ2_0, I32],
            &[MXFP4, I32],
        ],
        layouts: &[&[], &[Window], &[Packed, Window]],
        fills: &[&[Fill::Uniform(-10.0, 10.0), Fill::Index(5)]],
    },
    Group {
        name: "set_rows",
        ops: &[Op::SetRows],
        shapes: &[
            Shape::of(&[[1, 3, 1, 1], [3, 1, 1, 1], [1, 8, 1, 1]]),
            Shape::of(&[[33, 3, 1, 1], [3, 1, 1, 1], [33, 8, 1, 1]]),
            Shape::of(&[[64, 1, 1, 1], [1, 1, 1, 1], [64, 8, 1, 1]]),
            Shape::of(&[[64, 3, 2, 1], [3, 1, 1, 1], [64, 8, 2, 1]]),
            Shape::of(&[[256, 4, 2, 4], [4, 2, 2, 1], [256, 8, 2, 4]]),
            Shape::of(&[[256, 0, 1, 1], [0, 1, 1, 1], [256, 8, 1, 1]]),
        ],
        types: &[
            &[F32, I64, F32],
            &[F32, I64, F16],
            &[F32, I64, BF16],
            &[F32, I64, Q4_0],
            &[F32, I64, Q4_1],
            &[F32, I64, Q5_0],
            &[F32, I64, Q5_1],
            &[F32, I64, Q8_0],
            &[F32, I64, Q2_K],
            &[F32, I64, Q3_K],
            &[F32, I64, Q4_K],
            &[F32, I64, Q5_K],
            &[F32, I64, Q6_K],
            &[F32, I64, IQ4_NL],
            &[F32, I64, IQ4_XS],
            &[F32, I64, TQ1_0],
            &[F32, I64, TQ2_0],
            &[F32, I64, MXFP4],
            &[F32, I32, F32],
            &[F32, I32, F16],
        ],
        layouts: &[
            &[],
            &[Window, Packed, Window],
            &[Permuted([0, 2, 1, 3])],
            &[Packed, Packed, Permuted([0, 2, 1, 3])],
        ],
        fills: &[&[Fill::Uniform(-10.0, 10.0), Fill::Unique(8), Fill::Values(&[5.0])]],
    },
];
