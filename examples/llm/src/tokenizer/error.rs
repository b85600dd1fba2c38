use core::fmt;

/// Why a text could not be encoded, or a token not decoded.
///
/// `need` and `got` count elements of the slice that was handed in, so a caller can come again
/// with enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The scratch has too few symbols for this text.
    Scratch {
        /// Symbols needed.
        need: usize,
        /// Symbols handed in.
        got: usize,
    },
    /// The output has too few places for the ids.
    Output {
        /// Ids that the text makes.
        need: usize,
        /// Places handed in.
        got: usize,
    },
    /// The output has too few bytes for what a token stands for.
    Bytes {
        /// Bytes needed.
        need: usize,
        /// Bytes handed in.
        got: usize,
    },
    /// The memory for an index over the vocabulary has too few words.
    Index {
        /// Words needed.
        need: usize,
        /// Words handed in.
        got: usize,
    },
    /// Ids of this vocabulary don't fit the words of the index: use `u32`.
    IndexWidth {
        /// Number of tokens.
        len: u32,
    },
    /// A ready-made index does not belong to this vocabulary: the entry is missing or out of order.
    IndexOrder {
        /// Which entry.
        at: usize,
    },
    /// A token id outside the vocabulary.
    Token {
        /// The id.
        id: u32,
        /// Number of tokens in the vocabulary.
        len: u32,
    },
    /// The vocabulary has no token for this byte, and none for the unknown.
    Unencodable {
        /// Where in the text, in bytes.
        at: usize,
        /// The byte.
        byte: u8,
    },
    /// The text is longer than the counters of the scratch can express.
    TextLen {
        /// Bytes of the text.
        len: usize,
        /// The most that can be encoded in one go.
        max: usize,
    },
    /// A key of the model file is missing, or holds something that can't be used.
    Metadata {
        /// The key.
        key: &'static str,
        /// What is wrong with it.
        what: &'static str,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Error::Scratch { need, got } => {
                write!(f, "tokenizer scratch: the text needs {need} symbols, got {got}")
            }
            Error::Output { need, got } => {
                write!(f, "token output: the text makes {need} tokens, room for {got}")
            }
            Error::Bytes { need, got } => {
                write!(f, "piece output: the token has {need} bytes, room for {got}")
            }
            Error::Index { need, got } => {
                write!(f, "vocabulary index: needs {need} words, got {got}")
            }
            Error::IndexWidth { len } => {
                write!(f, "vocabulary index: {len} tokens don't fit 16-bit words, use u32")
            }
            Error::IndexOrder { at } => {
                write!(f, "vocabulary index: entry {at} does not fit this vocabulary, rebuild it")
            }
            Error::Token { id, len } => {
                write!(f, "token id {id} is outside the vocabulary of {len}")
            }
            Error::Unencodable { at, byte } => {
                write!(f, "byte {byte:#04x} at {at} has no token in this vocabulary, remove it")
            }
            Error::TextLen { len, max } => {
                write!(f, "text of {len} bytes: encode it in parts of at most {max}")
            }
            Error::Metadata { key, what } => write!(f, "model file, `{key}`: {what}"),
        }
    }
}

impl core::error::Error for Error {}
