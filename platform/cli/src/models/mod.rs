//! Models as graphs, for the commands that look at graphs.

pub mod ad01;

use crate::engine::Model;
use crate::{Error, Result};
use dinrail::graph::{Builder, Graph, Node};
use dinrail_gguf::Header;
use dinrail_llm::model::{self, Config, Layer, Shape, WEIGHTS, Weights};

/// The graph of any model that has one here, in `nodes`.
///
/// # Errors
/// What is wrong with the file.
pub fn graph<'n>(
    model: &Model,
    header: &Header<'_>,
    size: Size,
    nodes: &'n mut Vec<Node>,
) -> Result<Graph<'n>> {
    let wrong = |e: &dyn core::fmt::Display| model.wrong(e);
    if header.str("general.architecture") == Some(ad01::ARCHITECTURE) {
        let weights = ad01::Weights::find(header).map_err(|e| wrong(&e))?;
        nodes.resize(ad01::NODES, Node::EMPTY);
        let mut b = Builder::new(nodes);
        ad01::build(&weights, size.batch.unwrap_or(1), &mut b);
        return b.finish().map_err(too_large);
    }
    let config = Config::read(header).map_err(|e| wrong(&e))?;
    config.check_nodes()?;
    let mut layers = vec![Layer::NONE; config.layers];
    let weights = Weights::find(header, &config, WEIGHTS, &mut layers).map_err(|e| wrong(&e))?;
    let cells = size.context.unwrap_or_else(|| config.context.min(DEFAULT_CONTEXT));
    let shape = Shape::token(cells).batch(size.batch.unwrap_or(1));
    nodes.resize(config.max_nodes(), Node::EMPTY);
    let mut b = Builder::new(nodes);
    model::build(&config, &weights, &shape, &mut b);
    b.finish().map_err(too_large)
}

/// Why a graph can't be built. Files are checked before, so it is the sizes that were asked for.
fn too_large(e: dinrail::Error) -> Error {
    Error::new(format_args!("{e}; a smaller --ctx or --batch makes smaller tensors"))
}

/// Positions that are assumed where nobody says how many.
pub const DEFAULT_CONTEXT: usize = 4096;

/// How many of what a graph is for.
#[derive(Clone, Copy, Debug, Default)]
pub struct Size {
    /// Tokens or frames at a time.
    pub batch: Option<usize>,
    /// Positions, for language models.
    pub context: Option<usize>,
}
