//! Where a model's tensors lie, each checked.

use super::{Config, Error, Name};
use dinrail_core::graph::{Builder, NodeId};
use dinrail_core::tensor::{DType, size};
use dinrail_gguf::Header;

/// Where one tensor lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Weight {
    /// Type of its elements.
    pub dtype: DType,
    /// The slot that its memory is bound to.
    pub slot: u8,
    /// First byte in the slot.
    pub offset: usize,
    /// Lengths, innermost first.
    pub ne: [usize; 4],
}

impl Weight {
    /// A leaf for it.
    pub const fn leaf(&self, b: &mut Builder<'_>) -> NodeId {
        b.weight(self.dtype, self.ne, self.slot, self.offset)
    }

    const fn moved(self, base: usize) -> Option<Self> {
        match self.offset.checked_sub(base) {
            Some(offset) => Some(Weight { offset, ..self }),
            None => None,
        }
    }
}

macro_rules! layer {
    ($($(#[$doc:meta])* $field:ident: $name:literal;)*) => {
        /// The tensors of one layer. Those that are `None` are left out of the graph.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct Layer {
            $($(#[$doc])* pub $field: Option<Weight>,)*
        }

        impl Layer {
            /// No tensors.
            pub const NONE: Layer = Layer { $($field: None,)* };

            /// The lowest offset, and the slot if it is the same for all.
            const fn base(&self) -> Option<(u8, usize)> {
                let mut base: Option<(u8, usize)> = None;
                $(
                    if let Some(w) = self.$field {
                        base = match base {
                            None => Some((w.slot, w.offset)),
                            Some((slot, _)) if slot != w.slot => return None,
                            Some((slot, at)) => Some((slot, if w.offset < at { w.offset } else { at })),
                        };
                    }
                )*
                base
            }

            /// This layer with offsets counted from `base`; `None` if one lies before it.
            pub const fn from(&self, base: usize) -> Option<Layer> {
                let mut moved = Layer::NONE;
                $(
                    if let Some(w) = self.$field {
                        moved.$field = match w.moved(base) {
                            Some(w) => Some(w),
                            None => return None,
                        };
                    }
                )*
                Some(moved)
            }

            /// Calls `f` on each tensor that is there.
            pub fn each_mut(&mut self, mut f: impl FnMut(&mut Weight)) {
                $(
                    if let Some(w) = &mut self.$field {
                        f(w);
                    }
                )*
            }

            const fn same(&self, other: &Layer) -> bool {
                $(
                    match (self.$field, other.$field) {
                        (None, None) => {}
                        (Some(a), Some(b)) => {
                            if a.dtype as u8 != b.dtype as u8 || a.slot != b.slot || a.offset != b.offset {
                                return false;
                            }
                        }
                        _ => return false,
                    }
                )*
                true
            }
        }

        /// Names of the tensors within a layer.
        #[allow(non_upper_case_globals)]
        mod name {
            $(pub(super) const $field: &str = $name;)*
        }
    };
}

layer! {
    /// Norm before attention.
    attn_norm: "attn_norm.weight";
    /// Queries.
    q: "attn_q.weight";
    /// Keys.
    k: "attn_k.weight";
    /// Values.
    v: "attn_v.weight";
    /// Output of attention.
    out: "attn_output.weight";
    /// Bias of the queries, if the model has one.
    q_bias: "attn_q.bias";
    /// Bias of the keys, if the model has one.
    k_bias: "attn_k.bias";
    /// Bias of the values, if the model has one.
    v_bias: "attn_v.bias";
    /// Bias of the output of attention, if the model has one.
    out_bias: "attn_output.bias";
    /// Norm on each head of the queries, if the model has one.
    q_norm: "attn_q_norm.weight";
    /// Norm on each head of the keys, if the model has one.
    k_norm: "attn_k_norm.weight";
    /// Norm before the feed-forward part.
    ffn_norm: "ffn_norm.weight";
    /// Gate of the feed-forward part.
    gate: "ffn_gate.weight";
    /// First product of the feed-forward part.
    up: "ffn_up.weight";
    /// Second product of the feed-forward part.
    down: "ffn_down.weight";
}

/// All tensors of a model.
#[derive(Clone, Copy, Debug)]
pub struct Weights<'a> {
    /// Embedding of each token.
    pub embed: Weight,
    /// Norm after the last layer.
    pub norm: Weight,
    /// Product that gives the logits; the embedding again where the two are tied.
    pub output: Weight,
    /// Divisors of the rotation's frequencies, if the model has some.
    pub factors: Option<Weight>,
    /// The layers.
    pub layers: &'a [Layer],
}

struct Finder<'h, 'a> {
    header: &'h Header<'a>,
    slot: u8,
}

impl Finder<'_, '_> {
    const fn optional(
        &self,
        name: &Name,
        ne: [usize; 2],
        f32_only: bool,
    ) -> Result<Option<Weight>, Error> {
        let Some(info) = self.header.tensor(name.as_str()) else { return Ok(None) };
        let expected = [ne[0] as u64, ne[1] as u64, 1, 1];
        let mut i = 0;
        while i < 4 {
            if info.ne[i] != expected[i] {
                return Err(Error::Shape { tensor: *name, expected, found: info.ne });
            }
            i += 1;
        }
        if f32_only && !matches!(info.dtype, DType::F32) {
            return Err(Error::Type { tensor: *name, expected: "f32", found: info.dtype });
        }
        if info.dtype.is_integer() || matches!(info.dtype, DType::F64 | DType::Q8_1 | DType::Q8_K) {
            let expected = "a float of at most 32 bits or a quantised type";
            return Err(Error::Type { tensor: *name, expected, found: info.dtype });
        }
        let Ok(offset) = size::to_usize(info.offset) else {
            // It lies in the file, so the file is larger than the address space.
            return Err(Error::Missing { tensor: *name });
        };
        Ok(Some(Weight { dtype: info.dtype, slot: self.slot, offset, ne: [ne[0], ne[1], 1, 1] }))
    }

    const fn needed(&self, name: &Name, ne: [usize; 2], f32_only: bool) -> Result<Weight, Error> {
        match tri!(self.optional(name, ne, f32_only)) {
            Some(w) => Ok(w),
            None => Err(Error::Missing { tensor: *name }),
        }
    }

    const fn layer(&self, c: &Config, i: usize) -> Result<Layer, Error> {
        macro_rules! part {
            ($part:ident, $ne:expr, $f32:literal) => {
                Some(tri!(self.needed(&Name::in_layer(i, name::$part), $ne, $f32)))
            };
            ($part:ident, $ne:expr, $f32:literal, optional) => {
                tri!(self.optional(&Name::in_layer(i, name::$part), $ne, $f32))
            };
        }
        let (query, keys, values) = (c.heads * c.key, c.kv_heads * c.key, c.kv_heads * c.value);
        Ok(Layer {
            attn_norm: part!(attn_norm, [c.width, 1], true),
            q: part!(q, [c.width, query], false),
            k: part!(k, [c.width, keys], false),
            v: part!(v, [c.width, values], false),
            out: part!(out, [c.heads * c.value, c.width], false),
            q_bias: part!(q_bias, [query, 1], true, optional),
            k_bias: part!(k_bias, [keys, 1], true, optional),
            v_bias: part!(v_bias, [values, 1], true, optional),
            out_bias: part!(out_bias, [c.width, 1], true, optional),
            q_norm: part!(q_norm, [c.key, 1], true, optional),
            k_norm: part!(k_norm, [c.key, 1], true, optional),
            ffn_norm: part!(ffn_norm, [c.width, 1], true),
            gate: part!(gate, [c.width, c.feed_forward], false),
            up: part!(up, [c.width, c.feed_forward], false),
            down: part!(down, [c.feed_forward, c.width], false),
        })
    }
}

impl<'a> Weights<'a> {
    /// Finds every tensor in a file whose bytes, from its first, will be bound to `slot`. `layers` needs
    /// [`Config::layers`] entries.
    ///
    /// # Errors
    /// [`Error::Missing`], [`Error::Shape`], [`Error::Type`] with the tensor's name; [`Error::Layers`].
    pub const fn find(
        header: &Header<'_>,
        config: &Config,
        slot: u8,
        layers: &'a mut [Layer],
    ) -> Result<Self, Error> {
        let have = layers.len();
        let Some((layers, _)) = layers.split_at_mut_checked(config.layers) else {
            return Err(Error::Layers { need: config.layers, have });
        };
        let find = Finder { header, slot };
        let table = [config.width, config.vocab];
        let embed = tri!(find.needed(&Name::new("token_embd.weight"), table, false));
        let norm = tri!(find.needed(&Name::new("output_norm.weight"), [config.width, 1], true));
        let output = match tri!(find.optional(&Name::new("output.weight"), table, false)) {
            Some(w) => w,
            None => embed,
        };
        let pairs = [config.rope.dims as usize / 2, 1];
        let factors = tri!(find.optional(&Name::new("rope_freqs.weight"), pairs, true));
        let mut i = 0;
        while i < layers.len() {
            layers[i] = tri!(find.layer(config, i));
            i += 1;
        }
        Ok(Weights { embed, norm, output, factors, layers })
    }

    /// First byte of the first layer and the distance from layer to layer, if every layer is laid out like the
    /// first: then one graph of `layers[0].from(base)` serves for all, bound at `base + i * stride`.
    pub const fn stride(&self) -> Option<(usize, usize)> {
        if self.layers.is_empty() {
            return None;
        }
        let Some((_, base)) = self.layers[0].base() else { return None };
        let Some(first) = self.layers[0].from(base) else { return None };
        let mut stride = 0;
        let mut i = 1;
        while i < self.layers.len() {
            let Some((_, at)) = self.layers[i].base() else { return None };
            if i == 1 {
                stride = match at.checked_sub(base) {
                    Some(s) => s,
                    None => return None,
                };
            }
            let Some(moved) = self.layers[i].from(at) else { return None };
            if at < base || at - base != i * stride || !moved.same(&first) {
                return None;
            }
            i += 1;
        }
        Some((base, stride))
    }
}
