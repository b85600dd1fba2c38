//! The CPU backend, at each level that this machine can run.

mod common;

use common::cpu;
use dinrail_conformance::{Expect, Suite, cases};
use dinrail_core::hal::Params;
use dinrail_cpu::Level;

/// What the backend is known not to do.
const KNOWN: &[Expect] = &[];

fn conforms(level: Level) {
    if !level.is_available() {
        println!("skipped: this machine, or this build, has no {}", level.name());
        return;
    }
    let text = format!("level={}", level.name());
    let params = Params { threads: Some(1), text: Some(&text) };
    let mut work = vec![0; Suite::WORK];
    let mut suite = Suite::new(cpu(), &params, &mut work).unwrap();
    let report = suite.run_all(cases(), KNOWN, |f| println!("{f}"));
    println!("{}: {report:?}", level.name());
    assert_eq!(report.failed, 0);
}

#[test]
fn scalar_conforms() {
    conforms(Level::Scalar);
}

#[test]
fn avx2_conforms() {
    conforms(Level::Avx2);
}

#[test]
fn neon_conforms() {
    conforms(Level::Neon);
}

#[test]
fn dotprod_conforms() {
    conforms(Level::Dotprod);
}

#[test]
fn any_number_of_workers_gives_the_same_bits() {
    let mut work: Vec<_> = (0..3).map(|_| vec![0; Suite::WORK]).collect();
    let mut suites: Vec<_> = work
        .iter_mut()
        .zip(1..)
        .map(|(w, n)| {
            let params = Params { threads: Some(n), text: None };
            Suite::new(cpu(), &params, w).unwrap()
        })
        .collect();
    let (mut computed, mut different) = (0, 0);
    for case in cases() {
        let results: Vec<_> =
            suites.iter_mut().map(|s| s.memory_after(&case).unwrap_or(None)).collect();
        computed += usize::from(results[0].is_some());
        if results.iter().any(|r| *r != results[0]) {
            println!("{case}");
            different += 1;
        }
    }
    assert_eq!(different, 0, "of {computed}");
}
