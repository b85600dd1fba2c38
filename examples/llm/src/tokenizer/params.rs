use super::{Error, Find, Kind, Vocab};
use dinrail_gguf::Header;

/// The special tokens and habits of a vocabulary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Params {
    /// Begins a text.
    pub bos: Option<u32>,
    /// Ends a text.
    pub eos: Option<u32>,
    /// Stands for what can't be encoded.
    pub unknown: Option<u32>,
    /// Whether `bos` goes before each text.
    pub add_bos: bool,
    /// Whether `eos` goes after each text.
    pub add_eos: bool,
    /// Whether a text gets a space in front, so that its first word looks like any other word
    /// (SentencePiece vocabularies only).
    pub add_space_prefix: bool,
    end: [u32; Params::MAX_END],
    end_count: usize,
}

impl Params {
    /// The most tokens that can end an answer.
    pub const MAX_END: usize = 12;

    /// Names under which models' vocabularies carry the token that ends a turn or a message.
    const END_NAMES: [&'static str; 8] = [
        "<|eot_id|>",
        "<|im_end|>",
        "<|end|>",
        "<end_of_turn>",
        "<|endoftext|>",
        "<|end_of_text|>",
        "<|eom_id|>",
        "<EOT>",
    ];

    /// The defaults of SentencePiece vocabularies: 1 begins, 2 ends, 0 is the unknown; a text gets
    /// the begin and a space.
    pub const LLAMA: Params = Params {
        bos: Some(1),
        eos: Some(2),
        unknown: Some(0),
        add_bos: true,
        add_eos: false,
        add_space_prefix: true,
        end: [0; Params::MAX_END],
        end_count: 0,
    };

    /// The defaults of byte-level vocabularies: no special tokens, nothing added.
    pub const GPT2: Params = Params {
        bos: None,
        eos: None,
        unknown: None,
        add_bos: false,
        add_eos: false,
        add_space_prefix: false,
        end: [0; Params::MAX_END],
        end_count: 0,
    };

    /// Makes `id` end an answer, beside `eos`. False if [`Params::MAX_END`] tokens do so already.
    pub fn add_end(&mut self, id: u32) -> bool {
        if self.is_eog(id) {
            return true;
        }
        let Some(slot) = self.end.get_mut(self.end_count) else { return false };
        *slot = id;
        self.end_count += 1;
        true
    }

    /// Adds the control tokens of `vocab` whose names say that they end a turn.
    pub fn add_known_ends<V: Vocab + ?Sized>(&mut self, vocab: &V, find: &impl Find) {
        for name in Params::END_NAMES {
            if let Some(id) = find.find(vocab, name.bytes())
                && vocab.kind(id) == Kind::Control
            {
                self.add_end(id);
            }
        }
    }

    /// Whether a model ends its answer with `id`.
    pub fn is_eog(&self, id: u32) -> bool {
        self.eos == Some(id) || self.end.iter().take(self.end_count).any(|&end| end == id)
    }
}

/// From a model file.
impl Params {
    /// Reads `tokenizer.ggml.*` over `defaults`, and the names of the tokens that end an answer.
    ///
    /// # Errors
    /// [`Error::Metadata`] for a key of the wrong type or an id outside the vocabulary.
    pub fn read<V: Vocab + ?Sized>(
        header: &Header<'_>,
        vocab: &V,
        find: &impl Find,
        defaults: Params,
    ) -> Result<Self, Error> {
        let id = |key: &'static str| match header.get(key) {
            None => Ok(None),
            Some(value) => match value.as_u32() {
                Some(id) if id < vocab.len() => Ok(Some(id)),
                _ => Err(Error::Metadata { key, what: "must be the id of a token" }),
            },
        };
        let flag = |key: &'static str, default| match header.get(key) {
            None => Ok(default),
            Some(value) => value.as_bool().ok_or(Error::Metadata { key, what: "must be a bool" }),
        };
        let fits = |default: Option<u32>| default.filter(|&id| id < vocab.len());
        let mut params = Params {
            bos: id("tokenizer.ggml.bos_token_id")?.or(fits(defaults.bos)),
            eos: id("tokenizer.ggml.eos_token_id")?.or(fits(defaults.eos)),
            unknown: id("tokenizer.ggml.unknown_token_id")?.or(fits(defaults.unknown)),
            add_bos: flag("tokenizer.ggml.add_bos_token", defaults.add_bos)?,
            add_eos: flag("tokenizer.ggml.add_eos_token", defaults.add_eos)?,
            add_space_prefix: flag("tokenizer.ggml.add_space_prefix", defaults.add_space_prefix)?,
            ..defaults
        };
        for key in ["tokenizer.ggml.eot_token_id", "tokenizer.ggml.eom_token_id"] {
            if let Some(id) = id(key)? {
                params.add_end(id);
            }
        }
        params.add_known_ends(vocab, find);
        Ok(params)
    }
}
