//! Files that are wrong: each must be an error that says what, never a panic, and never slow.

mod common;

use std::time::{Duration, Instant};

use common::*;
use dinrail_core::tensor::size::SizeError;
use dinrail_gguf::{Counted, Error, File, Header};

fn error(raw: &Raw) -> Error {
    File::parse(&raw.0).expect_err("a bad file was accepted")
}

/// The error's line, which must be one line.
fn text(raw: &Raw) -> String {
    let e = error(raw);
    let text = e.describe(&raw.0).to_string();
    for line in [&text, &e.to_string()] {
        assert!(!line.contains('\n') && line.len() < 250, "{line}");
    }
    text
}

#[test]
fn magic_and_version() {
    let with = |magic: &[u8; 4], version: u32| Raw(magic.to_vec()).u32(version).u64(0).u64(0);
    assert_eq!(error(&with(b"GGML", 3)), Error::Magic { found: *b"GGML" });
    assert_eq!(error(&with(b"GGUF", 0)), Error::Version { version: 0 });
    assert_eq!(error(&with(b"GGUF", 1)), Error::Version { version: 1 });
    assert_eq!(error(&with(b"GGUF", 4)), Error::Version { version: 4 });
    assert!(text(&with(b"GGUF", 1)).contains("version 1"));
    for version in [2, 3] {
        assert_eq!(File::parse(&with(b"GGUF", version).0).unwrap().version(), version);
        let big = with(b"GGUF", version.swap_bytes());
        assert_eq!(error(&big), Error::BigEndian { version });
        assert!(text(&big).contains("big-endian"));
    }
}

#[test]
fn alignment_must_be_a_u32_and_a_power_of_two() {
    let file = |kind| Raw::new(0, 1).key("general.alignment", kind);
    let at = 24 + 8 + 17;
    for value in [0, 3, 33, u32::MAX] {
        assert_eq!(error(&file(U32).u32(value)), Error::Alignment { at, value });
    }
    assert_eq!(error(&file(I32).u32(32)), Error::AlignmentType { at, id: I32 });
    assert_eq!(error(&file(I64).u64(32)), Error::AlignmentType { at, id: I64 });
    assert_eq!(error(&file(STR).str("32")), Error::AlignmentType { at, id: STR });
    let array = file(ARRAY).u32(U32).u64(1).u32(32);
    assert_eq!(error(&array), Error::AlignmentType { at, id: ARRAY });
    let twice =
        Raw::new(0, 2).key("general.alignment", U32).u32(32).key("general.alignment", U32).u32(32);
    assert!(matches!(error(&twice), Error::DuplicateKey { .. }));
    for value in [1, 2, 8, 64, 4096, 1 << 31] {
        assert_eq!(File::parse(&file(U32).u32(value).0).unwrap().alignment(), value);
    }
}

const HUGE: [u64; 6] = [500_000_000, 1 << 32, 1 << 63, u64::MAX / 64, u64::MAX / 8 + 1, u64::MAX];

