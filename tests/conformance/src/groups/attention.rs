//! Masks, soft-max, rotary embedding, attention in one node.

use crate::case::{F32 as ALL_F32, Group, Layout, NO, PACKED, PLAIN, Shape};
use crate::fill::Fill;
use dinrail_core::op::{Op, Precision, Rope, RopeMode};
use dinrail_core::tensor::DType::*;

use Layout::{Packed, Permuted, Window};

const fn soft_max(scale: f32, max_bias: f32) -> Op {
    Op::SoftMax { scale, max_bias }
}

const fn flash(scale: f32, max_bias: f32, softcap: f32) -> Op {
    Op::FlashAttn { scale, max_bias, softcap, precision: Precision::Default }
}

const fn yarn(dims: u16, mode: RopeMode) -> Op {
    Op::Rope(Rope {
        trained_context: 512,
        scale: 0.25,
        ext_factor: 1.0,
        attn_factor: 1.1,
        ..Rope::plain(dims, mode, 10000.0)
    })
}

const fn scaled(dims: u16, mode: RopeMode) -> Op {
    Op::Rope(Rope { scale: 0.5, attn_factor: 0.7, ..Rope::plain(dims, mode, 500_000.0) })
}

const LOGITS: Fill = Fill::Uniform(-8.0, 8.0);
const BIAS: Fill = Fill::Uniform(-4.0, 0.0);

