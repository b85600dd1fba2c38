//! How byte-level vocabularies cut a text into words before anything is merged.
//!
//! The patterns belong to the vocabularies, which were trained with them; they are published with
//! the models (`tokenizer.json`). `tokenizer.ggml.pre` names them.
//!
//! The published patterns end in `\s+(?!\S)|\s+`: white space in front of a word gives its last
//! character to the word. Looking ahead would need a backtracking engine; here the pattern ends in
//! `\s+` and `split` leaves the last character, so that every text is cut in linear time.

use crate::tokenizer::Error;
use core::ops::Range;
use regex::bytes::Regex;
use std::vec::Vec;

/// Names that are known, as `tokenizer.ggml.pre` has them.
pub const NAMES: &[&str] = &[
    "gpt-2",
    "gpt2",
    "phi-2",
    "mpt",
    "olmo",
    "jais",
    "roberta-bpe",
    "smollm",
    "starcoder",
    "refact",
    "command-r",
    "codeshell",
    "exaone",
    "llama-bpe",
    "llama3",
    "llama-v3",
    "falcon3",
    "pixtral",
    "smaug-bpe",
    "qwen2",
    "stablelm2",
    "hunyuan",
    "deepseek-r1-qwen",
    "megrez",
    "gpt-4o",
    "llama4",
    "tekken",
];

const GPT2: &str = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+";
const DIGIT: &str = r"\p{N}";
const LLAMA3: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+";
const QWEN2: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+";
const GPT4O: &str = r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+";
const TEKKEN: &str = r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+";

/// A way of cutting, and the habits that go with it.
pub(crate) struct Pattern {
    /// Each cuts what the one before left in pieces.
    stages: &'static [&'static str],
    /// A word that is a token is taken whole.
    pub(crate) whole_words: bool,
    /// Whether a text gets the begin token if the model does not say.
    pub(crate) add_bos: bool,
}

pub(crate) fn by_name(name: &str) -> Option<Pattern> {
    let (stages, whole_words, add_bos): (&[&str], _, _) = match name {
        "gpt-2" | "gpt2" | "phi-2" | "mpt" | "olmo" | "jais" | "roberta-bpe" => {
            (&[GPT2], false, false)
        }
        "smollm" | "starcoder" | "refact" | "command-r" | "codeshell" | "exaone" => {
            (&[DIGIT, GPT2], false, false)
        }
        "llama-bpe" | "llama3" | "llama-v3" | "falcon3" | "pixtral" => (&[LLAMA3], true, true),
        "smaug-bpe" => (&[LLAMA3], false, false),
        "qwen2" | "stablelm2" | "hunyuan" | "deepseek-r1-qwen" | "megrez" => {
            (&[QWEN2], false, false)
        }
        "gpt-4o" | "llama4" => (&[GPT4O], false, false),
        "tekken" => (&[TEKKEN], true, true),
        _ => return None,
    };
    Some(Pattern { stages, whole_words, add_bos })
}

/// One stage, ready to run.
#[derive(Debug)]
pub(crate) struct Stage {
    regex: Regex,
    /// A run of white space up to a line end is a word of its own and keeps its last character.
    line_ends: bool,
}

impl Pattern {
    pub(crate) fn compile(&self) -> Result<Vec<Stage>, Error> {
        let compile = |pattern: &&str| {
            let regex = Regex::new(pattern).map_err(|_| Error::Metadata {
                key: "tokenizer.ggml.pre",
                what: "the pattern does not compile",
            })?;
            Ok(Stage { regex, line_ends: pattern.contains(r"\s*[\r\n]+") })
        };
        self.stages.iter().map(compile).collect()
    }
}

/// The words of `text`; together they are all of it.
pub(crate) fn split(stages: &[Stage], text: &[u8]) -> Vec<Range<usize>> {
    let mut words = Vec::new();
    if !text.is_empty() {
        words.push(0..text.len());
    }
    for stage in stages {
        let pieces = core::mem::take(&mut words);
        for piece in pieces {
            stage.split(text, piece, &mut words);
        }
    }
    words
}

impl Stage {
    fn split(&self, text: &[u8], piece: Range<usize>, words: &mut Vec<Range<usize>>) {
        let bytes = &text[piece.clone()];
        let mut push = |range: Range<usize>| {
            if !range.is_empty() {
                words.push(piece.start + range.start..piece.start + range.end);
            }
        };
        let mut at = 0;
        while let Some(found) = self.regex.find_at(bytes, at) {
            let end = if found.end() < bytes.len() {
                found.start() + self.kept(found.as_bytes())
            } else {
                found.end()
            };
            push(at..found.start());
            push(found.start()..end);
            at = end;
        }
        push(at..bytes.len());
    }

    /// Bytes of a match that it keeps when something follows.
    fn kept(&self, found: &[u8]) -> usize {
        let len = found.len();
        let Ok(text) = core::str::from_utf8(found) else { return len };
        if !text.chars().all(char::is_whitespace)
            || (self.line_ends && text.ends_with(['\r', '\n']))
        {
            return len;
        }
        match text.char_indices().next_back() {
            Some((last, _)) if last > 0 => last,
            _ => len,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(name: &str, text: &str) -> Vec<std::string::String> {
        let stages = by_name(name).unwrap().compile().unwrap();
        let words = split(&stages, text.as_bytes());
        words.into_iter().map(|word| text[word].into()).collect()
    }

    #[test]
    fn every_name_compiles() {
        for name in NAMES {
            assert!(by_name(name).unwrap().compile().is_ok(), "{name}");
        }
        assert!(by_name("no-such").is_none());
    }

    #[test]
    fn words_are_cut_as_published() {
        let text = "I'll say  it's 1234 times!!\n\n  Ok \n\tx ";
        assert_eq!(
            words("gpt-2", text),
            [
                "I", "'ll", " say", " ", " it", "'s", " 1234", " times", "!!", "\n\n ", " Ok",
                " \n", "\t", "x", " "
            ]
        );
        assert_eq!(
            words("smollm", text),
            [
                "I", "'ll", " say", " ", " it", "'s", " ", "1", "2", "3", "4", " times", "!!",
                "\n\n ", " Ok", " \n", "\t", "x", " "
            ]
        );
        assert_eq!(
            words("llama-bpe", text),
            [
                "I", "'ll", " say", " ", " it", "'s", " ", "123", "4", " times", "!!\n\n", " ",
                " Ok", " \n", "\tx", " "
            ]
        );
        assert_eq!(words("qwen2", "a12 B'S\r\n"), ["a", "1", "2", " B", "'S", "\r\n"]);
        assert_eq!(words("gpt-4o", "camelCase's d/\n"), ["camel", "Case's", " d", "/\n"]);
    }

    #[test]
    fn bytes_that_are_not_utf8_lose_nothing() {
        let stages = by_name("llama-bpe").unwrap().compile().unwrap();
        let text = b"a \xFF\xFE  b\xE2\x96";
        let words = split(&stages, text);
        let all: Vec<u8> = words.iter().flat_map(|word| text[word.clone()].to_vec()).collect();
        assert_eq!(all, text);
        assert!(split(&stages, b"").is_empty());
    }
}
