//! Language models on the device, against what llama.cpp computed on the same files (`examples/models/reference`).
//!
//! The device rounds no activations, as the oracle doesn't: `examples/llm/tests/reference.rs` says how near its logits
//! must be to those of a peer that does, and where tokens must be equal.

mod common;

use dinrail_core::hal::{Buffer, Device, Params};
use dinrail_core::program::Binding;
use dinrail_gguf::File;
use dinrail_host::map::Mapped;
use dinrail_llm::sampler::greedy;
use dinrail_llm::session::{Memory, Options, Session};
use std::path::PathBuf;
use std::time::Instant;

/// Largest difference of a logit from the peer's, who rounds activations to 8 bits.
const QUANTISED: f32 = 0.5;
/// The same where the peer rounds queries and attention weights to half precision.
const F32: f32 = 0.02;
/// A token that the peer prefers by more must be ours.
const SURE: f32 = 0.1;
/// In a deep model, further on than the first token.
const SURE_DEEP: f32 = 0.3;

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples/models")
}

/// What the peer computed.
struct Case {
    prompt: Vec<u32>,
    tokens: Vec<u32>,
    margins: Vec<f32>,
    logits: Vec<f32>,
    top: Vec<u32>,
}

fn cases(name: &str) -> Vec<Case> {
    let text = std::fs::read(folder().join(format!("reference/{name}.json"))).unwrap();
    let all: serde_json::Value = serde_json::from_slice(&text).unwrap();
    let numbers = |v: &serde_json::Value| -> Vec<f64> {
        v.as_array().into_iter().flatten().map(|x| x.as_f64().unwrap()).collect()
    };
    let ids = |v: &serde_json::Value| numbers(v).iter().map(|x| *x as u32).collect();
    let floats = |v: &serde_json::Value| numbers(v).iter().map(|x| *x as f32).collect();
    let case = |c: &serde_json::Value| Case {
        prompt: ids(&c["prompt_tokens"]),
        tokens: ids(&c["greedy_tokens"]),
        margins: floats(&c["greedy_margin"]),
        logits: floats(&c["first_logits"]),
        top: c["first_logits_top"]
            .as_array()
            .unwrap()
            .iter()
            .map(|t| numbers(t)[0] as u32)
            .collect(),
    };
    all["cases"].as_array().unwrap().iter().map(case).collect()
}

/// Runs `f` on a session of the model in a file.
fn session<R>(
    device: &'static dyn Device,
    path: PathBuf,
    f: impl FnOnce(&mut Session<'_>) -> R,
) -> R {
    let map = Mapped::open(path).unwrap();
    let mut scratch = [0; 4096];
    let file = File::parse_with(&map, &mut scratch).unwrap();
    let stream = device.open(&Params::default()).unwrap();
    let weights = device.buffer_from_host(file.as_bytes(), 0).or_else(|_| {
        let copy = Buffer::new(device.buffer_type(), file.as_bytes().len())?;
        copy.write(0, file.as_bytes()).map(|()| copy)
    });
    let weights = weights.unwrap();
    let mut memory = Memory::new(file.header(), &stream, &Options::context(128)).unwrap();
    let mut bindings = [Binding::NONE; 3];
    f(&mut memory.session(&stream, file.header(), &weights, &mut bindings).unwrap())
}

/// Follows the peer's greedy tokens, at most `most`, until one that differs where the peer itself was not sure. Returns
/// how many were equal.
fn follow(run: &mut Session<'_>, case: &Case, logits: &mut [f32], sure: f32, most: usize) -> usize {
    for (i, (&token, &margin)) in case.tokens.iter().zip(&case.margins).take(most).enumerate() {
        let ours = greedy(logits).unwrap();
        if ours != token {
            assert!(margin <= sure, "token {i}: {ours}, not {token}, preferred by {margin}");
            return i;
        }
        run.eval(&[token], logits).unwrap();
    }
    case.tokens.len().min(most)
}

#[test]
fn stories_are_the_peers() {
    for (name, bound) in
        [("stories260K-f32", F32), ("stories260K-Q8_0", QUANTISED), ("stories260K-Q4_0", QUANTISED)]
    {
        for (backend, prompts) in [(&common::FULL, 4), (&common::PLAIN, 1)] {
            let Some(device) = common::device(backend) else { return };
            session(device, folder().join(format!("{name}.gguf")), |run| {
                let mut followed = 0;
                for case in cases(name).iter().take(prompts) {
                    let mut logits = vec![0.0; run.vocab()];
                    run.reset();
                    run.eval(&case.prompt, &mut logits).unwrap();
                    let off = logits.iter().zip(&case.logits).map(|(a, b)| (a - b).abs());
                    let off = off.fold(0.0, f32::max);
                    println!("{name}: {off} off the peer");
                    assert!(off < bound, "{name}: {off} off the peer");
                    followed += follow(run, case, &mut logits, SURE, 64);
                }
                assert!(
                    followed >= 25 * prompts,
                    "{name}: only {followed} tokens could be compared"
                );
            });
            common::silent(backend);
        }
    }
}

/// The ids of the `n` largest.
fn top(logits: &[f32], n: usize) -> Vec<u32> {
    let mut ids: Vec<u32> = (0..logits.len() as u32).collect();
    ids.sort_by(|a, b| logits[*b as usize].total_cmp(&logits[*a as usize]));
    ids.truncate(n);
    ids
}

/// The model that `ci/models.sh` fetches.
#[test]
fn smollm2_is_the_peers() {
    let cache = match std::env::var_os("DINRAIL_CACHE") {
        Some(dir) => PathBuf::from(dir),
        None => PathBuf::from(std::env::var_os("HOME").unwrap_or_default()).join(".cache/dinrail"),
    };
    let path = cache.join("models/SmolLM2-135M-Instruct.Q4_1.gguf");
    if !path.is_file() {
        return println!("skipped: no {} (ci/models.sh fetches it)", path.display());
    }
    // Without the validation layer, which looks at every command.
    static QUICK: dinrail_vulkan::Backend = dinrail_vulkan::Backend::new();
    let Some(device) = common::device(&QUICK) else { return };
    session(device, path, |run| {
        // In software a token takes a second or more.
        for (case, most) in cases("SmolLM2-135M-Instruct.Q4_1").iter().zip([6, 2]) {
            let clock = Instant::now();
            let mut logits = vec![0.0; run.vocab()];
            run.reset();
            run.eval(&case.prompt, &mut logits).unwrap();
            let prompt = clock.elapsed();
            let (ours, peers) = (top(&logits, 10), &case.top[..10]);
            let shared = ours.iter().filter(|id| peers.contains(id)).count();
            assert!(shared >= 9, "{ours:?}, not {peers:?}");
            if case.margins[0] > SURE {
                assert_eq!(ours[0], peers[0]);
            }
            let followed = follow(run, case, &mut logits, SURE_DEEP, most);
            println!(
                "{} tokens in {prompt:.1?}, then {followed} like the peer's, {:.1?} in all",
                case.prompt.len(),
                clock.elapsed()
            );
            assert!(followed > 0);
        }
    });
}
