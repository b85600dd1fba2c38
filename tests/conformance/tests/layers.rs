//! Layers round the CPU backend change nothing, and it keeps its contract.

mod common;

use dinrail_conformance::{Suite, cases};
use dinrail_core::hal::{Device, Params};
use dinrail_layers::{Hook, Layer, Recorder, Trace, Validate};

fn run(device: &'static dyn Device, threads: usize, every: usize) {
    let mut work = vec![0; Suite::WORK];
    let params = Params { threads: Some(threads), text: None };
    let mut suite = Suite::new(device, &params, &mut work).unwrap();
    let some = cases().enumerate().filter(|(i, _)| i % every == 0).map(|(_, c)| c);
    let report = suite.run_all(some, &[], |f| println!("{f}"));
    assert_eq!(report.failed, 0);
    assert!(report.passed > 5000 / every);
}

fn round<H: Hook>(hook: H) -> &'static Layer<H> {
    common::leak(Layer::new(common::cpu(), hook))
}

#[test]
fn the_cpu_keeps_its_contract() {
    let device = round(Validate::new(|v| println!("{v}")));
    run(device, 2, 2);
    assert_eq!(device.hook().violations(), 0);
}

#[test]
fn a_trace_changes_nothing() {
    static CALLS: Recorder<16> = Recorder::new();
    run(round(Trace::new(&CALLS)), 1, 9);
    assert!(CALLS.count() > 1000);
}
