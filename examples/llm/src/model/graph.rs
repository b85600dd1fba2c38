//! The graph.

use super::{Config, Layer, Weight, Weights};
use dinrail_core::error::{Error, What};
use dinrail_core::graph::{Builder, NodeId};
use dinrail_core::op::GluKind;
use dinrail_core::tensor::{DType, size};

/// The slot that the model file is bound to.
pub const WEIGHTS: u8 = 1;

/// The slot that the cache of keys and values is bound to.
pub const CACHE: u8 = 2;

/// The first slot of matrices that are stored in another order, beside those of the file.
pub const PACKED: u8 = 3;

/// The most nodes that one layer takes.
pub const LAYER_NODES: usize = 60;

/// The most nodes that everything but the layers takes.
pub const HEAD_NODES: usize = 16;

/// How many of everything a graph is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Tokens that go through at a time.
    pub tokens: usize,
    /// Cells of the cache; each holds one position of every layer.
    pub cells: usize,
    /// For how many of the tokens logits are wanted; at least 1.
    pub outputs: usize,
    /// Type of the cache: F16 or F32.
    pub cache: DType,
}

impl Shape {
    /// One token at a time, a cache in F16.
    pub const fn token(cells: usize) -> Self {
        Shape { tokens: 1, cells, outputs: 1, cache: DType::F16 }
    }

    /// A batch of which only the last token's logits are wanted.
    pub const fn batch(self, tokens: usize) -> Self {
        Shape { tokens, outputs: 1, ..self }
    }

    /// The same with another type of cache.
    pub const fn with_cache(self, cache: DType) -> Self {
        Shape { cache, ..self }
    }

    /// Bytes of the cache of one layer: keys, then values.
    ///
    /// # Errors
    /// [`Error::Size`] where that does not fit the address space.
    pub const fn layer_bytes(&self, c: &Config) -> Result<usize, Error> {
        match cache_parts(c, self) {
            Ok((keys, values)) => match keys.checked_add(values) {
                Some(sum) => Ok(sum),
                None => Err(Error::Size(size::SizeError::Overflow)),
            },
            Err(e) => Err(e),
        }
    }

    /// Bytes of the whole cache.
    ///
    /// # Errors
    /// [`Error::Size`] where that does not fit the address space.
    pub const fn cache_bytes(&self, c: &Config) -> Result<usize, Error> {
        match self.layer_bytes(c) {
            Ok(one) => match one.checked_mul(c.layers) {
                Some(all) => Ok(all),
                None => Err(Error::Size(size::SizeError::Overflow)),
            },
            Err(e) => Err(e),
        }
    }
}

/// Bytes of one layer's keys and values, padded to 64.
const fn cache_parts(c: &Config, s: &Shape) -> Result<(usize, usize), Error> {
    let keys = tri!(part(s, c.key, c.kv_heads));
    let values = tri!(part(s, c.value, c.kv_heads));
    Ok((keys, values))
}

const fn part(s: &Shape, len: usize, heads: usize) -> Result<usize, Error> {
    let ne = [len as u64, s.cells as u64, heads as u64, 1];
    let bytes = match size::tensor_bytes(s.cache, &ne) {
        Ok(n) => n,
        Err(e) => return Err(Error::Size(e)),
    };
    match size::padded(bytes, 64) {
        Ok(n) => match size::to_usize(n) {
            Ok(n) => Ok(n),
            Err(e) => Err(Error::Size(e)),
        },
        Err(e) => Err(Error::Size(e)),
    }
}

/// The nodes that a caller writes before a run and reads after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nodes {
    /// Token ids: I32 `[tokens]`.
    pub tokens: NodeId,
    /// Their positions: I32 `[tokens]`.
    pub positions: NodeId,
    /// The cells that their keys and values go to: I32 `[tokens]`.
    pub kv_index: NodeId,
    /// What each token may look at: F16 `[cells, tokens]`, 0 for yes and minus infinity for no.
    pub mask: NodeId,
    /// The tokens whose logits are wanted: I32 `[outputs]`. `NodeId::NONE` if that is all of them.
    pub out_rows: NodeId,
    /// The result: F32 `[vocab, outputs]`.
    pub logits: NodeId,
}

