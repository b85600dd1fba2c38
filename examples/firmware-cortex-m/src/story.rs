//! A language model that tells stories: 260,000 parameters in flash, one token at a time.

use dinrail::tensor::DType;
use dinrail_llm::flash::Model as _;

#[cfg(not(feature = "q8"))]
const FILE: &[u8] =
    dinrail::bare::include_model!("../../models/stories260K-f32.gguf", link_section = ".model");
#[cfg(feature = "q8")]
const FILE: &[u8] =
    dinrail::bare::include_model!("../../models/stories260K-Q8_0.gguf", link_section = ".model");

dinrail_llm::static_model! {
    /// The model as constants.
    pub mod model {
        file: super::FILE,
        context: 128,
        cache: super::DType::F32,
        level: crate::LEVEL,
    }
}

/// Computes its tokens.
pub type Teller = dinrail_llm::flash::Teller<model::Model>;
/// A text in the making, for prompts of up to 19 bytes.
pub type Story = dinrail_llm::flash::Story<model::Model, 20>;
/// Positions that the cache holds.
pub const CONTEXT: usize = model::Model::CONTEXT;
