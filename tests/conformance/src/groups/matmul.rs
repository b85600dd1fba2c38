//! Matrix products.

use crate::case::{Group, Layout, PACKED, PLAIN, Shape};
use crate::fill::Fill;
use dinrail_core::op::{Op, Precision};
use dinrail_core::tensor::DType::{self, *};

use Layout::{Packed, Permuted, Window};

const DEFAULT: &[Op] = &[Op::MulMat { precision: Precision::Default }];

/// Everything that weights are stored in.
const WEIGHTS: &[&[DType]] = &[
    &[F32],
    &[F16],
    &[BF16],
    &[Q4_0],
    &[Q4_1],
    &[Q5_0],
    &[Q5_1],
    &[Q8_0],
    &[Q8_1],
    &[Q2_K],
    &[Q3_K],
    &[Q4_K],
    &[Q5_K],
    &[Q6_K],
    &[Q8_K],
    &[IQ4_NL],
    &[IQ4_XS],
    &[TQ1_0],
    &[TQ2_0],
    &[MXFP4],
];

/// One of each way to store them.
const SOME: &[&[DType]] = &[&[F32], &[F16], &[BF16], &[Q4_0], &[Q8_0], &[Q4_K], &[Q6_K]];

/// Types of which a block has a minimum or a sum beside its scale.
const WITH_SUMS: &[&[DType]] =
    &[&[F32], &[F16], &[Q4_0], &[Q4_1], &[Q5_1], &[Q8_0], &[Q2_K], &[Q4_K], &[Q5_K], &[Q6_K]];

const fn shape<const N: usize>(src: &'static [[usize; 4]; N]) -> Shape {
    Shape::of(src)
}