/// What all layers of one graph read.
#[derive(Clone, Copy, Debug)]
pub struct Shared {
    /// Positions, I32 `[tokens]`.
    pub positions: NodeId,
    /// Cells, I32 `[tokens]`.
    pub kv_index: NodeId,
    /// Mask, F16 `[cells, tokens]`.
    pub mask: NodeId,
    /// Divisors of the rotation's frequencies; may be `NodeId::NONE`.
    pub factors: NodeId,
}

impl Shared {
    /// Leaves in the arena for all of them.
    pub const fn inputs(s: &Shape, factors: Option<Weight>, b: &mut Builder<'_>) -> Self {
        let list = [s.tokens, 1, 1, 1];
        Shared {
            positions: b.input(DType::I32, list),
            kv_index: b.input(DType::I32, list),
            mask: b.input(DType::F16, [s.cells, s.tokens, 1, 1]),
            factors: match factors {
                Some(w) => w.leaf(b),
                None => NodeId::NONE,
            },
        }
    }
}

/// The whole model: one graph for `shape.tokens` tokens at a time.
///
/// A mistake (a graph that does not fit the storage) is kept by the builder and comes out of its `finish`.
pub const fn build(c: &Config, w: &Weights<'_>, s: &Shape, b: &mut Builder<'_>) -> Nodes {
    build_marked(c, w, s, b, &mut [])
}

/// As [`build`], and tells where the layers are: `marks[i]` becomes the number of the first node of layer `i`, and
/// `marks[layers]` that of the first node behind them.
pub const fn build_marked(
    c: &Config,
    w: &Weights<'_>,
    s: &Shape,
    b: &mut Builder<'_>,
    marks: &mut [usize],
) -> Nodes {
    let (tokens, mut x) = embed(w.embed, s, b);
    let shared = Shared::inputs(s, w.factors, b);
    let out_rows = if s.outputs == s.tokens {
        NodeId::NONE
    } else {
        b.input(DType::I32, [s.outputs, 1, 1, 1])
    };
    let layer_bytes = match s.layer_bytes(c) {
        Ok(n) => n,
        Err(e) => {
            b.fail(e);
            0
        }
    };
    let mut i = 0;
    while i < w.layers.len() {
        // Behind the last attention, tokens without logits are of no more use.
        let rows = if i + 1 == w.layers.len() { out_rows } else { NodeId::NONE };
        if i < marks.len() {
            marks[i] = b.len();
        }
        x = layer(c, &w.layers[i], s, i * layer_bytes, x, &shared, rows, b);
        i += 1;
    }
    if i < marks.len() {
        marks[i] = b.len();
    }
    let logits = head(c, w, x, b);
    Nodes {
        tokens,
        positions: shared.positions,
        kv_index: shared.kv_index,
        mask: shared.mask,
        out_rows,
        logits,
    }
}

/// Token ids and their embeddings: I32 `[tokens]` and F32 `[width, tokens]`.
pub const fn embed(table: Weight, s: &Shape, b: &mut Builder<'_>) -> (NodeId, NodeId) {
    let tokens = b.input(DType::I32, [s.tokens, 1, 1, 1]);
    let table = table.leaf(b);
    (tokens, b.get_rows(table, tokens))
}

/// Final norm and logits of `x` `[width, n]`: F32 `[vocab, n]`, marked as output.
pub const fn head(c: &Config, w: &Weights<'_>, x: NodeId, b: &mut Builder<'_>) -> NodeId {
    let x = norm(x, &w.norm, c.eps, b);
    let output = w.output.leaf(b);
    let logits = b.mul_mat(output, x);
    b.output(logits);
    logits
}

const fn norm(x: NodeId, w: &Weight, eps: f32, b: &mut Builder<'_>) -> NodeId {
    let x = b.rms_norm(x, eps);
    let w = w.leaf(b);
    b.mul(x, w)
}

