use super::{
    Bpe, Error, Index, Options, Params, Spm, Symbol, Tokenizer, Utf8Stream, Vocab, index, vocab,
};
use dinrail_gguf::Header;
use std::boxed::Box;
use std::string::String;
use std::vec;
use std::vec::Vec;

const MODEL: &str = "tokenizer.ggml.model";

type Tokens<'a> = vocab::Gguf<'a, Vec<u32>>;

/// The tokenizer of whatever model it is given, with memory of its own. The vocabulary stays in
/// the model file.
#[derive(Debug)]
#[non_exhaustive]
pub enum Any<'a> {
    /// `llama`
    Spm(Spm<Tokens<'a>, Index<Vec<u32>>>),
    /// `gpt2`
    Bpe(Box<Bpe<Tokens<'a>>>),
}

impl<'a> Any<'a> {
    /// Reads the tokenizer of a model.
    ///
    /// # Errors
    /// [`Error::Metadata`] with the key that is missing or holds what can't be used.
    pub fn new(header: &Header<'a>) -> Result<Self, Error> {
        let offsets = vec![0; vocab::offsets_len(header)?];
        let vocab = vocab::Gguf::new(header, offsets)?;
        let model = header.get(MODEL).and_then(|value| value.as_str());
        match model.as_ref().and_then(|model| model.to_str()) {
            Some("llama") => {
                let index = Index::build(&vocab, vec![0; index::words(&vocab)])?;
                let params = Params::read(header, &vocab, &index, Params::LLAMA)?;
                Ok(Any::Spm(Spm::new(vocab, index, params)))
            }
            Some("gpt2") => Ok(Any::Bpe(Box::new(Bpe::new(header, vocab)?))),
            _ => Err(Error::Metadata { key: MODEL, what: "must be `llama` or `gpt2`" }),
        }
    }

    /// The token ids of `text`, which need not be UTF-8.
    ///
    /// # Errors
    /// [`Error::Unencodable`], [`Error::TextLen`].
    pub fn tokens(&self, text: &[u8], options: Options) -> Result<Vec<u32>, Error> {
        // The most there can be: a space counts three bytes, and a special token that is followed
        // by text gets one in front of that text.
        let most = text.len().saturating_mul(4).saturating_add(5);
        let mut ids = vec![0; most];
        let count = self.encode_bytes(text, options, &mut ids)?;
        ids.truncate(count);
        ids.shrink_to_fit();
        Ok(ids)
    }

    /// The text of `ids`; what is not UTF-8 becomes U+FFFD. The space that a vocabulary puts in
    /// front of a text is taken away.
    ///
    /// # Errors
    /// [`Error::Token`] for an id outside the vocabulary.
    pub fn text(&self, ids: &[u32], special: bool) -> Result<String, Error> {
        let mut bytes = vec![0; 64 + 8 * ids.len()];
        let count = loop {
            let decoded = match self {
                Any::Spm(spm) => spm.decode(ids, special, &mut bytes),
                Any::Bpe(bpe) => bpe.decode(ids, special, &mut bytes),
            };
            match decoded {
                Err(Error::Bytes { need, got }) => bytes.resize(need.max(2 * got), 0),
                other => break other?,
            }
        };
        let mut text = String::new();
        let mut stream = Utf8Stream::new();
        stream.push(&bytes[..count], |part| text.push_str(part));
        stream.finish(|part| text.push_str(part));
        Ok(text)
    }

    fn encode_bytes(&self, text: &[u8], options: Options, out: &mut [u32]) -> Result<usize, Error> {
        match self {
            Any::Spm(spm) => {
                let mut scratch = vec![Symbol::NEW; text.len() + 1];
                spm.encode(text, options, &mut scratch, out)
            }
            Any::Bpe(bpe) => bpe.encode(text, options, out),
        }
    }
}

impl Tokenizer for Any<'_> {
    fn encode(&mut self, text: &str, options: Options, out: &mut [u32]) -> Result<usize, Error> {
        self.encode_bytes(text.as_bytes(), options, out)
    }

    fn piece(&self, id: u32, special: bool, out: &mut [u8]) -> Result<usize, Error> {
        match self {
            Any::Spm(spm) => spm.piece(id, special, out),
            Any::Bpe(bpe) => bpe.piece(id, special, out),
        }
    }

    fn is_eog(&self, id: u32) -> bool {
        self.params().is_eog(id)
    }

    fn params(&self) -> &Params {
        match self {
            Any::Spm(spm) => spm.params(),
            Any::Bpe(bpe) => bpe.params(),
        }
    }

    fn vocab_len(&self) -> u32 {
        match self {
            Any::Spm(spm) => spm.vocab().len(),
            Any::Bpe(bpe) => bpe.vocab().len(),
        }
    }
}