#[test]
fn a_tiny_file_can_announce_anything() {
    for n in HUGE {
        let count = |what, raw: Raw, at, left| {
            assert_eq!(error(&raw), Error::Count { what, at, count: n, left });
        };
        count(Counted::Tensors, Raw::new(n, 0), 8, 0);
        count(Counted::Keys, Raw::new(0, n), 16, 0);
        for kind in [U8, BOOL, U32, I64, STR] {
            let raw = Raw::new(0, 1).key("k", ARRAY).u32(kind).u64(n).u64(0);
            count(Counted::Elements, raw, 24 + 9 + 8, 8);
        }
        let long = |raw: Raw| {
            assert!(matches!(error(&raw), Error::Truncated { need, .. } if need == n));
        };
        long(Raw::new(0, 1).key("k", STR).u64(n).u64(0));
        let elements = Raw::new(0, 1).key("k", ARRAY).u32(STR).u64(2).str("").u64(n).u64(0);
        long(elements);
        let key = Raw::new(0, 1).u64(n).raw(&[b'k'; 32]);
        assert_eq!(error(&key), Error::NameTooLong { at: 24, len: n, max: 65_535 });
        let name = Raw::new(1, 0).u64(n).raw(&[b'k'; 32]);
        assert_eq!(error(&name), Error::NameTooLong { at: 24, len: n, max: 63 });
        let dims = Raw::new(1, 0).str("t").u32(n as u32 | 5).raw(&[0; 64]);
        assert!(matches!(error(&dims), Error::Dimensions { n_dims, .. } if n_dims == n as u32 | 5));
    }
    // A count that fits the bytes left, but not times the smallest encoding.
    assert!(matches!(error(&Raw::new(10, 0).raw(&[0; 249])), Error::Count { .. }));
    assert!(matches!(error(&Raw::new(0, 10).raw(&[0; 139])), Error::Count { .. }));
    assert!(matches!(
        error(&Raw::new(5, 10).raw(&[0; 264])),
        Error::Count { what: Counted::Keys, at: 16, count: 10, left: 139 }
    ));
    let strs = Raw::new(0, 1).key("k", ARRAY).u32(STR).u64(4).raw(&[0; 31]);
    assert!(matches!(error(&strs), Error::Count { .. }));
}

#[test]
fn empty_names_are_errors() {
    assert_eq!(error(&Raw::new(0, 1).key("", U32).u32(1).u32(0)), Error::EmptyName { at: 24 });
    let tensor = Raw::new(1, 0).tensor("", &[1], F32, 0).data(32);
    assert_eq!(error(&tensor), Error::EmptyName { at: 24 });
}

#[test]
fn nested_arrays_are_refused_at_the_first_level() {
    let mut raw = Raw::new(0, 1).key("k", ARRAY);
    for _ in 0..100_000 {
        raw = raw.u32(ARRAY).u64(1);
    }
    raw = raw.u32(U8).u64(1).u8(0);
    let start = Instant::now();
    let small_stack = std::thread::Builder::new().stack_size(32 << 10);
    let e = small_stack.spawn(move || error(&raw)).unwrap().join().unwrap();
    assert_eq!(e, Error::NestedArray { at: 24 + 9 + 4 });
    assert!(start.elapsed() < Duration::from_millis(500));
}

#[test]
fn value_types_that_do_not_exist() {
    for id in [13, 31, 255, u32::MAX] {
        let value = Raw::new(0, 1).key("k", id).u64(0);
        assert_eq!(error(&value), Error::ValueType { at: 24 + 9, id });
        let element = Raw::new(0, 1).key("k", ARRAY).u32(id).u64(0);
        assert_eq!(error(&element), Error::ValueType { at: 24 + 9 + 4, id });
    }
    let bool = Raw::new(0, 1).key("k", BOOL).u8(2);
    assert_eq!(error(&bool), Error::Bool { at: 24 + 9 + 4, value: 2 });
    let bools = Raw::new(0, 1).key("k", ARRAY).u32(BOOL).u64(2).u8(1).u8(255);
    assert_eq!(error(&bools), Error::Bool { at: 24 + 9 + 4 + 4 + 8 + 1, value: 255 });
}

#[test]
fn tensor_types_that_do_not_exist() {
    for id in [4, 5, 31, 32, 33, 36, 37, 38, 16, 29, 1000, u32::MAX] {
        let raw = Raw::new(1, 0).tensor("odd", &[256], id, 0).data(4096);
        assert!(matches!(error(&raw), Error::TensorType { id: found, .. } if found == id));
        let text = text(&raw);
        assert!(text.starts_with(&format!("tensor 0 \"odd\" has type {id}, ")), "{text}");
    }
}

