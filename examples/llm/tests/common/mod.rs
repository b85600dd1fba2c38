//! Models, reference data and devices for the tests.
#![allow(dead_code)]

pub mod edit;
pub mod exact;

use dinrail::host::map::Mapped;
use dinrail_core::hal::{Device, Params};
use dinrail_core::program::Binding;
use dinrail_gguf::File;
use dinrail_llm::session::{Memory, Options, Session};
use std::path::PathBuf;

pub fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../models")
}

/// A file that stays mapped for the rest of the test.
pub fn open(path: PathBuf) -> &'static [u8] {
    let map: &'static Mapped = Box::leak(Box::new(Mapped::open(path).unwrap()));
    map
}

pub fn stories(name: &str) -> File<'static> {
    File::parse_with(open(folder().join(format!("{name}.gguf"))), &mut [0; 4096]).unwrap()
}

/// The model that `ci/models.sh` fetches, if it is there or can be had.
pub fn smollm2() -> Option<File<'static>> {
    let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../ci/models.sh");
    let found = std::process::Command::new("bash").arg(script).output().ok().and_then(|o| {
        let path = String::from_utf8(o.stdout).ok()?;
        o.status.success().then(|| PathBuf::from(path.trim()))
    });
    match found {
        Some(path) if path.is_file() => Some(File::parse_with(open(path), &mut [0; 4096]).unwrap()),
        _ => {
            println!("skipped: SmolLM2 could not be had");
            None
        }
    }
}

pub fn devices() -> Vec<&'static dyn Device> {
    dinrail::registry().devices().collect()
}

pub struct Case {
    pub prompt: String,
    pub prompt_tokens: Vec<u32>,
    pub greedy_tokens: Vec<u32>,
    pub greedy_margin: Vec<f32>,
    pub first_logits: Vec<f32>,
    pub first_top: Vec<(u32, f32)>,
}

pub struct Cases(pub Vec<Case>);

impl Cases {
    pub fn read(name: &str) -> Self {
        let path = folder().join(format!("reference/{name}.json"));
        let all: serde_json::Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
        let ids = |v: &serde_json::Value| -> Vec<u32> {
            v.as_array().unwrap().iter().map(|x| x.as_u64().unwrap() as u32).collect()
        };
        let floats = |v: &serde_json::Value| -> Vec<f32> {
            v.as_array().into_iter().flatten().map(|x| x.as_f64().unwrap() as f32).collect()
        };
        let case = |c: &serde_json::Value| Case {
            prompt: c["prompt"].as_str().unwrap().to_owned(),
            prompt_tokens: ids(&c["prompt_tokens"]),
            greedy_tokens: ids(&c["greedy_tokens"]),
            greedy_margin: floats(&c["greedy_margin"]),
            first_logits: floats(&c["first_logits"]),
            first_top: c["first_logits_top"]
                .as_array()
                .unwrap()
                .iter()
                .map(|t| (t[0].as_u64().unwrap() as u32, t[1].as_f64().unwrap() as f32))
                .collect(),
        };
        Cases(all["cases"].as_array().unwrap().iter().map(case).collect())
    }
}

/// Runs `f` on a session of a model.
pub fn with_session<R>(
    device: &'static dyn Device,
    file: &File<'_>,
    options: Options,
    threads: usize,
    f: impl FnOnce(&mut Session<'_>) -> R,
) -> R {
    let params = Params { threads: Some(threads), ..Params::default() };
    let stream = device.open(&params).unwrap();
    let weights = device.buffer_from_host(file.as_bytes(), 0).unwrap();
    let mut memory = Memory::new(file.header(), &stream, &options).unwrap();
    let mut bindings = [Binding::NONE; 3];
    let mut session = memory.session(&stream, file.header(), &weights, &mut bindings).unwrap();
    f(&mut session)
}

/// A copy of a file where tensors can be used in place.
pub fn aligned(bytes: &[u8]) -> &'static [u8] {
    let mut copy = vec![0u8; bytes.len() + 64];
    let at = copy.as_ptr().align_offset(64);
    copy[at..at + bytes.len()].copy_from_slice(bytes);
    let copy: &'static [u8] = Box::leak(copy.into_boxed_slice());
    &copy[at..at + bytes.len()]
}
