//! Reading models: every mistake in a file is an error that names it. Graphs at compile time and in three parts.

mod common;

use common::edit::Edit;
use common::{devices, stories, with_session};
use dinrail_core::graph::{Builder, GraphBuf, Node, NodeId};
use dinrail_core::hal::Params;
use dinrail_core::op::RopeMode;
use dinrail_core::plan::{Loc, Options, PlanBuf, Work, plan};
use dinrail_core::tensor::DType;
use dinrail_gguf::{File, Value};
use dinrail_llm::model::{
    Arch, Config, Error, Layer, Shape, Shared, WEIGHTS, Weights, build, embed, head, layer,
};
use dinrail_llm::session::Options as Size;

const NAME: &str = "stories260K-Q8_0";

/// What reading the changed model says.
fn read(edit: &Edit<'_>) -> Result<Config, Error> {
    let bytes = edit.apply(&stories(NAME));
    let file = File::parse_with(&bytes, &mut [0; 512]).unwrap();
    let config = Config::read(file.header())?;
    let mut layers = vec![Layer::NONE; config.layers];
    Weights::find(file.header(), &config, WEIGHTS, &mut layers)?;
    Ok(config)
}

fn set<'a>(key: &'a str, value: Value<'a>) -> Edit<'a> {
    Edit { set: vec![(key, value)], ..Edit::default() }
}

fn says(edit: &Edit<'_>, words: &[&str]) {
    let text = read(edit).unwrap_err().to_string();
    assert!(!text.contains('\n'), "{text}");
    for word in words {
        assert!(text.contains(word), "{word:?} is not in {text:?}");
    }
}

#[test]
fn the_story_teller_is_read() {
    let c = read(&Edit::default()).unwrap();
    assert_eq!(
        (c.arch, c.width, c.layers, c.feed_forward, c.heads, c.kv_heads, c.key, c.value),
        (Arch::Llama, 64, 5, 172, 8, 4, 8, 8)
    );
    assert_eq!((c.vocab, c.context, c.eps), (512, 512, 1e-5));
    assert_eq!((c.rope.dims, c.rope.mode, c.rope.base), (8, RopeMode::Normal, 10000.0));
    assert!((c.scale() - 1.0 / 8f32.sqrt()).abs() < 1e-7);
}

#[test]
fn mistakes_in_the_metadata_are_named() {
    let missing = |key| Edit { drop_keys: vec![key], ..Edit::default() };
    says(&missing("general.architecture"), &["general.architecture", "missing"]);
    says(&set("general.architecture", Value::U32(1)), &["general.architecture", "string"]);
    says(&set("general.architecture", "gpt-j".into()), &["gpt-j", "llama, qwen2, qwen3"]);
    for key in ["llama.embedding_length", "llama.block_count", "llama.attention.head_count"] {
        says(&missing(key), &[key, "missing"]);
        says(&set(key, Value::U32(0)), &[key, "is 0"]);
        says(&set(key, Value::U64(1 << 40)), &[key, "1099511627776"]);
        says(&set(key, "x".into()), &[key, "integer"]);
    }
    says(&set("llama.attention.head_count_kv", Value::U32(3)), &["is 3", "divisor"]);
    says(&set("llama.rope.dimension_count", Value::U32(10)), &["is 10", "length of a key"]);
    says(&set("llama.rope.freq_base", Value::F32(f32::NAN)), &["freq_base", "NaN"]);
    says(&set("llama.rope.freq_base", Value::F32(0.0)), &["freq_base", "above 0"]);
    says(&set("llama.rope.scaling.type", "longrope".into()), &["scaling.type", "yarn"]);
    says(&set("llama.expert_count", Value::U32(8)), &["expert_count", "mixture of experts"]);
    says(&set("llama.attention.head_count", Value::U32(128)), &["head_count"]);
    // No table for so many layers is ever made.
    says(&set("llama.block_count", Value::U32(16_777_215)), &["block_count", "16777215", "nodes"]);
}

