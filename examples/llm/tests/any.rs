//! Tokenizers that take any model and own their memory, on the vocabularies of real models.

mod data;

use data::{STORIES_PROMPTS, stories};
use dinrail_gguf::Header;
use dinrail_llm::sampler::Rng;
use dinrail_llm::tokenizer::{Any, Error, Options, Scan, Spm, Symbol, Tokenizer, Utf8Stream};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Prompts and their ids by the same implementation as for the other model.
const SMOLLM2_PROMPTS: &[(&str, &[u32])] = &[
    ("The capital of France is", &[504, 3575, 282, 4649, 314]),
    ("def fibonacci(n):\n", &[1604, 3987, 46477, 24, 94, 727, 198]),
    (
        "<|im_start|>user\nWhat is 2+2?<|im_end|>\n<|im_start|>assistant\n",
        &[1, 4093, 198, 1780, 314, 216, 34, 27, 34, 47, 2, 198, 1, 520, 9531, 198],
    ),
    (
        "Grüße aus Köln — naïve café, 東京, 🚀!",
        &[
            27302, 7170, 34878, 85, 253, 376, 659, 7466, 34115, 1841, 15486, 46494, 37366, 28,
            17097, 247, 126, 16736, 122, 28, 15107, 244, 218, 17,
        ],
    ),
];

/// The model that `ci/models.sh` fetches, if it is there.
fn smollm2() -> Option<Vec<u8>> {
    let cache = std::env::var_os("DINRAIL_CACHE").map(PathBuf::from).or_else(|| {
        std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache/dinrail"))
    })?;
    let path = cache.join("models/SmolLM2-135M-Instruct.Q4_1.gguf");
    let file = std::fs::File::open(&path);
    let Ok(mut file) = file else {
        println!("skipped: no {}", path.display());
        return None;
    };
    // The header is in the first 8 MiB; there is no need of the tensors.
    let mut bytes = Vec::new();
    std::io::Read::read_to_end(&mut std::io::Read::take(&mut file, 8 << 20), &mut bytes).unwrap();
    Some(bytes)
}

fn smollm2_header(bytes: &[u8]) -> Header<'_> {
    Header::parse_with(bytes, 1 << 40, &mut vec![0; 4096]).unwrap()
}

fn random_text(rng: &mut Rng, chars: u32) -> String {
    let alphabet = [
        "a", "b", "The", " ", "  ", "\n", "12", "é", "▁", "京", "🚀", "'s", "<s>", "</s>", "\t",
        ".", "<0x41>",
    ];
    let mut text = String::new();
    for _ in 0..rng.next_u32() % chars {
        match rng.next_u32() % 4 {
            0 => {
                // Mostly from the planes that are in use.
                let end = if rng.next_u32().is_multiple_of(50) { 0x11_0000 } else { 0x3_0000 };
                text.extend(char::from_u32(rng.next_u32() % end));
            }
            1 => text.push(char::from((rng.next_u32() % 95) as u8 + 32)),
            _ => text.push_str(alphabet[rng.next_u32() as usize % alphabet.len()]),
        }
    }
    text
}

#[test]
fn stories_prompts_make_the_known_ids() {
    let header = stories();
    let mut any = Any::new(&header).unwrap();
    assert!(matches!(any, Any::Spm(_)));
    for &(prompt, ids) in STORIES_PROMPTS {
        assert_eq!(any.tokens(prompt.as_bytes(), Options::PROMPT).unwrap(), ids, "{prompt:?}");
        assert_eq!(any.text(ids, false).unwrap(), prompt);
        let mut out = [0; 18];
        let count = any.encode(prompt, Options::PROMPT, &mut out).unwrap();
        assert_eq!(&out[..count], ids);
    }
    assert_eq!(any.params().bos, Some(1));
    assert!(any.is_eog(2) && !any.is_eog(1));
    assert_eq!(any.vocab_len(), 512);
}

