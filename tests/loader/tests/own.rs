//! dinrail's CPU backend as plug-ins, one for each level, in the folder that `DINRAIL_PLUGINS` names: the best that this
//! processor can run is taken, and computes. `ci/foreign.sh arm` builds them.
#![cfg(unix)]

use dinrail::graph::GraphBuf;
use dinrail::hal::{Buffer, Params};
use dinrail::loader::{Ggml, Loader, Options, Stage};
use dinrail::plan::{self, PlanBuf};
use dinrail::program::{Binding, Program};
use dinrail::registry::Registry;
use dinrail::tensor::DType;
use std::path::Path;

static REGISTRY: Registry<8> = Registry::new(&[]);
static LOADER: Loader<8> = Loader::new(&REGISTRY, &[], |_| None, &Ggml);

/// Whether this processor has what a level needs, as Rust's standard library sees it.
fn is_there(level: &str) -> bool {
    match level {
        "baseline" => true,
        #[cfg(target_arch = "aarch64")]
        "neon" => true,
        #[cfg(target_arch = "aarch64")]
        "dotprod" => std::arch::is_aarch64_feature_detected!("dotprod"),
        #[cfg(target_arch = "x86_64")]
        "avx2" => std::arch::is_x86_feature_detected!("avx2"),
        _ => panic!("what is `{level}`?"),
    }
}

fn level(path: &Path) -> &str {
    path.file_stem().unwrap().to_str().unwrap().rsplit('-').next().unwrap()
}

#[test]
fn the_best_level_is_taken_and_computes() {
    let Some(dir) = std::env::var_os("DINRAIL_PLUGINS") else {
        return println!("skipped: DINRAIL_PLUGINS names no folder with plug-ins");
    };
    let options = Options { ignore_environment: true, ..Options::default() };
    let report = LOADER.load_all_from(Path::new(&dir), &options);
    println!("{report}");
    assert!(report.entries().len() >= 2);
    let best = report.entries().iter().filter_map(|e| e.score()).max();
    for e in report.entries() {
        let expected = match (is_there(level(e.path())), e.score() == best) {
            (false, _) => (Some(0), Stage::Score),
            (true, true) => (best, Stage::Loaded),
            (true, false) => (e.score().filter(|s| *s > 0), Stage::Ranked),
        };
        assert_eq!((e.score(), e.stage()), expected, "{}: {}", e.path().display(), e.reason());
    }
    let taken: Vec<_> = report.taken().collect();
    assert_eq!(taken.len(), 1);

    const K: usize = 96;
    const N: usize = 10;
    let device = REGISTRY.device_by_name("CPU").unwrap();
    let mut graph = GraphBuf::<4>::new();
    let mut b = graph.builder();
    let w = b.input(DType::F32, [K, N, 1, 1]);
    let x = b.input(DType::F32, [K, 1, 1, 1]);
    let y = b.mul_mat(w, x);
    b.output(y);
    let plan = PlanBuf::<4>::new(b.finish().unwrap(), &plan::Options::DEFAULT).unwrap();
    let arena = Buffer::new(device.buffer_type(), plan.plan().summary().arena).unwrap();
    let slots = [Binding::new(&arena)];
    let program = Program::new(graph.graph(), plan.plan(), &slots).unwrap();
    // Small whole numbers: every sum is exact.
    let ws: Vec<f32> = (0..K * N).map(|i| (i * 7 % 23) as f32 - 11.0).collect();
    let xs: Vec<f32> = (0..K).map(|i| (i * 5 % 17) as f32 - 8.0).collect();
    program.set_f32(w, &ws).unwrap();
    program.set_f32(x, &xs).unwrap();
    let stream = device.open(&Params { threads: Some(2), text: None }).unwrap();
    stream.compute(&program).unwrap();
    stream.synchronize().unwrap();
    let mut got = [0.0; N];
    program.get_f32(y, &mut got).unwrap();
    let want: Vec<f32> =
        ws.chunks(K).map(|row| row.iter().zip(&xs).map(|(a, b)| a * b).sum()).collect();
    assert_eq!(got[..], want);
    drop((stream, arena));
    LOADER.unload(taken[0].handle().unwrap()).unwrap();
}
