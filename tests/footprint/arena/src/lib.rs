//! Builds with the arena that the plan takes, and not with one that is a byte smaller; with a whole model, and not with
//! one that is cut off (`ci/compile-fail.sh`).
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

const FILE: &[u8] =
    dinrail::bare::include_model!("../../../../examples/models/stories260K-Q8_0.gguf");
const PART: &[u8] = FILE.split_at(FILE.len() - 4096 * cfg!(feature = "cut") as usize).0;

dinrail_llm::static_model! {
    pub mod model {
        file: super::PART,
        context: 32,
        cache: super::DType::F16,
        level: super::Level::Scalar,
    }
}