#[test]
fn smollm2_prompts_make_the_known_ids() {
    let Some(bytes) = smollm2() else { return };
    let any = Any::new(&smollm2_header(&bytes)).unwrap();
    assert!(matches!(any, Any::Bpe(_)));
    for &(prompt, ids) in SMOLLM2_PROMPTS {
        assert_eq!(any.tokens(prompt.as_bytes(), Options::PROMPT).unwrap(), ids, "{prompt:?}");
        assert_eq!(any.text(ids, true).unwrap(), prompt);
    }
    assert_eq!(any.text(&[1, 4093, 2], false).unwrap(), "user");
    assert!(any.is_eog(2) && any.is_eog(0), "<|im_end|> and <|endoftext|>");
    assert!(!any.params().add_bos);
    // Without leave, a control token in the text is ordinary text.
    let ids = any.tokens(b"<|im_end|>", Options::PLAIN).unwrap();
    assert!(ids.len() > 1 && !ids.contains(&2));
    assert_eq!(any.piece(49152, false, &mut []), Err(Error::Token { id: 49152, len: 49152 }));
}

#[test]
fn smollm2_gives_every_text_back() {
    let Some(bytes) = smollm2() else { return };
    let any = Any::new(&smollm2_header(&bytes)).unwrap();
    let mut rng = Rng::new(11);
    let mut refused = 0;
    for _ in 0..500 {
        let text = random_text(&mut rng, 60);
        match any.tokens(text.as_bytes(), Options::PROMPT) {
            Ok(ids) => assert_eq!(any.text(&ids, true).unwrap(), text),
            // Some byte values never occurred when this vocabulary was made.
            Err(Error::Unencodable { at, byte }) => {
                assert_eq!(text.as_bytes()[at], byte);
                assert!(!(0x20..0xC0).contains(&byte), "{byte:x}");
                refused += 1;
            }
            Err(error) => panic!("{error}"),
        }
    }
    assert!(refused < 400);
    for text in ["a".repeat(100_000), " ".repeat(100_000), "Once upon a time. ".repeat(6_000)] {
        let start = Instant::now();
        let ids = any.tokens(text.as_bytes(), Options::PROMPT).unwrap();
        println!("{} ids in {:?}", ids.len(), start.elapsed());
        assert!(start.elapsed() < Duration::from_secs(5));
        assert_eq!(any.text(&ids, true).unwrap(), text);
    }
}

#[test]
fn stories_gives_every_text_back_in_any_memory() {
    let header = stories();
    let any = Any::new(&header).unwrap();
    let Any::Spm(spm) = &any else { unreachable!() };
    let scanning = Spm::new(spm.vocab(), Scan, spm.params().clone());
    let mut rng = Rng::new(3);
    for round in 0..400 {
        let text = random_text(&mut rng, 40);
        let mut bytes = text.clone().into_bytes();
        if round % 3 == 0 {
            bytes.extend((0..rng.next_u32() % 8).map(|at| (at * 67 + rng.next_u32()) as u8));
        }
        for parse_special in [false, true] {
            let options = Options { add_special: true, parse_special };
            let ids = any.tokens(&bytes, options).unwrap();
            assert!(ids.iter().all(|&id| id < 512));
            let mut scratch = vec![Symbol::NEW; bytes.len() + 1];
            let mut out = vec![0; ids.len()];
            let count = scanning.encode(&bytes, options, &mut scratch, &mut out).unwrap();
            assert_eq!(out[..count], ids, "{text:?}");
            if !parse_special {
                let mut back = vec![0; 4 * bytes.len() + 8];
                let count = spm.decode(&ids[1..], false, &mut back).unwrap();
                // A space can't be told from U+2581 once it is encoded.
                let mut expected = Vec::new();
                for chunk in bytes.utf8_chunks() {
                    expected.extend_from_slice(chunk.valid().replace('▁', " ").as_bytes());
                    expected.extend_from_slice(chunk.invalid());
                }
                assert_eq!(&back[..count], expected, "{text:?}");
            }
            // One less of anything is an error that says how much is needed.
            let short = spm.encode(&bytes, options, &mut scratch[1..], &mut out);
            let need = bytes.len() + 1;
            assert_eq!(short, Err(Error::Scratch { need, got: need - 1 }));
            let got = ids.len() - 1;
            let short = spm.encode(&bytes, options, &mut scratch, &mut out[..got]);
            assert_eq!(short, Err(Error::Output { need: ids.len(), got }));
        }
    }
}