/// The groups.
pub const GROUPS: &[Group] = &[
    Group {
        name: "mul_mat tails",
        ops: DEFAULT,
        shapes: &[
            shape(&[[32, 1, 1, 1], [32, 1, 1, 1]]),
            shape(&[[32, 2, 1, 1], [32, 3, 1, 1]]),
            shape(&[[64, 3, 1, 1], [64, 1, 1, 1]]),
            shape(&[[96, 4, 1, 1], [96, 2, 1, 1]]),
            shape(&[[96, 5, 1, 1], [96, 5, 1, 1]]),
            shape(&[[160, 7, 1, 1], [160, 4, 1, 1]]),
            shape(&[[288, 8, 1, 1], [288, 8, 1, 1]]),
            shape(&[[288, 9, 1, 1], [288, 7, 1, 1]]),
            shape(&[[64, 16, 1, 1], [64, 16, 1, 1]]),
            shape(&[[64, 17, 1, 1], [64, 9, 1, 1]]),
            shape(&[[96, 31, 1, 1], [96, 6, 1, 1]]),
            shape(&[[32, 33, 1, 1], [32, 33, 1, 1]]),
            shape(&[[960, 6, 1, 1], [960, 2, 1, 1]]),
            shape(&[[64, 287, 1, 1], [64, 2, 1, 1]]),
            shape(&[[64, 70, 1, 1], [64, 70, 1, 1]]),
            shape(&[[256, 1, 1, 1], [256, 1, 1, 1]]),
            shape(&[[256, 2, 1, 1], [256, 2, 1, 1]]),
            shape(&[[256, 3, 1, 1], [256, 5, 1, 1]]),
            shape(&[[256, 9, 1, 1], [256, 4, 1, 1]]),
            shape(&[[256, 17, 1, 1], [256, 3, 1, 1]]),
            shape(&[[512, 8, 1, 1], [512, 8, 1, 1]]),
            shape(&[[768, 7, 1, 1], [768, 1, 1, 1]]),
            shape(&[[1024, 33, 1, 1], [1024, 9, 1, 1]]),
        ],
        types: WEIGHTS,
        layouts: PACKED,
        fills: PLAIN,
    },
    Group {
        name: "mul_mat odd lengths",
        ops: DEFAULT,
        shapes: &[
            shape(&[[1, 1, 1, 1], [1, 1, 1, 1]]),
            shape(&[[1, 5, 1, 1], [1, 3, 1, 1]]),
            shape(&[[3, 2, 1, 1], [3, 4, 1, 1]]),
            shape(&[[5, 9, 1, 1], [5, 1, 1, 1]]),
            shape(&[[7, 7, 1, 1], [7, 7, 1, 1]]),
            shape(&[[15, 6, 1, 1], [15, 2, 1, 1]]),
            shape(&[[17, 4, 1, 1], [17, 5, 1, 1]]),
            shape(&[[33, 11, 1, 1], [33, 3, 1, 1]]),
            shape(&[[70, 13, 1, 1], [70, 8, 1, 1]]),
            shape(&[[127, 3, 1, 1], [127, 1, 1, 1]]),
            shape(&[[300, 5, 1, 1], [300, 4, 1, 1]]),
        ],
        types: &[&[F32], &[F16], &[BF16], &[F16, F16], &[BF16, BF16], &[F32, F16], &[F64]],
        layouts: PACKED,
        fills: PLAIN,
    },
    Group {
        name: "mul_mat batches",
        ops: DEFAULT,
        shapes: &[
            shape(&[[64, 5, 2, 3], [64, 4, 2, 3]]),
            shape(&[[64, 5, 2, 1], [64, 4, 6, 1]]),
            shape(&[[64, 5, 1, 2], [64, 1, 3, 4]]),
            shape(&[[256, 3, 2, 1], [256, 2, 4, 2]]),
        ],
        types: &[&[F32], &[F16], &[BF16], &[Q4_0], &[Q8_0], &[Q4_K], &[Q6_K], &[F16, F16]],
        layouts: &[
            &[],
            &[Window],
            &[Packed, Window],
            &[Permuted([0, 2, 1, 3])],
            &[Permuted([0, 2, 1, 3]), Permuted([0, 2, 1, 3])],
        ],
        fills: PLAIN,
    },
    Group {
        name: "mul_mat of views",
        ops: DEFAULT,
        shapes: &[shape(&[[96, 5, 1, 1], [96, 3, 1, 1]]), shape(&[[256, 9, 1, 1], [256, 8, 1, 1]])],
        types: WEIGHTS,
        layouts: &[&[Window], &[Packed, Window], &[Window, Window]],
        fills: PLAIN,
    },
    Group {
        name: "mul_mat of nothing",
        ops: DEFAULT,
        shapes: &[
            shape(&[[0, 3, 1, 1], [0, 2, 1, 1]]),
            shape(&[[256, 0, 1, 1], [256, 2, 1, 1]]),
            shape(&[[256, 3, 1, 1], [256, 0, 1, 1]]),
        ],
        types: SOME,
        layouts: PACKED,
        fills: PLAIN,
    },
    Group {
        name: "mul_mat in f32",
        ops: &[Op::MulMat { precision: Precision::F32 }],
        shapes: &[shape(&[[256, 5, 1, 1], [256, 3, 1, 1]])],
        types: SOME,
        layouts: PACKED,
        fills: PLAIN,
    },
    Group {
        // The scaled sum of 32 values of 2100 doesn't fit f16.
        name: "mul_mat large activations",
        ops: DEFAULT,
        shapes: &[shape(&[[256, 5, 1, 1], [256, 5, 1, 1]])],
        types: WITH_SUMS,
        layouts: PACKED,
        fills: &[
            &[Fill::Uniform(-1.0, 1.0), Fill::Uniform(2050.0, 2100.0)],
            &[Fill::Uniform(-1.0, 1.0), Fill::Uniform(-2100.0, -2050.0)],
            &[Fill::Uniform(-1.0, 1.0), Fill::Uniform(-60000.0, 60000.0)],
            &[Fill::Uniform(0.0, 1.0), Fill::Uniform(60000.0, 65000.0)],
            &[Fill::Uniform(-1.0, 1.0), Fill::Outliers],
        ],
    },
    Group {
        name: "mul_mat small numbers",
        ops: DEFAULT,
        shapes: &[shape(&[[256, 5, 1, 1], [256, 5, 1, 1]])],
        types: WITH_SUMS,
        layouts: PACKED,
        fills: &[
            &[Fill::Uniform(-1.0, 1.0), Fill::Values(&[0.0])],
            &[Fill::Values(&[0.0])],
            &[Fill::Uniform(-1.0, 1.0), Fill::Uniform(-1e-3, 1e-3)],
            &[Fill::Uniform(-1e-3, 1e-3)],
        ],
    },
    Group {
        name: "mul_mat keeps NaN",
        ops: DEFAULT,
        shapes: &[shape(&[[256, 5, 1, 1], [256, 5, 1, 1]])],
        types: &[&[F32], &[F16], &[BF16]],
        layouts: PACKED,
        fills: &[&[Fill::Uniform(-1.0, 1.0), Fill::OneNan]],
    },
];