/// The groups.
pub const GROUPS: &[Group] = &[
    Group {
        name: "diag_mask_inf",
        ops: &[
            Op::DiagMaskInf { past: 0 },
            Op::DiagMaskInf { past: 3 },
            Op::DiagMaskInf { past: 99 },
        ],
        shapes: &[
            Shape::of(&[[7, 5, 2, 2]]),
            Shape::of(&[[33, 33, 1, 1]]),
            Shape::of(&[[1, 4, 1, 1]]),
            Shape::of(&[[4, 0, 1, 1]]),
        ],
        types: ALL_F32,
        layouts: PACKED,
        fills: PLAIN,
    },
    Group {
        name: "soft_max",
        ops: &[soft_max(1.0, 0.0), soft_max(0.125, 0.0)],
        shapes: &[
            Shape::of(&[[1, 1, 1, 1]]),
            Shape::of(&[[2, 3, 1, 1]]),
            Shape::of(&[[33, 3, 2, 2]]),
            Shape::of(&[[256, 2, 1, 1]]),
            Shape::of(&[[1000, 2, 1, 1]]),
            Shape::of(&[[0, 2, 1, 1]]),
            Shape::of(&[[5, 0, 1, 1]]),
        ],
        types: ALL_F32,
        layouts: PACKED,
        fills: &[&[LOGITS], &[Fill::Uniform(-1000.0, 1000.0)], &[Fill::Values(&[3e38])]],
    },
    Group {
        name: "soft_max masked",
        ops: &[soft_max(1.0, 0.0), soft_max(0.125, 0.0), soft_max(0.125, 8.0)],
        shapes: &[
            Shape::of(&[[7, 5, 3, 2], [7, 5, 1, 1]]),
            Shape::of(&[[33, 4, 4, 2], [33, 8, 1, 2]]),
            Shape::of(&[[33, 4, 6, 1], [33, 4, 2, 1]]),
            Shape::of(&[[64, 3, 12, 1], [64, 3, 1, 1]]),
        ],
        types: &[&[F32, F32], &[F32, F16]],
        layouts: &[&[], &[Packed, Window]],
        fills: &[&[LOGITS, Fill::Causal], &[LOGITS, Fill::Holes], &[LOGITS, BIAS]],
    },
    Group {
        name: "soft_max sinks",
        ops: &[soft_max(0.125, 0.0)],
        shapes: &[
            Shape::of(&[[33, 4, 3, 2], NO, [3, 1, 1, 1]]),
            Shape::of(&[[33, 4, 3, 2], [33, 4, 1, 1], [3, 1, 1, 1]]),
        ],
        types: ALL_F32,
        layouts: PACKED,
        fills: &[&[LOGITS, Fill::Holes, Fill::Uniform(-3.0, 3.0)]],
    },
    Group {
        name: "soft_max all masked",
        ops: &[soft_max(1.0, 0.0)],
        shapes: &[Shape::of(&[[33, 3, 1, 1]]), Shape::of(&[[1, 1, 1, 1]])],
        types: ALL_F32,
        layouts: PACKED,
        fills: &[&[Fill::Values(&[f32::NEG_INFINITY])]],
    },
    Group {
        name: "rope",
        ops: &[
            Op::Rope(Rope::plain(16, RopeMode::Normal, 10000.0)),
            Op::Rope(Rope::plain(16, RopeMode::NeoX, 10000.0)),
            Op::Rope(Rope::plain(10, RopeMode::Normal, 10000.0)),
            Op::Rope(Rope::plain(10, RopeMode::NeoX, 10000.0)),
            scaled(16, RopeMode::Normal),
            scaled(16, RopeMode::NeoX),
            yarn(16, RopeMode::Normal),
            yarn(16, RopeMode::NeoX),
        ],
        shapes: &[
            Shape::of(&[[16, 2, 3, 1], [3, 1, 1, 1]]),
            Shape::of(&[[16, 3, 2, 2], [2, 1, 1, 1]]),
            Shape::of(&[[24, 2, 5, 1], [5, 1, 1, 1]]),
            Shape::of(&[[16, 2, 0, 1], [0, 1, 1, 1]]),
            Shape::of(&[[16, 2, 3, 1], [3, 1, 1, 1], [8, 1, 1, 1]]),
        ],
        types: &[&[F32, I32], &[F16, I32]],
        layouts: &[&[], &[Window], &[Permuted([0, 2, 1, 3])]],
        fills: &[
            &[Fill::Uniform(-1.0, 1.0), Fill::Count(0, 1), Fill::Uniform(0.5, 4.0)],
            &[Fill::Uniform(-1.0, 1.0), Fill::Count(500, -7), Fill::Uniform(0.5, 4.0)],
        ],
    },
    Group {
        name: "rope of real heads",
        ops: &[
            Op::Rope(Rope::plain(64, RopeMode::Normal, 10000.0)),
            Op::Rope(Rope::plain(64, RopeMode::NeoX, 100_000.0)),
            yarn(64, RopeMode::NeoX),
            yarn(64, RopeMode::Normal),
        ],
        shapes: &[Shape::of(&[[64, 3, 7, 1], [7, 1, 1, 1]])],
        types: &[&[F32, I32], &[F16, I32]],
        layouts: PACKED,
        fills: &[&[Fill::Uniform(-1.0, 1.0), Fill::Count(0, 311)]],
    },
    Group {
        name: "flash_attn",
        ops: &[flash(0.125, 0.0, 0.0), flash(0.3, 0.0, 10.0)],
        shapes: &[
            // One query and many; as many heads of keys as of queries and fewer; v of another length than k.
            Shape::of(&[[64, 1, 2, 1], [64, 7, 2, 1], [64, 7, 2, 1]]),
            Shape::of(&[[64, 5, 4, 2], [64, 33, 2, 2], [64, 33, 2, 2]]),
            Shape::of(&[[96, 3, 2, 2], [96, 20, 1, 1], [32, 20, 1, 1]]),
            Shape::of(&[[8, 2, 3, 1], [8, 5, 3, 1], [8, 5, 3, 1]]),
            Shape::of(&[[33, 2, 2, 1], [33, 3, 1, 1], [7, 3, 1, 1]]),
            Shape::of(&[[64, 1, 3, 1], [64, 130, 3, 1], [64, 130, 3, 1]]),
            Shape::of(&[[64, 5, 4, 1], [64, 33, 2, 1], [64, 33, 2, 1], [33, 5, 1, 1]]),
            Shape::of(&[[64, 2, 4, 2], [64, 40, 4, 2], [64, 40, 4, 2], [40, 32, 1, 2]]),
            Shape::of(&[[256, 2, 2, 1], [256, 9, 1, 1], [256, 9, 1, 1], [9, 2, 1, 1]]),
        ],
        types: &[
            &[F32, F32, F32, F16],
            &[F32, F16, F16, F16],
            &[F32, BF16, BF16, F16],
            &[F32, Q8_0, Q8_0, F16],
            &[F32, Q4_0, Q4_0, F16],
            &[F32, F16, Q8_0, F16],
            &[F32, Q4_K, Q6_K, F16],
        ],
        layouts: &[
            &[],
            &[Permuted([0, 2, 1, 3]), Permuted([0, 2, 1, 3]), Permuted([0, 2, 1, 3])],
            &[Window, Window, Window, Window],
        ],
        fills: &[&[
            Fill::Uniform(-1.0, 1.0),
            Fill::Uniform(-1.0, 1.0),
            Fill::Uniform(-1.0, 1.0),
            Fill::Causal,
        ]],
    },
    Group {
        name: "flash_attn with bias",
        ops: &[flash(0.125, 8.0, 0.0), flash(0.125, 8.0, 5.0)],
        shapes: &[
            Shape::of(&[[64, 5, 6, 1], [64, 33, 2, 1], [64, 33, 2, 1], [33, 5, 1, 1]]),
            Shape::of(&[[64, 5, 4, 1], [64, 33, 2, 1], [64, 33, 2, 1], [33, 5, 2, 1]]),
        ],
        types: &[&[F32, F32, F32, F16], &[F32, F16, F16, F16]],
        layouts: PACKED,
        fills: &[&[
            Fill::Uniform(-1.0, 1.0),
            Fill::Uniform(-1.0, 1.0),
            Fill::Uniform(-1.0, 1.0),
            BIAS,
        ]],
    },
    Group {
        name: "flash_attn holes and sinks",
        ops: &[flash(0.125, 0.0, 0.0)],
        shapes: &[
            Shape::of(&[[64, 5, 4, 1], [64, 33, 2, 1], [64, 33, 2, 1], [33, 5, 1, 1]]),
            Shape::of(&[[64, 1, 4, 1], [64, 5, 2, 1], [64, 5, 2, 1], NO, [4, 1, 1, 1]]),
            Shape::of(&[
                [64, 5, 4, 1],
                [64, 33, 2, 1],
                [64, 33, 2, 1],
                [33, 5, 1, 1],
                [4, 1, 1, 1],
            ]),
        ],
        types: &[
            &[F32, F32, F32, F16, F32],
            &[F32, F16, F16, F16, F32],
            &[F32, Q8_0, Q8_0, F16, F32],
        ],
        layouts: PACKED,
        fills: &[&[
            Fill::Uniform(-1.0, 1.0),
            Fill::Uniform(-1.0, 1.0),
            Fill::Uniform(-1.0, 1.0),
            Fill::Holes,
            Fill::Uniform(-3.0, 3.0),
        ]],
    },
];
