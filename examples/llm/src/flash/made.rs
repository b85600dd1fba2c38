//! What the macro has the compiler do.

use crate::model::{Config, Error, Name, Shape};
use dinrail::cpu::Port;
use dinrail::gguf::File;

/// Where a model's inputs and its result lie.
#[derive(Clone, Copy, Debug)]
pub struct Ports {
    /// The token: I32, 1.
    pub token: Port,
    /// Its position: I32, 1.
    pub position: Port,
    /// The cell of the cache that it goes to: I32, 1.
    pub cell: Port,
    /// What it may look at: F16, one for each cell.
    pub mask: Port,
    /// The result: F32, one for each token of the vocabulary.
    pub logits: Port,
}

/// Reads a model file.
pub const fn file(bytes: &'static [u8]) -> File<'static> {
    match File::parse(bytes) {
        Ok(file) => file,
        Err(_) => panic!("the model is not a usable GGUF file; `dinrail inspect FILE` says why"),
    }
}

/// Reads a model's lengths.
pub const fn config(file: &File<'static>) -> Config {
    match Config::read(file.header()) {
        Ok(config) => config,
        Err(e) => fail(&e),
    }
}

/// Bytes of the cache.
pub const fn cache_bytes(config: &Config, shape: &Shape) -> usize {
    assert!(shape.cells > 0, "`context` is 0: the cache needs a position for each token");
    match shape.cache_bytes(config) {
        Ok(n) => n,
        Err(_) => panic!("the cache does not fit the address space"),
    }
}

/// Ends the build with what is wrong with a model.
pub const fn fail(e: &Error) -> ! {
    let text = match e {
        Error::Key { key, .. } => Name::new("bad or missing key: ").then(key.as_str()),
        Error::Architecture { found } => Name::new("no graph for ").then(found.as_str()),
        Error::Missing { tensor } => Name::new("missing tensor: ").then(tensor.as_str()),
        Error::Shape { tensor, .. } => Name::new("shape of ").then(tensor.as_str()),
        Error::Type { tensor, .. } => Name::new("type of ").then(tensor.as_str()),
        Error::Layers { .. } => Name::new("too many layers"),
    };
    panic!("{}", text.as_str())
}
