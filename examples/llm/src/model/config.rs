//! What a model file says about itself.

use super::{Error, HEAD_NODES, LAYER_NODES, Name, Problem};
use dinrail_core::op::{Rope, RopeMode};
use dinrail_gguf::{Header, Value};

/// A member of the family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Arch {
    /// The trunk of the family.
    Llama,
    /// Biases on q, k and v.
    Qwen2,
    /// Norms on each head of q and k.
    Qwen3,
}

impl Arch {
    /// The name in `general.architecture`, which is also the prefix of the other keys.
    pub const fn name(self) -> &'static str {
        match self {
            Arch::Llama => "llama",
            Arch::Qwen2 => "qwen2",
            Arch::Qwen3 => "qwen3",
        }
    }

    const ALL: [Arch; 3] = [Arch::Llama, Arch::Qwen2, Arch::Qwen3];

    const fn from_name(name: &str) -> Option<Self> {
        let mut i = 0;
        while i < Self::ALL.len() {
            if equal(name.as_bytes(), Self::ALL[i].name().as_bytes()) {
                return Some(Self::ALL[i]);
            }
            i += 1;
        }
        None
    }
}

const fn equal(a: &[u8], b: &[u8]) -> bool {
    if a.len() != b.len() {
        return false;
    }
    let mut i = 0;
    while i < a.len() {
        if a[i] != b[i] {
            return false;
        }
        i += 1;
    }
    true
}

/// Lengths and constants of a model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Config {
    /// Which member of the family.
    pub arch: Arch,
    /// Length of the residual stream.
    pub width: usize,
    /// Number of layers.
    pub layers: usize,
    /// Length of the hidden state of the feed-forward part.
    pub feed_forward: usize,
    /// Number of query heads.
    pub heads: usize,
    /// Number of key and value heads; divides `heads`.
    pub kv_heads: usize,
    /// Length of a query and a key.
    pub key: usize,
    /// Length of a value.
    pub value: usize,
    /// Number of tokens in the vocabulary.
    pub vocab: usize,
    /// Positions that the model was trained for.
    pub context: usize,
    /// Added to the mean of squares in norms.
    pub eps: f32,
    /// The position embedding.
    pub rope: Rope,
}

/// Upper bound of every length, so that no product of two wraps in 64 bits.
const MOST: u64 = 1 << 24;

/// The most layers whose graph can be numbered.
const MOST_LAYERS: usize = (u16::MAX as usize - 1 - HEAD_NODES) / LAYER_NODES;

struct Keys<'a, 'h> {
    header: &'h Header<'a>,
    arch: Arch,
}

impl<'a> Keys<'a, '_> {
    const fn key(&self, suffix: &str) -> Name {
        Name::new(self.arch.name()).then(".").then(suffix)
    }

    const fn get(&self, suffix: &str) -> Option<Value<'a>> {
        self.header.get(self.key(suffix).as_str())
    }

    const fn wrong(&self, suffix: &str, problem: Problem) -> Error {
        Error::Key { key: self.key(suffix), problem }
    }

    const fn number(&self, suffix: &str, default: Option<usize>) -> Result<usize, Error> {
        match (self.get(suffix), default) {
            (Some(value), _) => match value.as_u64() {
                Some(n) if n > 0 && n < MOST => Ok(n as usize),
                Some(n) => {
                    let expected = "between 1 and 16777215";
                    Err(self.wrong(suffix, Problem::Value { value: n as f64, expected }))
                }
                None => Err(self.wrong(suffix, Problem::Type { expected: "one integer" })),
            },
            (None, Some(n)) => Ok(n),
            (None, None) => Err(self.wrong(suffix, Problem::Missing)),
        }
    }

    const fn float(&self, suffix: &str, default: Option<f32>) -> Result<f32, Error> {
        match (self.get(suffix), default) {
            (Some(value), _) => match value.as_f32() {
                Some(x) if x >= 0.0 && x < 1e12 => Ok(x),
                Some(x) => {
                    let expected = "a number from 0 to 1e12";
                    Err(self.wrong(suffix, Problem::Value { value: x as f64, expected }))
                }
                None => Err(self.wrong(suffix, Problem::Type { expected: "a float" })),
            },
            (None, Some(x)) => Ok(x),
            (None, None) => Err(self.wrong(suffix, Problem::Missing)),
        }
    }
}

