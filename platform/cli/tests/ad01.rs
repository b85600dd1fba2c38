//! The anomaly detector against what LiteRT computed on the same weights.

use dinrail::graph::{Builder, Node};
use dinrail::hal::{Buffer, Device, Params};
use dinrail::plan::{Loc, Options, Plan, Work, plan};
use dinrail::program::{Binding, Program};
use dinrail_cli::models::ad01::{LENGTHS, NODES, Weights, build};
use dinrail_gguf::File;
use std::path::PathBuf;

const BINS: usize = 128;
const WINDOW: usize = LENGTHS[0];

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples/models")
}

/// The windows of the recording: frames `t` to `t + 4`, one after the other.
fn windows() -> Vec<Vec<f32>> {
    let bytes = std::fs::read(folder().join("ad01-normal-40frames.bin")).unwrap();
    let bins: Vec<f32> =
        bytes.chunks_exact(4).map(|b| f32::from_le_bytes(b.try_into().unwrap())).collect();
    bins.windows(WINDOW).step_by(BINS).map(<[f32]>::to_vec).collect()
}

/// The outputs for all windows, `frames` at a time.
fn outputs(device: &'static dyn Device, windows: &[Vec<f32>], frames: usize) -> Vec<Vec<f32>> {
    let map = dinrail::host::map::Mapped::open(folder().join("ad01-f32.gguf")).unwrap();
    let file = File::parse(&map).unwrap();
    let weights = Weights::find(file.header()).unwrap();
    let mut nodes = vec![Node::EMPTY; NODES];
    let mut b = Builder::new(&mut nodes);
    let (input, output) = build(&weights, frames, &mut b);
    let graph = b.finish().unwrap();
    assert_eq!(graph.len(), NODES);
    let stream = device.open(&Params { threads: Some(1), ..Params::default() }).unwrap();
    let options = Options { scratch: stream.scratch(graph), ..Options::DEFAULT };
    let (mut work, mut locs) = (vec![Work::EMPTY; NODES], vec![Loc::ZERO; NODES]);
    let summary = plan(graph, &options, &mut work, &mut locs).unwrap();
    assert_eq!(summary.peak, summary.lower_bound);
    let arena = Buffer::new(device.buffer_type(), summary.arena).unwrap();
    let model = device.buffer_from_host(file.as_bytes(), 0).unwrap();
    let bindings = [Binding::new(&arena), Binding::new(&model)];
    let program = Program::new(graph, Plan::from_parts(&locs, summary), &bindings).unwrap();
    let mut results = Vec::new();
    for batch in windows.chunks_exact(frames) {
        program.set_f32(input, &batch.concat()).unwrap();
        stream.compute(&program).unwrap();
        stream.synchronize().unwrap();
        let mut out = vec![0.0; frames * WINDOW];
        program.get_f32(output, &mut out).unwrap();
        results.extend(out.chunks_exact(WINDOW).map(<[f32]>::to_vec));
    }
    results
}

fn floats(value: &serde_json::Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect()
}

#[test]
fn outputs_and_errors_are_litert_s() {
    let reference: serde_json::Value =
        serde_json::from_slice(&std::fs::read(folder().join("reference/ad01.json")).unwrap())
            .unwrap();
    let first = floats(&reference["first_window_output"]);
    let errors = floats(&reference["window_mse"]);
    let windows = windows();
    assert_eq!(windows.len(), errors.len());
    for device in dinrail::registry().devices() {
        for frames in [1, 36, 4] {
            let outputs = outputs(device, &windows, frames);
            let largest = first.iter().map(|x| x.abs()).fold(0.0, f64::max);
            for (ours, theirs) in outputs[0].iter().zip(&first) {
                let off = (f64::from(*ours) - theirs).abs() / largest;
                assert!(off < 1e-4, "{ours} and {theirs} on {}", device.name());
            }
            for ((window, output), theirs) in windows.iter().zip(&outputs).zip(&errors) {
                let sum: f64 =
                    window.iter().zip(output).map(|(a, b)| f64::from(a - b).powi(2)).sum();
                let ours = sum / WINDOW as f64;
                // Four digits.
                assert!((ours / theirs - 1.0).abs() < 5e-5, "{ours} and {theirs}");
            }
        }
    }
}
