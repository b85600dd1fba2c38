//! MLPerf Tiny's anomaly detector: an autoencoder of ten layers. What it can't reproduce sounds wrong.

use dinrail::Result;
use dinrail::bare::Ram;
use dinrail::cpu::{Memory, Port, fixed};
use dinrail::gguf::File;
use dinrail::graph::{Builder, NodeId};
use dinrail::tensor::DType;

/// The model file, where it lies in flash.
pub static MODEL: &[u8] = BYTES;
#[cfg(not(feature = "q8"))]
const BYTES: &[u8] =
    dinrail::bare::include_model!("../../models/ad01-f32.gguf", link_section = ".model");
#[cfg(feature = "q8")]
const BYTES: &[u8] =
    dinrail::bare::include_model!("../../models/ad01-Q8_0.gguf", link_section = ".model");

/// Length of the input and of each layer.
const WIDTHS: [usize; 11] = [640, 128, 128, 128, 128, 8, 128, 128, 128, 128, 640];
/// Layers.
const LAYERS: usize = WIDTHS.len() - 1;
const NAMES: [[&str; 2]; LAYERS] = [
    ["dense.0.weight", "dense.0.bias"],
    ["dense.1.weight", "dense.1.bias"],
    ["dense.2.weight", "dense.2.bias"],
    ["dense.3.weight", "dense.3.bias"],
    ["dense.4.weight", "dense.4.bias"],
    ["dense.5.weight", "dense.5.bias"],
    ["dense.6.weight", "dense.6.bias"],
    ["dense.7.weight", "dense.7.bias"],
    ["dense.8.weight", "dense.8.bias"],
    ["dense.9.weight", "dense.9.bias"],
];
/// The slot that the model is bound to; slot 0 is the arena.
const WEIGHTS: u8 = 1;

const FILE: File<'static> = match File::parse(BYTES) {
    Ok(file) => file,
    Err(_) => panic!("the model is not a usable GGUF file"),
};

/// A tensor of the model, at the place that its file says.
const fn weight(b: &mut Builder<'_>, name: &str, ne: [usize; 4]) -> NodeId {
    match FILE.header().tensor(name) {
        Some(t) => b.weight(t.dtype, ne, WEIGHTS, t.offset as usize),
        None => panic!("the model lacks a tensor"),
    }
}

/// The nodes to write and to read.
#[derive(Clone, Copy)]
pub struct Nodes {
    input: NodeId,
    output: NodeId,
}

const fn graph(b: &mut Builder<'_>) -> Nodes {
    let input = b.input(DType::F32, [WIDTHS[0], 1, 1, 1]);
    let mut x = input;
    let mut i = 0;
    while i < LAYERS {
        let w = weight(b, NAMES[i][0], [WIDTHS[i], WIDTHS[i + 1], 1, 1]);
        let bias = weight(b, NAMES[i][1], [WIDTHS[i + 1], 1, 1, 1]);
        x = b.mul_mat(w, x);
        x = b.add(x, bias);
        if i + 1 < LAYERS {
            x = b.relu(x);
        }
        i += 1;
    }
    b.output(x);
    Nodes { input, output: x }
}

dinrail::static_plan! {
    /// The network as constants.
    pub mod plan {
        graph: super::graph => super::Nodes,
        level: crate::LEVEL,
    }
}

const INPUT: Port = plan::port(plan::NODES.input);
const OUTPUT: Port = plan::port(plan::NODES.output);
static RAM: Ram<{ plan::ARENA }> = Ram::new();

/// The detector, ready to run.
pub struct Detector(fixed::Bound<'static, plan::Table>);

impl Detector {
    /// Takes the arena.
    ///
    /// # Errors
    /// [`Error::Full`](dinrail::Error::Full) the second time; what [`Fixed::bind`](dinrail::cpu::Fixed::bind) finds.
    pub fn new() -> Result<Self> {
        let arena = RAM.try_take()?;
        Ok(Self(plan::TABLE.bind([Memory::Write(arena), Memory::Read(MODEL)])?))
    }

    /// Where the next sample goes.
    ///
    /// # Errors
    /// None that can happen.
    pub fn input(&mut self) -> Result<&mut [f32]> {
        self.0.write(INPUT)
    }

    /// Reproduces the sample.
    ///
    /// # Errors
    /// None that can happen.
    pub fn run(&mut self) -> Result<&[f32]> {
        self.0.run()?;
        self.0.read(OUTPUT)
    }
}

/// 40 frames of 128 logarithmic mel bins of a normal toy car.
pub static RECORDING: &[u8] = include_bytes!("../../models/ad01-normal-40frames.bin");
/// Bins of a frame.
const BINS: usize = 128;
/// Samples of five frames that the recording holds.
pub const WINDOWS: usize = 40 - 4;

/// Value `i` of window `window`.
fn sample(window: usize, i: usize) -> f32 {
    let at = 4 * (window * BINS + i);
    match RECORDING.get(at..).and_then(|b| b.first_chunk()) {
        Some(b) => f32::from_le_bytes(*b),
        None => 0.0,
    }
}

/// The mean squared error of a window's reproduction.
///
/// # Errors
/// None that can happen.
pub fn score(detector: &mut Detector, window: usize) -> Result<f32> {
    for (i, x) in detector.input()?.iter_mut().enumerate() {
        *x = sample(window, i);
    }
    crate::dinrail_mark();
    let output = detector.run()?;
    crate::dinrail_mark();
    let mut sum = 0.0;
    for (i, y) in output.iter().enumerate() {
        let d = y - sample(window, i);
        sum += d * d;
    }
    Ok(sum / output.len() as f32)
}