/// `w x + bias`; a missing `w` is a mistake of the caller.
const fn linear(
    x: NodeId,
    w: &Option<Weight>,
    bias: &Option<Weight>,
    b: &mut Builder<'_>,
) -> NodeId {
    let w = match w {
        Some(w) => w.leaf(b),
        None => {
            return b.fail(Error::Invalid { what: "layer without one of its weights", value: 0 });
        }
    };
    let y = b.mul_mat(w, x);
    match bias {
        Some(bias) => {
            let bias = bias.leaf(b);
            b.add(y, bias)
        }
        None => y,
    }
}

const fn maybe_norm(x: NodeId, w: &Option<Weight>, eps: f32, b: &mut Builder<'_>) -> NodeId {
    match w {
        Some(w) => norm(x, w, eps, b),
        None => x,
    }
}

/// One layer on `x` `[width, tokens]`. Its cache begins at byte `cache_at` of [`CACHE`]. With `rows`, only these
/// rows of the result are computed behind the attention.
pub const fn layer(
    c: &Config,
    w: &Layer,
    s: &Shape,
    cache_at: usize,
    x: NodeId,
    shared: &Shared,
    rows: NodeId,
    b: &mut Builder<'_>,
) -> NodeId {
    let (Some(attn_norm), Some(ffn_norm)) = (w.attn_norm, w.ffn_norm) else {
        return b.fail(Error::Invalid { what: "layer without one of its weights", value: 0 });
    };
    let h = norm(x, &attn_norm, c.eps, b);

    let q = linear(h, &w.q, &w.q_bias, b);
    let q = b.reshape(q, [c.key, c.heads, s.tokens, 1]);
    let q = maybe_norm(q, &w.q_norm, c.eps, b);
    let q = b.rope(q, shared.positions, shared.factors, c.rope);

    let k = linear(h, &w.k, &w.k_bias, b);
    let k = b.reshape(k, [c.key, c.kv_heads, s.tokens, 1]);
    let k = maybe_norm(k, &w.k_norm, c.eps, b);
    let k = b.rope(k, shared.positions, shared.factors, c.rope);

    let v = linear(h, &w.v, &w.v_bias, b);
    let v = b.reshape(v, [c.value, c.kv_heads, s.tokens, 1]);

    // A head's keys lie side by side, so that attention reads memory in order.
    let keys_bytes = match cache_parts(c, s) {
        Ok((keys, _)) => keys,
        Err(e) => return b.fail(e),
    };
    let keys = b.leaf(s.cache, [c.key, s.cells, c.kv_heads, 1], CACHE, cache_at);
    let values = b.leaf(s.cache, [c.value, s.cells, c.kv_heads, 1], CACHE, cache_at + keys_bytes);
    let k = b.permute(k, [0, 2, 1, 3]);
    let keys = b.set_rows(k, shared.kv_index, keys);
    let v = b.permute(v, [0, 2, 1, 3]);
    let values = b.set_rows(v, shared.kv_index, values);

    let q = b.permute(q, [0, 2, 1, 3]);
    let a = b.flash_attn(q, keys, values, shared.mask, c.scale());
    let mut a = b.reshape(a, [c.heads * c.value, s.tokens, 1, 1]);
    let mut x = x;
    if !rows.is_none() {
        a = b.get_rows(a, rows);
        x = b.get_rows(x, rows);
    }
    let a = linear(a, &w.out, &w.out_bias, b);
    let x = b.add(a, x);

    let h = norm(x, &ffn_norm, c.eps, b);
    let gate = linear(h, &w.gate, &None, b);
    let up = linear(h, &w.up, &None, b);
    let h = b.glu(gate, up, GluKind::Swiglu);
    let h = linear(h, &w.down, &None, b);
    b.add(h, x)
}

/// Storage that [`build`] needs, as an error that says so.
impl Config {
    /// The most nodes that the graph of the whole model takes.
    pub const fn max_nodes(&self) -> usize {
        self.layers.saturating_mul(LAYER_NODES).saturating_add(HEAD_NODES)
    }

    /// Checks that the whole model's graph can be numbered.
    ///
    /// # Errors
    /// [`Error::Full`] for more layers than node numbers reach.
    pub const fn check_nodes(&self) -> Result<(), Error> {
        let (need, have) = (self.max_nodes(), u16::MAX as usize - 1);
        if need > have { Err(Error::Full { what: What::Nodes, need, have }) } else { Ok(()) }
    }
}
