//! Matrix products at the edges of the kernel's tiles of 64 by 64, and with batches, which the conformance suite has for
//! narrow products only.

mod common;

use dinrail_conformance::Layout::{Packed, Permuted, Window};
use dinrail_conformance::{Group, Shape, Suite};
use dinrail_core::hal::Params;
use dinrail_core::op::{Op, Precision};
use dinrail_core::tensor::DType::*;
use dinrail_vulkan::Backend;

const PRODUCT: &[Op] = &[Op::MulMat { precision: Precision::Default }];

const fn shape(src: &'static [[usize; 4]; 2]) -> Shape {
    Shape::of(src)
}

const EDGES: Group = Group {
    name: "edges of tiles",
    ops: PRODUCT,
    shapes: &[
        shape(&[[256, 63, 1, 1], [256, 65, 1, 1]]),
        shape(&[[256, 65, 1, 1], [256, 63, 1, 1]]),
        shape(&[[512, 1, 1, 1], [512, 128, 1, 1]]),
        shape(&[[96, 33, 1, 1], [96, 127, 1, 1]]),
    ],
    types: &[
        &[F32],
        &[F16],
        &[BF16],
        &[F32, F16],
        &[F16, F16],
        &[BF16, BF16],
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
        &[TQ1_0],
        &[TQ2_0],
        &[MXFP4],
    ],
    layouts: &[&[]],
    fills: &[&[]],
};

const ODD: Group = Group {
    name: "tiles of odd lengths",
    shapes: &[
        shape(&[[1, 1, 1, 1], [1, 9, 1, 1]]),
        shape(&[[31, 65, 1, 1], [31, 64, 1, 1]]),
        shape(&[[33, 64, 1, 1], [33, 65, 1, 1]]),
        shape(&[[63, 31, 1, 1], [63, 33, 1, 1]]),
        shape(&[[65, 129, 1, 1], [65, 127, 1, 1]]),
        shape(&[[129, 63, 1, 1], [129, 129, 1, 1]]),
    ],
    types: &[&[F32], &[F16], &[BF16], &[F32, F16], &[F16, F16], &[F16, BF16], &[BF16, BF16]],
    ..EDGES
};

const BATCHES: Group = Group {
    name: "batches of tiles",
    shapes: &[
        shape(&[[64, 65, 2, 3], [64, 33, 2, 3]]),
        shape(&[[64, 5, 2, 1], [64, 65, 6, 1]]),
        shape(&[[64, 66, 1, 2], [64, 9, 3, 4]]),
        shape(&[[256, 3, 2, 1], [256, 70, 4, 2]]),
    ],
    types: &[&[F32], &[F16], &[BF16], &[Q4_0], &[Q8_0], &[Q4_K], &[Q6_K], &[F16, F16]],
    layouts: &[
        &[],
        &[Window],
        &[Packed, Window],
        &[Permuted([0, 2, 1, 3])],
        &[Permuted([0, 2, 1, 3]), Permuted([0, 2, 1, 3])],
        &[Packed, Permuted([0, 3, 1, 2])],
    ],
    ..EDGES
};

fn right(backend: &'static Backend, groups: &[&Group]) {
    let Some(device) = common::device(backend) else { return };
    let mut work = vec![0; 4 * Suite::WORK];
    let mut suite = Suite::new(device, &Params::default(), &mut work).unwrap();
    let cases = groups.iter().flat_map(|g| g.cases());
    let report = suite.run_all(cases, &[], |f| println!("{f}"));
    println!("{report:?}");
    assert_eq!(report.failed, 0);
    assert!(report.passed > 100, "{report:?}");
    common::silent(backend);
}

#[test]
fn products_are_right_at_the_edges_of_tiles() {
    right(&common::FULL, &[&EDGES, &ODD, &BATCHES]);
}

#[test]
fn products_are_right_without_features() {
    right(&common::PLAIN, &[&ODD, &BATCHES]);
}
