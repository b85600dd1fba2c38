//! The conformance suite on ggml's CPU backend, interface version 2.

mod common;

use dinrail_conformance::Expect;
use dinrail_core::hal::Backend;
use dinrail_core::op::Kind;
use dinrail_interop as interop;

#[test]
fn ggml_passes_what_it_supports() {
    let Some(dir) = interop::package("cpu-v2") else { return };
    let mut known = common::GGML_CPU.to_vec();
    known.push(Expect::fails(Kind::Glu, "glu of two"));
    known.push(Expect::fails(Kind::Glu, "glu of halves"));
    let report = common::conformance(interop::best_cpu(&dir).device(0).unwrap(), &known);
    assert_eq!(report.failed, 0);
    assert!(report.passed > 5000 && report.known < 150, "{report:?}");
}
