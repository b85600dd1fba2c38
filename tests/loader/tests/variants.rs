//! All variants of ggml's CPU backend in one folder, as they come: the best is taken, and each says why it was not.
#![cfg(unix)]

use dinrail::loader::{Ggml, Loader, Options, Stage};
use dinrail::registry::Registry;
use dinrail_interop as interop;

static REGISTRY: Registry<8> = Registry::new(&[]);
static LOADER: Loader<8> = Loader::new(&REGISTRY, &[], |_| None, &Ggml);

#[test]
fn the_best_of_all_variants_is_taken() {
    let Some(dir) = interop::package("cpu-v2") else { return };
    let options = Options { ignore_environment: true, ..Options::default() };
    let report = LOADER.load_all_from(&dir, &options);
    println!("{report}");
    assert_eq!(report.entries().len(), interop::cpu_libraries(&dir).len());
    let taken: Vec<_> = report.taken().collect();
    assert_eq!(taken.len(), 1);
    let best = report.entries().iter().filter_map(|e| e.score()).max();
    assert!(best > Some(0) && taken[0].score() == best);
    for e in report.entries() {
        let expected = match e.score() {
            Some(0) => Stage::Score,
            Some(_) if e.is_taken() => Stage::Loaded,
            Some(_) => Stage::Ranked,
            None => panic!("{} has no score: {}", e.path().display(), e.reason()),
        };
        assert_eq!(e.stage(), expected, "{}: {}", e.path().display(), e.reason());
    }
    let device = REGISTRY.device_by_name("cpu").expect("it is registered");
    assert!(device.memory().total > 0);
    LOADER.unload(taken[0].handle().expect("it was taken")).expect("nothing of it is alive");
    assert_eq!(REGISTRY.devices().count(), 0);
}
