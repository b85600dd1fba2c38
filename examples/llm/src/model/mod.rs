//! The Llama family as a graph.
//!
//! [`Config`] is what a model file says about itself, [`Weights`] says where its tensors lie, and
//! [`build`] turns both into one graph for a number of tokens at a time and a number of cache cells.
//! The graph is the same for every token: where a token goes in the cache, and what it may look
//! at, are inputs.
//!
//! | architecture | differs from `llama` in |
//! |---|---|
//! | `llama` (also Mistral, SmolLM, TinyLlama, …) | |
//! | `qwen2` | biases on q, k and v; halves are rotated together |
//! | `qwen3` | norms on each head of q and k; halves are rotated together |
//!
//! Everything is a `const fn` and nothing has a heap: firmware can build its graph while it is
//! compiled. A device that has no room for the graph of a whole model builds three small ones
//! ([`embed`], [`layer`], [`head`]) and runs the second once for each layer with other bindings;
//! see [`Weights::stride`].
//!
//! ```
//! use dinrail_core::graph::GraphBuf;
//! use dinrail_gguf::File;
//! use dinrail_llm::model::{Config, Layer, Shape, Weights, build};
//!
//! const FILE: &[u8] = include_bytes!("../../../models/stories260K-Q8_0.gguf");
//! const fn graph() -> GraphBuf<200> {
//!     let Ok(file) = File::parse(FILE) else { panic!("damaged model") };
//!     let Ok(config) = Config::read(file.header()) else { panic!("not a llama") };
//!     let mut layers = [Layer::NONE; 5];
//!     let Ok(weights) = Weights::find(file.header(), &config, 1, &mut layers) else {
//!         panic!("tensors are missing")
//!     };
//!     let mut buf = GraphBuf::new();
//!     let mut b = buf.builder();
//!     build(&config, &weights, &Shape::token(128), &mut b);
//!     match b.finish() {
//!         Ok(_) => buf,
//!         Err(_) => panic!("the graph is wrong"),
//!     }
//! }
//! static GRAPH: GraphBuf<200> = graph();
//! assert!(GRAPH.graph().len() > 150);
//! ```

/// `?` for `const fn`.
macro_rules! tri {
    ($e:expr) => {
        match $e {
            Ok(v) => v,
            Err(e) => return Err(e),
        }
    };
}

mod config;
mod error;
mod graph;
mod name;
mod weights;

pub use config::{Arch, Config};
pub use error::{Error, Problem};
pub use graph::{
    CACHE, HEAD_NODES, LAYER_NODES, Nodes, PACKED, Shape, Shared, WEIGHTS, build, build_marked,
    embed, head, layer,
};
pub use name::Name;
pub use weights::{Layer, Weight, Weights};
