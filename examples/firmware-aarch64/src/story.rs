//! A language model that tells stories: 260,000 parameters in flash, one token at a time.

use dinrail::cpu::{Level, Memory, Port, fixed};
use dinrail::error::What;
use dinrail::gguf::File;
use dinrail::graph::Builder;
use dinrail::static_plan::Ram;
use dinrail::tensor::DType;
use dinrail::{Error, Result};
use dinrail_llm::model::{CACHE, Config, Layer, Nodes, Shape, WEIGHTS, Weights, build};
use dinrail_llm::sampler::greedy;

/// The model file, where it lies in flash.
pub static MODEL: &[u8] = BYTES;
#[cfg(not(feature = "q8"))]
const BYTES: &[u8] = dinrail::bare::include_model!("../../models/stories260K-f32.gguf");
#[cfg(feature = "q8")]
const BYTES: &[u8] = dinrail::bare::include_model!("../../models/stories260K-Q8_0.gguf");

pub(crate) const FILE: File<'static> = match File::parse(BYTES) {
    Ok(file) => file,
    Err(_) => panic!("the model is not a usable GGUF file"),
};
const CONFIG: Config = match Config::read(FILE.header()) {
    Ok(config) => config,
    Err(_) => panic!("the model is of a kind that has no graph here"),
};

/// Positions that the cache holds.
pub const CONTEXT: usize = 128;
const SHAPE: Shape = Shape::token(CONTEXT).with_cache(DType::F32);

const fn graph(b: &mut Builder<'_>) -> Nodes {
    let mut layers = [Layer::NONE; CONFIG.layers];
    match Weights::find(FILE.header(), &CONFIG, WEIGHTS, &mut layers) {
        Ok(weights) => build(&CONFIG, &weights, &SHAPE, b),
        Err(_) => panic!("the model lacks a tensor"),
    }
}

dinrail::static_plan! {
    /// The model as constants.
    pub mod plan {
        graph: super::graph => super::Nodes,
        level: super::Level::Neon,
    }
}

const TOKEN: Port = plan::port(plan::NODES.tokens);
const POSITION: Port = plan::port(plan::NODES.positions);
const CELL: Port = plan::port(plan::NODES.kv_index);
const MASK: Port = plan::port(plan::NODES.mask);
const LOGITS: Port = plan::port(plan::NODES.logits);

/// Bytes of the cache of keys and values.
pub const CACHE_BYTES: usize = match SHAPE.cache_bytes(&CONFIG) {
    Ok(n) => n,
    Err(_) => panic!("the cache is too large"),
};
const _: () = assert!(plan::TABLE.slot_bytes(CACHE) == CACHE_BYTES);

static ARENA: Ram<{ plan::ARENA }> = Ram::new();
static KEYS_AND_VALUES: Ram<CACHE_BYTES> = Ram::new();

/// There is one, and somebody has it.
const TAKEN: Error = Error::Full { what: What::Pool, need: 2, have: 1 };

/// Half-precision minus infinity: what a token may not look at.
const HIDDEN: u16 = 0xfc00;

/// The teller of a story.
pub struct Teller {
    model: fixed::Bound<'static, plan::Table>,
    position: usize,
}

impl Teller {
    /// Takes the memory.
    ///
    /// # Errors
    /// [`Error::Full`] the second time; what [`Fixed::bind`](dinrail::cpu::Fixed::bind) finds.
    pub fn new() -> Result<Self> {
        let arena = Memory::Write(ARENA.take().ok_or(TAKEN)?);
        let cache = Memory::Write(KEYS_AND_VALUES.take().ok_or(TAKEN)?);
        let model = plan::TABLE.bind([arena, Memory::Read(MODEL), cache])?;
        Ok(Self { model, position: 0 })
    }

    /// Sets the inputs for the next token of the text.
    ///
    /// # Errors
    /// [`Error::Full`] when the context is.
    fn begin(&mut self, token: u32) -> Result<()> {
        let at = self.position;
        if at >= CONTEXT {
            return Err(Error::Full { what: What::Buffer, need: at + 1, have: CONTEXT });
        }
        self.model.write(TOKEN)?.fill(token as i32);
        self.model.write(POSITION)?.fill(at as i32);
        self.model.write(CELL)?.fill(at as i32);
        for (i, x) in self.model.write::<u16>(MASK)?.iter_mut().enumerate() {
            *x = if i <= at { 0 } else { HIDDEN };
        }
        Ok(())
    }

    /// The most likely next token, after the last step.
    ///
    /// # Errors
    /// [`Error::Invalid`] where the logits are no numbers.
    fn finish(&mut self) -> Result<u32> {
        self.position += 1;
        let logits = self.model.read(LOGITS)?;
        greedy(logits).map_err(|_| Error::Invalid { what: "logits", value: self.position as i64 })
    }

    /// Takes the next token of the text; returns the most likely one behind it.
    ///
    /// # Errors
    /// [`Error::Full`] when the context is; [`Error::Invalid`] for a token that the model hasn't, or logits that are no
    /// numbers.
    pub fn token(&mut self, token: u32) -> Result<u32> {
        self.begin(token)?;
        self.model.run()?;
        self.finish()
    }
}