impl Config {
    /// Reads the metadata of a file.
    ///
    /// # Errors
    /// [`Error::Architecture`], [`Error::Key`] with the key and what is wrong with it.
    pub const fn read(header: &Header<'_>) -> Result<Self, Error> {
        let name = "general.architecture";
        let arch = match header.get(name) {
            Some(value) => match value.as_str() {
                Some(text) => match text.to_str() {
                    Some(text) => match Arch::from_name(text) {
                        Some(arch) => arch,
                        None => return Err(Error::Architecture { found: Name::new(text) }),
                    },
                    None => return Err(Error::Architecture { found: Name::new("?") }),
                },
                None => {
                    let problem = Problem::Type { expected: "a string" };
                    return Err(Error::Key { key: Name::new(name), problem });
                }
            },
            None => return Err(Error::Key { key: Name::new(name), problem: Problem::Missing }),
        };
        let keys = Keys { header, arch };
        if let Some(value) = keys.get("expert_count") {
            match value.as_u64() {
                Some(0) => {}
                _ => {
                    let problem = Problem::Unsupported { what: "a mixture of experts" };
                    return Err(keys.wrong("expert_count", problem));
                }
            }
        }
        let width = tri!(keys.number("embedding_length", None));
        let heads = tri!(keys.number("attention.head_count", None));
        let kv_heads = tri!(keys.number("attention.head_count_kv", Some(heads)));
        if !heads.is_multiple_of(kv_heads) {
            let problem = Problem::Value {
                value: kv_heads as f64,
                expected: "a divisor of attention.head_count",
            };
            return Err(keys.wrong("attention.head_count_kv", problem));
        }
        let key = tri!(keys.number("attention.key_length", Some(width / heads)));
        let value = tri!(keys.number("attention.value_length", Some(width / heads)));
        if key == 0 || value == 0 {
            let problem = Problem::Value {
                value: heads as f64,
                expected: "at most embedding_length, for the lengths of keys and values",
            };
            return Err(keys.wrong("attention.head_count", problem));
        }
        let context = tri!(keys.number("context_length", None));
        let vocab = match header.array("tokenizer.ggml.tokens") {
            Some(tokens) => tri!(keys.number("vocab_size", Some(tokens.len()))),
            None => tri!(keys.number("vocab_size", None)),
        };
        let layers = tri!(keys.number("block_count", None));
        // Before anybody makes room for them.
        if layers > MOST_LAYERS {
            let expected = "few enough for a graph of 65534 nodes";
            return Err(
                keys.wrong("block_count", Problem::Value { value: layers as f64, expected })
            );
        }
        Ok(Config {
            arch,
            width,
            layers,
            feed_forward: tri!(keys.number("feed_forward_length", None)),
            heads,
            kv_heads,
            key,
            value,
            vocab,
            context,
            eps: tri!(keys.float("attention.layer_norm_rms_epsilon", None)),
            rope: tri!(rope(&keys, key, context)),
        })
    }

    /// Factor on the products of queries and keys: one over the root of their length.
    pub const fn scale(&self) -> f32 {
        // Newton's method from above; a root is not available in a `const`.
        let n = self.key as f64;
        let mut x = n;
        let mut i = 0;
        while i < 40 {
            x = 0.5 * (x + n / x);
            i += 1;
        }
        (1.0 / x) as f32
    }
}

/// The position embedding, with what stretches the context.
const fn rope(keys: &Keys<'_, '_>, key: usize, context: usize) -> Result<Rope, Error> {
    let dims = tri!(keys.number("rope.dimension_count", Some(key)));
    if dims > key || !dims.is_multiple_of(2) || dims > u16::MAX as usize {
        let problem =
            Problem::Value { value: dims as f64, expected: "even and at most the length of a key" };
        return Err(keys.wrong("rope.dimension_count", problem));
    }
    let mode = match keys.arch {
        Arch::Llama => RopeMode::Normal,
        Arch::Qwen2 | Arch::Qwen3 => RopeMode::NeoX,
    };
    let base = tri!(keys.float("rope.freq_base", Some(10000.0)));
    if base <= 0.0 {
        let problem = Problem::Value { value: base as f64, expected: "above 0" };
        return Err(keys.wrong("rope.freq_base", problem));
    }
    let mut rope = Rope::plain(dims as u16, mode, base);
    let trained = tri!(keys.number("rope.scaling.original_context_length", Some(context)));
    rope.trained_context = trained as u32;
    rope.attn_factor = tri!(keys.float("rope.scaling.attn_factor", Some(1.0)));
    let kind = match keys.get("rope.scaling.type") {
        None => "linear",
        Some(value) => match value.as_str() {
            Some(text) => match text.to_str() {
                Some(text) => text,
                None => "",
            },
            None => "",
        },
    };
    if equal(kind.as_bytes(), b"none") {
        return Ok(rope);
    }
    let yarn = equal(kind.as_bytes(), b"yarn");
    if !yarn && !equal(kind.as_bytes(), b"linear") {
        let expected = "\"none\", \"linear\" or \"yarn\"";
        return Err(keys.wrong("rope.scaling.type", Problem::Type { expected }));
    }
    // Old files have the factor under another name.
    let old = tri!(keys.float("rope.scale_linear", Some(0.0)));
    let factor = tri!(keys.float("rope.scaling.factor", Some(old)));
    if factor > 0.0 {
        rope.scale = 1.0 / factor;
    }
    if yarn {
        rope.ext_factor = 1.0;
        rope.beta_fast = tri!(keys.float("rope.scaling.yarn_beta_fast", Some(32.0)));
        rope.beta_slow = tri!(keys.float("rope.scaling.yarn_beta_slow", Some(1.0)));
    }
    Ok(rope)
}