#[test]
fn mistakes_in_the_tensors_are_named() {
    let drop = |name| Edit { drop_tensors: vec![name], ..Edit::default() };
    for name in
        ["token_embd.weight", "output_norm.weight", "blk.0.attn_q.weight", "blk.4.ffn_up.weight"]
    {
        says(&drop(name), &[name, "missing"]);
    }
    let zeros = [0; 1 << 16];
    let with = |name, dtype, ne: &[u64], bytes| Edit {
        tensors: vec![(name, dtype, ne.to_vec(), &zeros[..bytes])],
        ..Edit::default()
    };
    let wide = with("blk.2.attn_k.weight", DType::F32, &[64, 64], 16384);
    says(&wide, &["blk.2.attn_k.weight", "[64, 64]", "[64, 32]"]);
    let deep = with("blk.2.attn_k.weight", DType::F32, &[64, 32, 2], 16384);
    says(&deep, &["blk.2.attn_k.weight", "[64, 32, 2]"]);
    says(
        &with("blk.1.attn_norm.weight", DType::F16, &[64], 128),
        &["blk.1.attn_norm.weight", "f16", "f32"],
    );
    says(&with("blk.1.attn_q.weight", DType::I8, &[64, 64], 4096), &["blk.1.attn_q.weight", "i8"]);
    says(
        &with("blk.1.attn_q.bias", DType::F32, &[63], 252),
        &["blk.1.attn_q.bias", "[63]", "[64]"],
    );
    says(&with("rope_freqs.weight", DType::F32, &[3], 12), &["rope_freqs.weight", "[3]", "[4]"]);
    says(
        &set("llama.vocab_size", Value::U32(513)),
        &["token_embd.weight", "[64, 512]", "[64, 513]"],
    );
    let mut none = [];
    let file = stories(NAME);
    let config = Config::read(file.header()).unwrap();
    let few = Weights::find(file.header(), &config, WEIGHTS, &mut none).unwrap_err();
    assert_eq!(few, Error::Layers { need: 5, have: 0 });
}

#[test]
fn contexts_are_stretched_as_the_file_says() {
    let rope = |set| read(&Edit { set, ..Edit::default() }).unwrap().rope;
    let factor = ("llama.rope.scaling.factor", Value::F32(4.0));
    let linear = rope(vec![("llama.rope.scaling.type", "linear".into()), factor]);
    assert_eq!((linear.scale, linear.ext_factor, linear.trained_context), (0.25, 0.0, 512));
    let yarn = rope(vec![
        ("llama.rope.scaling.type", "yarn".into()),
        factor,
        ("llama.rope.scaling.original_context_length", Value::U32(128)),
    ]);
    assert_eq!((yarn.scale, yarn.ext_factor, yarn.trained_context), (0.25, 1.0, 128));
    assert_eq!((yarn.attn_factor, yarn.beta_fast, yarn.beta_slow), (1.0, 32.0, 1.0));
    assert_eq!(rope(vec![("llama.rope.scaling.type", "none".into()), factor]).scale, 1.0);
    assert_eq!(rope(vec![("llama.rope.scale_linear", Value::F32(2.0))]).scale, 0.5);
    assert_eq!(rope(vec![("llama.rope.freq_base", Value::F32(5e5))]).base, 5e5);
}

/// Logits of a changed model behind a few tokens.
fn logits(edit: &Edit<'_>) -> Vec<f32> {
    let bytes = edit.apply(&stories(NAME));
    let bytes = common::aligned(&bytes);
    let file = File::parse_with(bytes, &mut [0; 512]).unwrap();
    with_session(devices()[0], &file, Size::context(16), 1, |run| {
        let mut logits = vec![0.0; run.vocab()];
        run.eval(&[1, 403, 407, 261, 378], &mut logits).unwrap();
        logits
    })
}

