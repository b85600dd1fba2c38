//! Builds with the arena that the plan takes, and not with one that is a byte smaller (`ci/compile-fail.sh`).
#![no_std]

use dinrail::cpu::Level;
use dinrail::graph::{Builder, NodeId};
use dinrail::tensor::DType;

const fn graph(b: &mut Builder<'_>) -> NodeId {
    let x = b.input(DType::F32, [640, 1, 1, 1]);
    let y = b.relu(x);
    b.output(y);
    y
}

dinrail::static_plan! {
    pub mod plan {
        graph: super::graph => super::NodeId,
        level: super::Level::Scalar,
        arena: 2560 - cfg!(feature = "short") as usize,
    }
}
