//! Files that are right, at any address and at compile time.

mod common;

use common::sample;
use dinrail_core::tensor::DType;
use dinrail_gguf::{File, Kind, Tensor, Value, f32_at, tensor_at, u32_at};

const MODEL: &[u8] = include_bytes!("../../../examples/models/stories260K-Q8_0.gguf");

#[test]
fn every_kind_of_value() {
    let bytes = sample();
    let f = File::parse(&bytes).unwrap();
    assert_eq!((f.version(), f.alignment(), f.metadata().len(), f.tensors().len()), (3, 32, 17, 3));
    assert_eq!(f.str("general.architecture"), Some("llama"));
    assert_eq!(f.get("t.u8"), Some(Value::U8(200)));
    assert_eq!(f.get("t.i8"), Some(Value::I8(-128)));
    assert_eq!(f.get("t.u16"), Some(Value::U16(0xfff0)));
    assert_eq!(f.get("t.i16"), Some(Value::I16(-300)));
    assert_eq!(f.get("t.u32"), Some(Value::U32(0xdead_beef)));
    assert_eq!(f.get("t.i32"), Some(Value::I32(-7)));
    assert_eq!(f.get("t.f32"), Some(Value::F32(1.5)));
    assert_eq!(f.get("t.bool"), Some(Value::Bool(true)));
    assert_eq!(f.get("t.u64"), Some(Value::U64(1 << 40)));
    assert_eq!(f.get("t.i64"), Some(Value::I64(-9)));
    assert_eq!(f.get("t.f64"), Some(Value::F64(0.25)));
    assert_eq!(f.get("absent"), None);

    // Integers of any width that fit; nothing else.
    assert_eq!(
        (f.u32("t.u8"), f.u32("t.u32"), f.u32("t.u64")),
        (Some(200), Some(0xdead_beef), None)
    );
    assert_eq!((f.u32("t.i32"), f.i32("t.i32"), f.i32("t.u32")), (None, Some(-7), None));
    assert_eq!((f.u64("t.u64"), f.u64("t.i64"), f.i64("t.i64")), (Some(1 << 40), None, Some(-9)));
    assert_eq!((f.f32("t.f32"), f.f32("t.f64"), f.f32("t.u8")), (Some(1.5), Some(0.25), None));
    assert_eq!((f.bool("t.bool"), f.bool("t.u8"), f.str("t.u8")), (Some(true), None, None));

    let keys: Vec<&str> = f.metadata().map(|(key, _)| key).collect();
    assert_eq!((keys[0], keys[16]), ("general.architecture", "t.empty"));
    for (key, value) in f.metadata() {
        assert_eq!(f.get(key), Some(value));
    }
}

#[test]
fn arrays() {
    let bytes = sample();
    let f = File::parse(&bytes).unwrap();
    let a = f.array("t.i32s").unwrap();
    assert_eq!((a.kind(), a.len(), a.as_bytes().len()), (Kind::I32, 3, 12));
    assert_eq!((a.get(1), a.get(2), a.get(3)), (Some(Value::I32(-2)), Some(Value::I32(3)), None));
    let mut e = a.of::<i32>().unwrap();
    assert_eq!((e.len(), e.get(2), e.get(3), e.get(usize::MAX)), (3, Some(3), None, None));
    assert_eq!((e.next_back(), e.next(), e.len()), (Some(3), Some(1), 1));
    assert_eq!(
        (e.clone().nth(1), e.clone().rev().nth(1), e.nth(usize::MAX), e.next()),
        (None, None, None, None)
    );
    assert_eq!(a.of::<i32>().unwrap().nth(1), Some(-2));
    assert_eq!(a.of::<i32>().unwrap().rev().collect::<Vec<_>>(), [3, -2, 1]);
    assert!(a.of::<u32>().is_none() && a.of::<f32>().is_none() && a.strs().is_none());
    assert_eq!(
        f.array("t.bools").unwrap().of::<bool>().unwrap().collect::<Vec<_>>(),
        [false, true]
    );

    let s = f.array("t.strs").unwrap();
    let strs = s.strs().unwrap();
    assert_eq!(strs.len(), 3);
    let all: Vec<_> = strs.collect();
    assert_eq!(all[0], "one");
    assert_eq!((all[1].as_bytes(), all[1].to_str()), (&b"\xff\xfe"[..], None));
    assert_eq!(all[1].to_string(), "\u{fffd}\u{fffd}");
    assert!(all[2].is_empty());
    assert_eq!((s.get(0), s.get(3)), (Some("one".into()), None));
    assert_eq!(s.get(2), Some("".into()));
    assert!(f.array("t.empty").unwrap().is_empty());
}