#[test]
fn sizes_that_wrap() {
    let one = |ne: &[u64], dtype| error(&Raw::new(1, 0).tensor("t", ne, dtype, 0).data(64));
    let overflow = |e: Error| {
        assert!(matches!(e, Error::Size { error: SizeError::Overflow, .. }), "{e:?}");
    };
    // Product of dimensions.
    overflow(one(&[(1 << 63) - 32, 2, 1, 1], Q8_0));
    overflow(one(&[32, 1 << 32, 1 << 32], Q8_0));
    overflow(one(&[(1 << 63) - 1, 2, 1, 1], 24));
    overflow(one(&[u64::MAX, u64::MAX, u64::MAX, u64::MAX], 24));
    // Bytes.
    overflow(one(&[1 << 62], F32));
    // Padding only.
    overflow(one(&[(1 << 62) - 1], F32));
    // Running sum of the padded sizes only: each is 2^62 and fits.
    let mut raw = Raw::new(4, 0);
    for i in 0..4u64 {
        raw = raw.tensor(format!("t{i}"), &[1 << 62], 24, i << 62);
    }
    overflow(error(&raw.data(64)));
    assert!(text(&Raw::new(1, 0).tensor("t", &[1 << 62], F32, 0)).starts_with("tensor 0 \"t\": "));
    // Whole blocks only, in the type's own block.
    assert!(matches!(
        one(&[33, 1], Q8_0),
        Error::Size { error: SizeError::Block { ne0: 33, .. }, .. }
    ));
}

#[test]
fn a_zero_dimension_is_an_empty_tensor() {
    let raw = Raw::new(2, 0)
        .tensor("e", &[0, 8, u64::MAX, u64::MAX], F32, 0)
        .tensor("t", &[8], F32, 0)
        .data(32);
    let file = File::parse(&raw.0).unwrap();
    assert_eq!((file.tensor("e").unwrap().size, file.tensor("e").unwrap().bytes().len()), (0, 0));
    assert_eq!(file.tensor("t").unwrap().bytes().len(), 32);
}

#[test]
fn tensors_beyond_the_end() {
    let two = |offset| {
        Raw::new(2, 0).tensor("a", &[8], F32, 0).tensor("last", &[16], F32, offset).data(96)
    };
    let good = two(32);
    assert!(File::parse(&good.0).is_ok());
    // Cut anywhere in the last tensor.
    for cut in 1..=64 {
        let raw = Raw(good.0[..good.0.len() - cut].to_vec());
        let expected = 96 - cut as u64;
        assert!(matches!(
            error(&raw),
            Error::OutOfFile { offset: 32, size: 64, data_len, tensor } if data_len == expected && tensor.index == 1
        ));
        let text = text(&raw);
        assert!(text.contains("tensor 1 \"last\": 64 bytes at offset 32"), "{text}");
    }
    let data_at = good.0.len() as u64 - 96;
    // The last two wrap to the header, and to just before the data.
    for offset in [96, 1 << 40, 1 << 63, 0u64.wrapping_sub(data_at), 0u64.wrapping_sub(32)] {
        assert!(matches!(error(&two(offset)), Error::OutOfFile { .. }), "{offset}");
    }
    for offset in [33, 1, 48, u64::MAX] {
        assert!(matches!(error(&two(offset)), Error::Misaligned { alignment: 32, .. }), "{offset}");
    }
    assert!(
        matches!(error(&two(0)), Error::Overlap { first, second } if (first.index, second.index) == (0, 1))
    );
    assert!(text(&two(0)).contains("\"last\" overlaps tensor 0 \"a\""));
}

#[test]
fn overlaps_are_found_in_any_order() {
    // Three tensors of 64 bytes in falling order are fine, with or without a gap.
    let three = |offsets: [u64; 3]| {
        let mut raw = Raw::new(3, 0);
        for (i, offset) in offsets.into_iter().enumerate() {
            raw = raw.tensor(format!("t{i}"), &[16], F32, offset);
        }
        raw.data(256)
    };
    for good in [[128, 64, 0], [192, 0, 64], [0, 192, 64]] {
        assert!(File::parse(&three(good).0).is_ok());
    }
    for bad in [[128, 64, 32], [0, 128, 32], [64, 0, 32], [192, 64, 64], [160, 64, 128]] {
        assert!(matches!(error(&three(bad)), Error::Overlap { .. }), "{bad:?}");
    }
    // A long tensor under several short ones, the overlap not being between neighbours.
    let raw = Raw::new(3, 0)
        .tensor("z", &[8], F32, 96)
        .tensor("empty", &[0], F32, 32)
        .tensor("long", &[32], F32, 0)
        .data(128);
    assert!(
        matches!(error(&raw), Error::Overlap { first, second } if (first.index, second.index) == (2, 0))
    );
}