#[test]
fn tensors_that_change_nothing_change_nothing() {
    let plain = logits(&Edit::default());
    let file = stories(NAME);
    let embed = file.tensor("token_embd.weight").unwrap();
    let (zeros, ones) = ([0; 256], 1f32.to_le_bytes().repeat(64));
    let untied = Edit {
        tensors: vec![("output.weight", embed.dtype, vec![64, 512], embed.bytes())],
        ..Edit::default()
    };
    assert_eq!(logits(&untied), plain);
    let bias = |name, n: u64| (name, DType::F32, vec![n], &zeros[..4 * n as usize]);
    let biased = Edit {
        tensors: vec![
            bias("blk.0.attn_q.bias", 64),
            bias("blk.1.attn_k.bias", 32),
            bias("blk.2.attn_v.bias", 32),
            bias("blk.3.attn_output.bias", 64),
        ],
        ..Edit::default()
    };
    assert_eq!(logits(&biased), plain);
    let factors = Edit {
        tensors: vec![("rope_freqs.weight", DType::F32, vec![4], &ones[..16])],
        ..Edit::default()
    };
    assert_eq!(logits(&factors), plain);
    let normed = Edit {
        tensors: vec![("blk.0.attn_q_norm.weight", DType::F32, vec![8], &ones[..32])],
        ..Edit::default()
    };
    assert_ne!(logits(&normed), plain, "a norm on the queries is not nothing");
    for arch in ["qwen2", "qwen3"] {
        let other = Edit {
            prefix: Some(("llama.", if arch == "qwen2" { "qwen2." } else { "qwen3." })),
            set: vec![("general.architecture", arch.into())],
            ..Edit::default()
        };
        assert_ne!(logits(&other), plain, "{arch} rotates other pairs");
    }
}

const MODEL: &[u8] = include_bytes!("../../models/stories260K-Q8_0.gguf");

/// Everything about a model that the compiler can find out.
#[allow(long_running_const_eval)]
mod at_compile_time {
    use super::*;

    pub const FILE: File<'static> = match File::parse(MODEL) {
        Ok(file) => file,
        Err(_) => panic!("damaged model"),
    };
    pub const CONFIG: Config = match Config::read(FILE.header()) {
        Ok(config) => config,
        Err(_) => panic!("not a model"),
    };
    pub static LAYERS: [Layer; CONFIG.layers] = {
        let mut layers = [Layer::NONE; CONFIG.layers];
        match Weights::find(FILE.header(), &CONFIG, WEIGHTS, &mut layers) {
            Ok(_) => layers,
            Err(_) => panic!("tensors are missing"),
        }
    };
    pub const GRAPH: GraphBuf<200> = {
        let mut layers = [Layer::NONE; CONFIG.layers];
        let Ok(weights) = Weights::find(FILE.header(), &CONFIG, WEIGHTS, &mut layers) else {
            panic!("tensors are missing")
        };
        let mut buf = GraphBuf::new();
        let mut b = buf.builder();
        build(&CONFIG, &weights, &Shape::token(128), &mut b);
        match b.finish() {
            Ok(_) => buf,
            Err(_) => panic!("the graph is wrong"),
        }
    };
    pub const PLAN: PlanBuf<200> = match PlanBuf::new(GRAPH.graph(), &Options::DEFAULT) {
        Ok(plan) => plan,
        Err(_) => panic!("no plan"),
    };
    /// The arena of a firmware.
    pub static ARENA: [u8; PLAN.plan().summary().arena] = [0; _];
}

#[test]
fn the_compiler_builds_and_plans_a_language_model() {
    use at_compile_time::{ARENA, CONFIG, FILE, GRAPH, LAYERS, PLAN};
    let mut layers = [Layer::NONE; 5];
    let weights = Weights::find(FILE.header(), &CONFIG, WEIGHTS, &mut layers).unwrap();
    assert_eq!(weights.layers, LAYERS);
    let mut nodes = [Node::EMPTY; 200];
    let mut b = Builder::new(&mut nodes);
    build(&CONFIG, &weights, &Shape::token(128), &mut b);
    let graph = b.finish().unwrap();
    assert_eq!(graph.fingerprint(), GRAPH.graph().fingerprint());
    let summary = *PLAN.plan().summary();
    assert_eq!(ARENA.len(), summary.arena);
    assert!(summary.arena < 6 << 10, "{summary:?}");
    assert_eq!(summary.peak, summary.lower_bound);
}

