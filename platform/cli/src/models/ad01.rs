//! MLPerf Tiny's anomaly detector: an autoencoder of ten dense layers with ReLU between them.
//!
//! How far its output is from its input says how unusual a sound is.

use dinrail::graph::{Builder, NodeId};
use dinrail::tensor::{DType, size};
use dinrail_gguf::Header;
use dinrail_llm::model::{Error, Name, Weight};

/// What `general.architecture` says.
pub const ARCHITECTURE: &str = "ad01";

/// Lengths between the layers.
pub const LENGTHS: [usize; 11] = [640, 128, 128, 128, 128, 8, 128, 128, 128, 128, 640];

/// Number of layers.
pub const LAYERS: usize = LENGTHS.len() - 1;

/// Nodes that [`build`] takes: one input; per layer two leaves, a product, a sum and (but the last) a ReLU.
pub const NODES: usize = 1 + 5 * LAYERS - 1;

/// The slot that the model file is bound to.
pub const WEIGHTS: u8 = 1;

/// Where the tensors lie.
#[derive(Clone, Copy, Debug)]
pub struct Weights {
    matrix: [Weight; LAYERS],
    bias: [Weight; LAYERS],
}

impl Weights {
    /// Finds and checks every tensor.
    ///
    /// # Errors
    /// A tensor that is missing, or has the wrong shape or type.
    pub fn find(header: &Header<'_>) -> Result<Self, Error> {
        let none = Weight { dtype: DType::F32, slot: WEIGHTS, offset: 0, ne: [0; 4] };
        let mut found = Weights { matrix: [none; LAYERS], bias: [none; LAYERS] };
        for i in 0..LAYERS {
            let name = Name::new("dense.").number(i);
            let (from, to) = (LENGTHS[i], LENGTHS[i + 1]);
            found.matrix[i] = tensor(header, name.then(".weight"), [from, to, 1, 1])?;
            found.bias[i] = tensor(header, name.then(".bias"), [to, 1, 1, 1])?;
        }
        Ok(found)
    }
}

fn tensor(header: &Header<'_>, tensor: Name, ne: [usize; 4]) -> Result<Weight, Error> {
    let info = header.tensor(tensor.as_str()).ok_or(Error::Missing { tensor })?;
    let expected = ne.map(|n| n as u64);
    if info.ne != expected {
        return Err(Error::Shape { tensor, expected, found: info.ne });
    }
    if info.dtype.is_integer() || ne[1] == 1 && info.dtype != DType::F32 {
        return Err(Error::Type {
            tensor,
            expected: "f32 or a quantised matrix",
            found: info.dtype,
        });
    }
    let offset = size::to_usize(info.offset).map_err(|_| Error::Missing { tensor })?;
    Ok(Weight { dtype: info.dtype, slot: WEIGHTS, offset, ne })
}

/// Input `[640, frames]` and output `[640, frames]`, both F32.
pub const fn build(w: &Weights, frames: usize, b: &mut Builder<'_>) -> (NodeId, NodeId) {
    let input = b.input(DType::F32, [LENGTHS[0], frames, 1, 1]);
    let mut x = input;
    let mut i = 0;
    while i < LAYERS {
        let matrix = w.matrix[i].leaf(b);
        let product = b.mul_mat(matrix, x);
        let bias = w.bias[i].leaf(b);
        x = b.add(product, bias);
        if i + 1 < LAYERS {
            x = b.relu(x);
        }
        i += 1;
    }
    b.output(x);
    (input, x)
}