#[test]
fn every_cut_of_the_header_is_an_error() {
    let file = sample();
    let header = File::parse(&file).unwrap().header().as_bytes().len();
    for cut in 0..file.len() {
        let e = File::parse(&file[..cut]).expect_err("a cut file was accepted");
        assert!(!matches!(e, Error::NeedMore { .. }), "{e:?}");
        let _ = e.describe(&file[..cut]).to_string();
        // The same bytes as the first part of the whole file.
        match Header::parse(&file[..cut], file.len() as u64) {
            Err(Error::NeedMore { bytes }) => {
                assert!(cut < header && bytes > cut as u64 && bytes <= header as u64);
            }
            Ok(_) => assert!(cut >= header),
            Err(e) => panic!("cut at {cut}: {e}"),
        }
    }
}

#[test]
fn no_changed_byte_panics() {
    let good = sample();
    let header = File::parse(&good).unwrap().header().as_bytes().len();
    let mut bytes = good.clone();
    for at in 0..header {
        for value in [0, 1, 0x7f, 0x80, 0xff, good[at] ^ 1, good[at] ^ 0x10] {
            bytes[at] = value;
            match File::parse(&bytes) {
                Ok(file) => {
                    assert_eq!(file.metadata().len(), file.metadata().count());
                    for t in file.tensors() {
                        assert_eq!(t.bytes().len() as u64, t.size);
                    }
                    for (_, value) in file.metadata() {
                        if let Some(a) = value.as_array() {
                            assert_eq!(a.iter().count(), a.len());
                        }
                    }
                }
                Err(e) => assert!(!e.describe(&bytes).to_string().is_empty()),
            }
        }
        bytes[at] = good[at];
    }
}

#[test]
fn names_that_are_equal_or_too_long() {
    let raw = Raw::new(3, 0)
        .tensor("w", &[8], F32, 0)
        .tensor("v", &[8], F32, 32)
        .tensor("w", &[8], F32, 64)
        .data(96);
    assert!(
        matches!(error(&raw), Error::DuplicateTensor { first, second } if (first.index, second.index) == (0, 2))
    );
    assert_eq!(text(&raw), "tensor 2 \"w\" has the name of tensor 0 \"w\": rename one");
    let keys = Raw::new(0, 2).key("k", U32).u32(1).key("k", STR).str("x");
    assert_eq!(text(&keys), "key 1 \"k\" repeats key 0 \"k\": remove one");

    let name = |n: usize, last: char| format!("{}{last}", "n".repeat(n - 1));
    let two = |n| {
        Raw::new(2, 0)
            .tensor(name(n, 'a'), &[8], F32, 0)
            .tensor(name(n, 'b'), &[8], F32, 32)
            .data(64)
    };
    assert!(File::parse(&two(63).0).is_ok());
    // Equal after a cut at 63 bytes.
    assert_eq!(error(&two(64)), Error::NameTooLong { at: 24, len: 64, max: 63 });

    let key = |n: usize| Raw::new(0, 1).key(vec![b'k'; n], U32).u32(1);
    assert!(File::parse(&key(65_535).0).is_ok());
    assert!(matches!(error(&key(65_536)), Error::NameTooLong { len: 65_536, .. }));

    let latin1 = Raw::new(0, 1).key(b"caf\xe9", U32).u32(1);
    assert!(matches!(error(&latin1), Error::NotUtf8 { .. }));
    assert!(text(&latin1).contains("\"caf\\xe9\""));
    let tensor = Raw::new(1, 0).tensor(b"\xff", &[8], F32, 0).data(32);
    assert!(matches!(error(&tensor), Error::NotUtf8 { .. }));
}

