//! A small language model tells the same story on the device as on the oracle.

mod common;

use dinrail_core::hal::{Backend as _, Buffer, Device, Params};
use dinrail_core::program::Binding;
use dinrail_gguf::File;
use dinrail_host::HEAP;
use dinrail_host::map::Mapped;
use dinrail_llm::sampler::greedy;
use dinrail_llm::session::{Memory, Options};

static REFERENCE: dinrail_reference::Backend = dinrail_reference::Backend::new(Some(&HEAP));

/// "Once upon a time", with the mark of a beginning.
const PROMPT: [u32; 5] = [1, 403, 407, 261, 378];
const TOKENS: usize = 40;

/// The tokens that a device prefers, and the logits behind the prompt.
fn tell(device: &'static dyn Device, name: &str) -> (Vec<u32>, Vec<f32>) {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/models");
    let map = Mapped::open(format!("{folder}/{name}.gguf")).unwrap();
    let mut scratch = [0; 4096];
    let file = File::parse_with(&map, &mut scratch).unwrap();
    let stream = device.open(&Params::default()).unwrap();
    let weights = device.buffer_from_host(file.as_bytes(), 0).or_else(|_| {
        let copy = Buffer::new(device.buffer_type(), file.as_bytes().len())?;
        copy.write(0, file.as_bytes()).map(|()| copy)
    });
    let weights = weights.unwrap();
    let mut memory = Memory::new(file.header(), &stream, &Options::context(64)).unwrap();
    let mut bindings = [Binding::NONE; 3];
    let mut run = memory.session(&stream, file.header(), &weights, &mut bindings).unwrap();
    let mut logits = vec![0.0; run.vocab()];
    run.eval(&PROMPT, &mut logits).unwrap();
    let first = logits.clone();
    let mut story = Vec::new();
    for _ in 0..TOKENS {
        let token = greedy(&logits).unwrap();
        story.push(token);
        run.eval(&[token], &mut logits).unwrap();
    }
    (story, first)
}

#[test]
fn the_story_is_the_same_as_on_the_oracle() {
    for name in ["stories260K-f32", "stories260K-Q8_0", "stories260K-Q4_0"] {
        let (expected, logits) = tell(REFERENCE.device(0).unwrap(), name);
        for backend in [&common::FULL, &common::PLAIN] {
            let Some(device) = common::device(backend) else { return };
            let (story, ours) = tell(device, name);
            let off = logits.iter().zip(&ours).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
            println!("{name}: logits off by {off:e}");
            // Neither rounds activations, so only the order of sums differs.
            assert!(off < 1e-2, "{name}: {off}");
            assert_eq!(story, expected, "{name}");
            common::silent(backend);
        }
    }
}