#[test]
fn tensors() {
    let bytes = sample();
    let f = File::parse(&bytes).unwrap();
    let data = f.data_offset();
    assert_eq!(data % 32, 0);
    let [a, b, c] = f.tensors().collect::<Vec<_>>().try_into().unwrap();
    assert_eq!((a.name, a.dtype, a.n_dims, a.ne), ("a", DType::F32, 2, [8, 2, 1, 1]));
    assert_eq!((b.name, b.dtype, b.ne, b.size), ("b", DType::Q8_0, [32, 3, 1, 1], 102));
    assert_eq!((c.n_dims, c.ne, c.size), (0, [1; 4], 4));
    assert_eq!((a.offset, b.offset, c.offset), (data, data + 64, data + 192));
    assert_eq!((b.bytes()[0], b.bytes().len(), c.bytes()), (64, 102, &[192, 193, 194, 195][..]));
    assert_eq!(f.tensor("b"), Some(b));
    assert_eq!(f.tensor("bb"), None);
    assert_eq!(f.header().tensor("b"), Some(b.info()));
    let debug = format!("{f:?} {b:?}");
    assert!(debug.len() < 400, "{debug}");
}

#[test]
fn any_alignment() {
    for file in [&sample()[..], MODEL] {
        let aligned = File::parse(file).unwrap();
        for shift in 1..4 {
            let mut bytes = vec![0xaa; shift];
            bytes.extend(file);
            let f = File::parse(&bytes[shift..]).unwrap();
            assert!(f.tensors().eq(aligned.tensors()));
            assert!(f.metadata().eq(aligned.metadata()));
        }
    }
}

#[test]
fn a_real_model() {
    let f = File::parse(MODEL).unwrap();
    assert_eq!(f.str("general.architecture"), Some("llama"));
    assert_eq!(f.u32("llama.block_count"), Some(5));
    assert_eq!(f.u32("llama.embedding_length"), Some(64));
    assert_eq!(
        (f.u32("llama.attention.head_count"), f.u32("llama.attention.head_count_kv")),
        (Some(8), Some(4))
    );
    let tokens = f.array("tokenizer.ggml.tokens").unwrap();
    assert_eq!((tokens.kind(), tokens.len()), (Kind::Str, 512));
    assert_eq!(tokens.strs().unwrap().nth(1).unwrap(), "<s>");
    let scores = f.array("tokenizer.ggml.scores").unwrap();
    assert_eq!(scores.of::<f32>().unwrap().len(), 512);

    let q = f.tensor("blk.0.attn_q.weight").unwrap();
    assert_eq!((q.dtype, q.ne, q.size), (DType::Q8_0, [64, 64, 1, 1], 64 * 2 * 34));
    // Rows of 172 are not whole blocks of 32.
    assert_eq!(f.tensor("blk.4.ffn_down.weight").unwrap().dtype, DType::F16);
    assert_eq!(f.tensor("token_embd.weight").unwrap().ne, [64, 512, 1, 1]);
    let last = f.tensors().max_by_key(|t| t.offset).unwrap();
    assert!(last.offset + last.size <= MODEL.len() as u64);
    assert!(f.tensors().all(|t| t.bytes().len() as u64 == t.size && t.offset % 32 == 0));
}

const FILE: File<'static> = match File::parse(MODEL) {
    Ok(file) => file,
    Err(_) => panic!("the model is damaged"),
};
const Q: Tensor<'static> = dinrail_gguf::tensor!(MODEL, "blk.0.attn_q.weight");
const LAYERS: u32 = match u32_at(MODEL, "llama.block_count") {
    Ok(n) => n,
    Err(_) => panic!("no block count"),
};
/// Lengths found by the compiler size an array.
static FIRST_ROW: [u8; Q.ne[0] as usize / 32 * 34] = {
    let mut row = [0; Q.ne[0] as usize / 32 * 34];
    let mut i = 0;
    while i < row.len() {
        row[i] = Q.bytes()[i];
        i += 1;
    }
    row
};

#[test]
fn at_compile_time() {
    const { assert!(LAYERS == 5 && Q.size == 4352 && Q.offset.is_multiple_of(32)) };
    const EPSILON: Result<f32, dinrail_gguf::Error> =
        f32_at(MODEL, "llama.attention.layer_norm_rms_epsilon");
    const MISSING: bool = tensor_at(MODEL, "blk.5.attn_q.weight").is_err();
    const { assert!(MISSING && EPSILON.is_ok()) };
    const TOKEN: Option<Value<'static>> = FILE.array("tokenizer.ggml.tokens").unwrap().get(1);
    let run_time = File::parse(MODEL).unwrap();
    assert_eq!(run_time.tensor("blk.0.attn_q.weight"), Some(Q));
    assert_eq!(run_time.f32("llama.attention.layer_norm_rms_epsilon"), EPSILON.ok());
    assert_eq!(TOKEN, Some("<s>".into()));
    assert_eq!(FIRST_ROW, Q.bytes()[..68]);
    assert_eq!(u32_at(MODEL, "absent"), Err(dinrail_gguf::Error::NotFound));
    assert_eq!(u32_at(MODEL, "general.architecture"), Err(dinrail_gguf::Error::WrongType));
}