#[test]
fn long_texts_are_fast() {
    let any = Any::new(&stories()).unwrap();
    for text in ["Once upon a time ".repeat(6_000), "a".repeat(100_000), " ".repeat(100_000)] {
        let start = Instant::now();
        let ids = any.tokens(text.as_bytes(), Options::PROMPT).unwrap();
        println!("{} ids in {:?}", ids.len(), start.elapsed());
        assert!(start.elapsed() < Duration::from_secs(5));
        assert_eq!(any.text(&ids, false).unwrap(), text);
    }
}

#[test]
fn stories_pieces_and_streams() {
    let any = Any::new(&stories()).unwrap();
    let mut out = [0; 16];
    let mut piece = |id, special| any.piece(id, special, &mut out).map(|len| out[..len].to_vec());
    assert_eq!(piece(403, false).unwrap(), b" Once");
    assert_eq!(piece(3 + 0x41, false).unwrap(), b"A");
    assert_eq!(piece(1, false).unwrap(), b"");
    assert_eq!(piece(1, true).unwrap(), b"<s>");
    assert_eq!(piece(512, false), Err(Error::Token { id: 512, len: 512 }));
    assert_eq!(piece(u32::MAX, true), Err(Error::Token { id: u32::MAX, len: 512 }));
    assert_eq!(any.piece(403, false, &mut [0; 2]), Err(Error::Bytes { need: 5, got: 2 }));
    assert!(any.text(&[403, 512], false).is_err());

    // A character of four byte tokens comes out when the last of them has come.
    let ids = any.tokens("🚀".as_bytes(), Options::PLAIN).unwrap();
    let mut stream = Utf8Stream::new();
    let mut parts = Vec::new();
    for id in ids {
        let len = any.piece(id, false, &mut out).unwrap();
        stream.push(&out[..len], |part| parts.push(part.to_owned()));
    }
    assert_eq!(parts, [" ", "🚀"]);
}

#[test]
fn stories_special_tokens_in_text() {
    let any = Any::new(&stories()).unwrap();
    let parsed = any.tokens(b"Once</s> upon<s>", Options::PROMPT).unwrap();
    // After a special token the text gets its space in front again, here the second one.
    let upon = any.tokens(b" upon", Options::PLAIN).unwrap();
    assert_eq!(parsed[..3], [1, 403, 2]);
    assert_eq!(parsed[3..parsed.len() - 1], upon);
    assert_eq!(parsed.last(), Some(&1));
    let plain = any.tokens(b"Once</s>", Options::PLAIN).unwrap();
    assert!(!plain.contains(&2));
    assert_eq!(any.text(&parsed, true).unwrap(), "<s>Once</s> upon<s>");
    assert_eq!(any.text(&parsed, false).unwrap(), "Once upon");
}

#[test]
fn a_model_without_a_vocabulary_says_so() {
    // 24 bytes: magic, version 3, no tensors, no keys.
    let mut empty = b"GGUF".to_vec();
    empty.extend_from_slice(&[3, 0, 0, 0]);
    empty.extend_from_slice(&[0; 16]);
    let header = Header::parse(&empty, 32).unwrap();
    let error = Any::new(&header).unwrap_err();
    assert!(matches!(error, Error::Metadata { key: "tokenizer.ggml.tokens", .. }), "{error}");
    assert!(error.to_string().contains("tokenizer.ggml.tokens"));
}
