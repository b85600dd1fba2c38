//! The conformance suite on ggml's CPU backend, interface version 1.

mod common;

use dinrail_conformance::Expect;
use dinrail_core::hal::Backend;
use dinrail_core::op::Kind;
use dinrail_interop as interop;

#[test]
fn ggml_passes_what_it_supports() {
    let Some(dir) = interop::package("cpu-v1") else { return };
    let mut known = common::GGML_CPU.to_vec();
    // Rows that are masked everywhere give NaN here, too.
    known.push(Expect::fails(Kind::FlashAttn, "flash_attn holes and sinks"));
    let report = common::conformance(interop::best_cpu(&dir).device(0).unwrap(), &known);
    assert_eq!(report.failed, 0);
    assert!(report.passed > 3000 && report.known < 100, "{report:?}");
}