/// `n` tensors with distinct names in no order, then `change`d.
fn many(n: u64, name: impl Fn(u64) -> String) -> Raw {
    let mut raw = Raw::new(n, 0);
    for i in 0..n {
        raw = raw.tensor(name(i), &[8], F32, i * 32);
    }
    raw.data(n as usize * 32)
}

fn scattered(i: u64) -> String {
    format!("blk.{}.weight", i.wrapping_mul(0x9e37_79b9_7f4a_7c15) % 1_000_003)
}

#[test]
fn two_hundred_thousand_names() {
    const N: u64 = 200_000;
    let mut scratch = vec![0u32; N as usize];
    let limit = Duration::from_millis(if cfg!(debug_assertions) { 8000 } else { 1000 });
    let sorted = |i| format!("tensor.{i:06}");
    for raw in [many(N, scattered), many(N, sorted)] {
        let start = Instant::now();
        let file = File::parse_with(&raw.0, &mut scratch).unwrap();
        let elapsed = start.elapsed();
        println!("{N} names: {elapsed:?}");
        assert!(elapsed < limit, "{elapsed:?}");
        let index = file.header().index(&mut scratch).unwrap();
        for t in file.tensors().step_by(997) {
            assert_eq!(index.tensor(t.name), Some(t.info()));
        }
        assert_eq!(index.tensor("absent"), None);
        // Without memory of its own the parser says how much it wants, at once.
        let start = Instant::now();
        assert_eq!(File::parse(&raw.0).err(), Some(Error::Scratch { words: N as u32 }));
        assert!(start.elapsed() < limit);
    }
    // Data in the opposite order of the descriptions.
    let mut raw = Raw::new(N, 0);
    for i in 0..N {
        raw = raw.tensor(scattered(i), &[8], F32, (N - 1 - i) * 32);
    }
    let raw = raw.data(N as usize * 32);
    let start = Instant::now();
    assert!(File::parse_with(&raw.0, &mut scratch).is_ok());
    println!("{N} names and offsets: {:?}", start.elapsed());
    assert!(start.elapsed() < 2 * limit);
    // One pair that is equal, far apart.
    let raw = many(N, |i| scattered(if i == N - 1 { 5 } else { i }));
    let e = File::parse_with(&raw.0, &mut scratch).unwrap_err();
    assert!(
        matches!(e, Error::DuplicateTensor { first, second } if (first.index, second.index) == (5, N as u32 - 1)),
        "{e:?}"
    );
}

#[test]
fn little_memory_finds_every_pair() {
    const N: u64 = 1000;
    for pair in [(0, 1), (0, N - 1), (400, 401), (127, 128), (N - 2, N - 1)] {
        let raw = many(N, |i| scattered(if i == pair.1 { pair.0 } else { i }));
        for words in [1, 2, 3, 64, 128, 999, 1000, 1001] {
            let e = File::parse_with(&raw.0, &mut vec![7; words]).unwrap_err();
            assert!(
                matches!(e, Error::DuplicateTensor { first, second }
                    if (first.index as u64, second.index as u64) == pair),
                "{words} words, {pair:?}: {e:?}"
            );
        }
    }
    let raw = many(N, scattered);
    for words in [1, 2, 3, 128, 1000, 1001] {
        assert!(File::parse_with(&raw.0, &mut vec![7; words]).is_ok());
    }
    assert_eq!(File::parse_with(&raw.0, &mut []).err(), Some(Error::Scratch { words: N as u32 }));
    assert!(
        matches!(File::parse_with(&many(1, scattered).0, &mut []), Ok(f) if f.tensors().len() == 1)
    );
}

/// Firmware keeps errors in registers and return slots.
#[test]
fn an_error_is_small() {
    const { assert!(size_of::<Error>() <= 40) };
}
