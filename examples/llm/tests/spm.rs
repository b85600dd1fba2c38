//! The SentencePiece-style tokenizer in fixed memory.

mod data;

use data::{STORIES_PROMPTS, stories};
use dinrail_llm::tokenizer::vocab::{self, Table, Token};
use dinrail_llm::tokenizer::{
    Error, Index, Kind, Options, Params, Scan, Spm, Symbol, Tokenizer, index,
};

/// Everything in fixed memory: 16-bit index, scratch and output on the stack.
#[test]
fn stories_without_a_heap() {
    let header = stories();
    let mut offsets = [0u32; 512];
    let vocab = vocab::Gguf::new(&header, &mut offsets[..]).unwrap();
    let mut words = [0u16; 515];
    assert_eq!(index::words(&vocab), 515);
    let index = Index::build(&vocab, &mut words[..]).unwrap();
    let params = Params::read(&header, &vocab, &index, Params::LLAMA).unwrap();
    let spm = Spm::new(&vocab, &index, params.clone());
    let scanning = Spm::new(&vocab, Scan, params.clone());
    let mut scratch = [Symbol::NEW; 64];
    let (mut out, mut text) = ([0; 64], [0; 64]);
    for &(prompt, ids) in STORIES_PROMPTS {
        let bytes = prompt.as_bytes();
        let count = spm.encode(bytes, Options::PROMPT, &mut scratch, &mut out).unwrap();
        assert_eq!(&out[..count], ids);
        let count = scanning.encode(bytes, Options::PROMPT, &mut scratch, &mut out).unwrap();
        assert_eq!(&out[..count], ids);
        let count = spm.decode(ids, false, &mut text).unwrap();
        assert_eq!(&text[..count], bytes);
    }
    let mut tokenizer = spm.with_scratch(&mut scratch);
    let count = tokenizer.encode("Once upon a time", Options::PROMPT, &mut out).unwrap();
    assert_eq!(&out[..count], STORIES_PROMPTS[0].1);
    assert!(tokenizer.is_eog(2));

    // A ready-made index is checked before it is believed.
    let words = index.as_words().to_vec();
    assert!(Index::load(&vocab, &words[..]).is_ok());
    let mut wrong = words.clone();
    wrong.swap(100, 101);
    assert_eq!(Index::load(&vocab, &wrong[..]).unwrap_err(), Error::IndexOrder { at: 101 });
    let short = Index::load(&vocab, &words[..514]).unwrap_err();
    assert_eq!(short, Error::Index { need: 515, got: 514 });
    let narrow = Index::build(&vocab, &mut [0u16; 512][..]).unwrap_err();
    assert_eq!(narrow, Error::Index { need: 515, got: 512 });
    assert_eq!(
        vocab::Gguf::new(&header, &mut [0; 511][..]).unwrap_err(),
        Error::Index { need: 512, got: 511 }
    );
}

const fn token(text: &str, score: f32, kind: Kind) -> Token<'_> {
    Token { text, score, kind }
}

/// A vocabulary in flash, without byte tokens.
static SMALL: [Token<'static>; 11] = [
    token("<unk>", 0.0, Kind::Unknown),
    token("<a", 0.0, Kind::UserDefined),
    token("aa>>", 0.0, Kind::UserDefined),
    token("a", -1.0, Kind::Normal),
    token("b", -1.0, Kind::Normal),
    token("ab", -2.0, Kind::Normal),
    token("ba", -2.0, Kind::Normal),
    token("bab", f32::NAN, Kind::Normal),
    token("▁", -9.0, Kind::Normal),
    token("b", -1.0, Kind::Normal),
    token("", 0.0, Kind::Normal),
];

fn small(params: Params, text: &str) -> Result<Vec<u32>, Error> {
    let vocab = Table(&SMALL);
    let mut words = vec![0u16; index::words(&vocab)];
    let index = Index::build(&vocab, &mut words[..]).unwrap();
    let mut results = Vec::new();
    let (mut scratch, mut out) = (vec![Symbol::NEW; text.len() + 1], vec![0; 64]);
    for round in 0..2 {
        let count = if round == 0 {
            let spm = Spm::new(vocab, Scan, params.clone());
            spm.encode(text.as_bytes(), Options::PROMPT, &mut scratch, &mut out)
        } else {
            let spm = Spm::new(vocab, &index, params.clone());
            spm.encode(text.as_bytes(), Options::PROMPT, &mut scratch, &mut out)
        };
        results.push(count.map(|count| out[..count].to_vec()));
    }
    assert_eq!(results[0], results[1]);
    results.remove(0)
}

#[test]
fn rules_of_merging() {
    let mut params = Params::LLAMA;
    (params.add_bos, params.add_space_prefix) = (false, false);
    let ids = |text| small(params.clone(), text).unwrap();
    // Equal scores: left-most first. Of two tokens with one spelling the last counts.
    assert_eq!(ids("aba"), [5, 3]);
    assert_eq!(ids("b"), [9]);
    // A score that is no number is the worst one, and no reason to stop.
    assert_eq!(ids("bab"), [7]);
    // The longest special token takes its place first, even from one that begins before it.
    assert_eq!(ids("<aa>>"), [0, 2]);
    assert_eq!(ids("<a<a b"), [1, 1, 8, 9]);
    // What has no token: one unknown for a character, however many bytes.
    assert_eq!(ids("a🚀xb"), [3, 0, 0, 9]);
    assert_eq!(ids(""), []);
    params.unknown = None;
    let error = small(params.clone(), "ab 🚀");
    assert_eq!(error, Err(Error::Unencodable { at: 3, byte: 0xF0 }));
    params.add_space_prefix = true;
    assert_eq!(small(params.clone(), "ab"), Ok(vec![8, 5]));
    assert_eq!(small(params.clone(), "a🚀"), Err(Error::Unencodable { at: 1, byte: 0xF0 }));
    (params.add_bos, params.add_eos) = (true, true);
    assert_eq!(small(params, ""), Ok(vec![1, 2]));
}