#[test]
fn one_graph_serves_every_layer() {
    let file = stories(NAME);
    let config = Config::read(file.header()).unwrap();
    let mut layers = [Layer::NONE; 5];
    let weights = Weights::find(file.header(), &config, WEIGHTS, &mut layers).unwrap();
    let (base, stride) = weights.stride().unwrap();
    let first = weights.layers[0].from(base).unwrap();
    for (i, layer) in weights.layers.iter().enumerate() {
        assert_eq!(layer.from(base + i * stride), Some(first));
    }
    // The three parts together are as long as the whole, but for what they hand on.
    let shape = Shape::token(64);
    let mut buf = GraphBuf::<64>::new();
    let mut b = buf.builder();
    let x = b.input(DType::F32, [64, 1, 1, 1]);
    let shared = Shared::inputs(&shape, weights.factors, &mut b);
    let y = layer(&config, &first, &shape, 0, x, &shared, NodeId::NONE, &mut b);
    b.output(y);
    let one = b.finish().unwrap().len();
    let mut b = buf.builder();
    let (_, x) = embed(weights.embed, &shape, &mut b);
    b.output(x);
    let begin = b.finish().unwrap().len();
    let mut b = buf.builder();
    let x = b.input(DType::F32, [64, 1, 1, 1]);
    head(&config, &weights, x, &mut b);
    let end = b.finish().unwrap().len();
    let mut nodes = [Node::EMPTY; 256];
    let mut b = Builder::new(&mut nodes);
    build(&config, &weights, &shape, &mut b);
    let whole = b.finish().unwrap().len();
    assert_eq!(begin + 5 * (one - 4) + 3 + (end - 1), whole);
    assert!(whole <= config.max_nodes());
}

#[test]
fn graphs_that_do_not_fit_say_so() {
    let file = stories(NAME);
    let config = Config::read(file.header()).unwrap();
    let mut layers = [Layer::NONE; 5];
    let weights = Weights::find(file.header(), &config, WEIGHTS, &mut layers).unwrap();
    let mut nodes = [Node::EMPTY; 100];
    let mut b = Builder::new(&mut nodes);
    build(&config, &weights, &Shape::token(64), &mut b);
    let error = b.finish().unwrap_err();
    assert!(matches!(error, dinrail_core::Error::Full { need: 101, have: 100, .. }), "{error}");
    // More cells than memory has addresses.
    let mut nodes = vec![Node::EMPTY; config.max_nodes()];
    let mut b = Builder::new(&mut nodes);
    build(&config, &weights, &Shape::token(usize::MAX / 16), &mut b);
    assert!(b.finish().is_err());
}

#[test]
fn batches_take_one_vocabulary_product() {
    let file = stories(NAME);
    let config = Config::read(file.header()).unwrap();
    let mut layers = [Layer::NONE; 5];
    let weights = Weights::find(file.header(), &config, WEIGHTS, &mut layers).unwrap();
    let mut nodes = vec![Node::EMPTY; config.max_nodes()];
    let mut b = Builder::new(&mut nodes);
    let ids = build(&config, &weights, &Shape::token(64).batch(32), &mut b);
    let graph = b.finish().unwrap();
    assert_eq!(graph.node(ids.logits).unwrap().desc.ne, [512, 1, 1, 1]);
    assert_eq!(graph.node(ids.out_rows).unwrap().desc.ne, [1, 1, 1, 1]);
    let stream = devices()[0].open(&Params::default()).unwrap();
    let options = Options { scratch: stream.scratch(graph), ..Options::DEFAULT };
    let (mut work, mut locs) = (vec![Work::EMPTY; graph.len()], vec![Loc::ZERO; graph.len()]);
    let summary = plan(graph, &options, &mut work, &mut locs).unwrap();
    assert!(summary.peak <= summary.lower_bound * 5 / 4, "{summary:?}");
}
