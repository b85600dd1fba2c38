//! A real model on ggml's CPU backend, driven by dinrail: the same tokens as llama.cpp gives.

use dinrail_core::hal::{Backend, Device, Params};
use dinrail_core::program::Binding;
use dinrail_gguf::File;
use dinrail_interop as interop;
use dinrail_llm::sampler::greedy;
use dinrail_llm::session::{BINDINGS, Memory, Options, Packed, Session};
use std::path::PathBuf;
use std::time::{Duration, Instant};

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples/models")
}

/// The model in memory that tensors can be used in.
fn model(name: &str) -> File<'static> {
    let bytes = std::fs::read(folder().join(format!("{name}.gguf"))).unwrap();
    let mut copy = vec![0u8; bytes.len() + 64];
    let at = copy.as_ptr().align_offset(64);
    copy[at..at + bytes.len()].copy_from_slice(&bytes);
    let copy: &'static [u8] = Box::leak(copy.into_boxed_slice());
    File::parse_with(&copy[at..at + bytes.len()], &mut [0; 4096]).unwrap()
}

fn session<R>(
    device: &'static dyn Device,
    file: &File<'_>,
    context: usize,
    repack: bool,
    f: impl FnOnce(&mut Session<'_>) -> R,
) -> R {
    let stream = device.open(&Params { threads: Some(1), text: None }).unwrap();
    let weights = device.buffer_from_host(file.as_bytes(), 0).unwrap();
    let packed = match repack {
        true => Packed::new(device, file.header(), file.as_bytes()).unwrap(),
        false => None,
    };
    assert_eq!(packed.is_some(), repack, "the device's re-ordered memory takes matrices");
    let options = Options::context(context);
    let mut memory = Memory::with_packed(file.header(), &stream, &options, packed).unwrap();
    let mut bindings = [Binding::NONE; BINDINGS];
    f(&mut memory.session(&stream, file.header(), &weights, &mut bindings).unwrap())
}

fn ids(v: &serde_json::Value) -> Vec<u32> {
    v.as_array().unwrap().iter().map(|x| x.as_u64().unwrap() as u32).collect()
}

/// Follows llama.cpp's greedy tokens until one that differs where llama.cpp itself was not sure.
fn follows_llama_cpp(name: &str, repack: bool) {
    let Some(dir) = interop::package("cpu-v2") else { return };
    let device = interop::best_cpu(&dir).device(0).unwrap();
    let file = model(name);
    let json = std::fs::read(folder().join(format!("reference/{name}.json"))).unwrap();
    let json: serde_json::Value = serde_json::from_slice(&json).unwrap();
    session(device, &file, 128, repack, |run| {
        let mut followed = 0;
        let mut logits = vec![0.0; run.vocab()];
        for case in json["cases"].as_array().unwrap() {
            run.reset();
            run.eval(&ids(&case["prompt_tokens"]), &mut logits).unwrap();
            for (i, &token) in ids(&case["greedy_tokens"]).iter().enumerate() {
                let got = greedy(&logits).unwrap();
                if got != token {
                    let margin = case["greedy_margin"][i].as_f64().unwrap();
                    assert!(margin <= 0.1, "{}, token {i}: {got}, not {token}", case["prompt"]);
                    break;
                }
                followed += 1;
                run.eval(&[token], &mut logits).unwrap();
            }
        }
        println!("{name}: {followed} tokens as llama.cpp gave them");
        assert!(followed >= 100, "{followed}");
    });
}

#[test]
fn stories_in_floats() {
    follows_llama_cpp("stories260K-f32", false);
}

#[test]
fn stories_in_blocks() {
    follows_llama_cpp("stories260K-Q8_0", false);
    follows_llama_cpp("stories260K-Q4_0", false);
}

/// With matrices in the memory that re-orders them for the library's kernels.
#[test]
fn stories_in_re_ordered_blocks() {
    if std::env::consts::ARCH == "x86_64" && !has_avx2() {
        return println!("skipped: the library re-orders nothing for this processor");
    }
    follows_llama_cpp("stories260K-Q4_0", true);
}

fn has_avx2() -> bool {
    #[cfg(target_arch = "x86_64")]
    return std::arch::is_x86_feature_detected!("avx2");
    #[cfg(not(target_arch = "x86_64"))]
    false
}

/// Time per token, for a comparison with `llama-bench -t 1 -p 0 -n 128` on the same library.
#[test]
fn time_per_token() {
    let Some(dir) = interop::peers() else { return };
    let library = dinrail_ggml::Candidate::open(&dir.join("libggml-cpu.so")).and_then(|c| c.init());
    let Ok(library) = library else {
        return println!("skipped: another release is loaded in this process; run this test alone");
    };
    let file = model("stories260K-Q8_0");
    let best = session(library.device(0).unwrap(), &file, 256, false, |run| {
        let mut logits = vec![0.0; run.vocab()];
        let mut round = || {
            run.reset();
            let start = Instant::now();
            (0..128).for_each(|_| run.eval(&[1], &mut logits).unwrap());
            start.elapsed() / 128
        };
        (0..10).map(|_| round()).min().unwrap_or(Duration::ZERO)
    });
    println!("{best:?} per token, {:.0} tokens/s", 1.0 / best.as_secs_f64());
}
