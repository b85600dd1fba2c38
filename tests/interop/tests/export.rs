//! There and back: the plug-in of examples/plugin, loaded as any library of ggml's is.

mod common;

use dinrail_core::hal::{Backend, Buffer, Device, DeviceKind, Params, Usage};
use dinrail_core::program::Binding;
use dinrail_ggml::{Candidate, Library};
use dinrail_gguf::File;
use dinrail_llm::sampler::greedy;
use dinrail_llm::session::{Memory, Options, Session};
use std::path::PathBuf;

fn load(file: &std::path::Path) -> &'static Library {
    let candidate = Candidate::open(file).unwrap();
    assert_eq!(candidate.score().unwrap(), Some(1));
    candidate.init().unwrap()
}

static REFERENCE: dinrail_reference::Backend =
    dinrail_reference::Backend::new(Some(&dinrail_host::HEAP));

#[test]
fn it_is_what_went_in() {
    let Some(file) = common::example_plugin() else { return };
    let library = load(&file);
    assert_eq!((library.name(), library.interface_version()), ("Reference", 2));
    assert_eq!(library.notes(), Vec::<String>::new());
    let (there, here) = (library.device(0).unwrap(), REFERENCE.device(0).unwrap());
    assert_eq!((there.name(), there.kind()), ("Reference", DeviceKind::Cpu));
    assert_eq!(there.description(), here.description());
    assert_eq!(there.caps(), here.caps());
    let (a, b) = (there.buffer_type(), here.buffer_type());
    assert_eq!((a.name(), a.alignment(), a.is_host()), (b.name(), b.alignment(), b.is_host()));
    let buffer = Buffer::new(a, 100).unwrap();
    buffer.set_usage(Usage::Weights);
    buffer.clear(7).unwrap();
    let mut byte = [0];
    buffer.read(99, &mut byte).unwrap();
    assert_eq!(byte, [7]);
    assert!(Buffer::new(a, 1 << 60).is_err());
}

/// Whatever ggml's interface can say comes out as it would without the way there and back.
#[test]
fn it_conforms() {
    let Some(file) = common::example_plugin() else { return };
    let device = load(&file).device(0).unwrap();
    let report = common::conformance(device, &[]);
    println!("{report:?}");
    assert_eq!(report.failed, 0);
    assert!(report.passed > 7000, "{report:?}");
}

fn story(device: &'static dyn Device, file: &File<'_>) -> Vec<u32> {
    let stream = device.open(&Params { threads: Some(1), text: None }).unwrap();
    let weights = device.buffer_from_host(file.as_bytes(), 0).unwrap();
    let mut memory = Memory::new(file.header(), &stream, &Options::context(64)).unwrap();
    let mut bindings = [Binding::NONE; 3];
    let mut run: Session<'_> =
        memory.session(&stream, file.header(), &weights, &mut bindings).unwrap();
    let mut logits = vec![0.0; run.vocab()];
    let mut tokens = vec![1];
    for _ in 0..24 {
        run.eval(&tokens[tokens.len() - 1..], &mut logits).unwrap();
        tokens.push(greedy(&logits).unwrap());
    }
    tokens
}

#[test]
fn it_tells_the_same_story() {
    let Some(plugin) = common::example_plugin() else { return };
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../../examples/models/stories260K-Q8_0.gguf");
    let bytes = std::fs::read(path).unwrap();
    let mut copy = vec![0u8; bytes.len() + 64];
    let at = copy.as_ptr().align_offset(64);
    copy[at..at + bytes.len()].copy_from_slice(&bytes);
    let mut work = [0; 4096];
    let model = File::parse_with(&copy[at..at + bytes.len()], &mut work).unwrap();
    let there = story(load(&plugin).device(0).unwrap(), &model);
    assert_eq!(there, story(REFERENCE.device(0).unwrap(), &model));
    assert!(there.len() == 25 && there.iter().any(|t| *t != there[1]), "{there:?}");
}
