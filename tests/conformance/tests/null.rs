//! A device that supports nothing must refuse everything; one that computes nothing must be found out.

mod common;

use dinrail_conformance::{Expect, Failure, Known, Outcome, Suite, Why, cases};
use dinrail_core::hal::{Backend as _, Device, Params, Stream};
use dinrail_core::op::Kind;
use dinrail_core::program::Program;
use dinrail_core::{Error, Result};
use dinrail_layers::{Hook, Layer};

fn suite<'a>(device: &'static dyn Device, work: &'a mut [u8]) -> Suite<'a> {
    Suite::new(device, &Params::default(), work).unwrap()
}

/// On the reference's memory, so that what isn't refused is seen to be left alone.
struct Refuses;

impl Hook for Refuses {
    fn compute(&self, _: &Stream, program: &Program<'_>) -> Result<()> {
        match program.nodes().find(|(_, n)| !n.op.is_view()) {
            Some((node, n)) => Err(Error::Unsupported { node, op: n.op.kind() }),
            None => Ok(()),
        }
    }
}

/// Computes, and then adds a little to one byte: of the result, or of something else.
struct Slips {
    after: isize,
}

impl Hook for Slips {
    fn compute(&self, stream: &Stream, program: &Program<'_>) -> Result<()> {
        stream.compute(program)?;
        let Some((id, node)) = program.nodes().last() else { return Ok(()) };
        if let (false, Some((buffer, at))) = (node.desc.is_empty(), program.place(id)) {
            let at = at.wrapping_add_signed(if self.after < 0 {
                self.after
            } else {
                node.desc.bytes() as isize - 1 + self.after
            });
            let mut byte = [0];
            buffer.read(at, &mut byte)?;
            buffer.write(at, &[byte[0] ^ 0x40])?;
        }
        Ok(())
    }
}

#[test]
fn a_device_that_refuses_what_it_supports_fails() {
    let mut work = vec![0; Suite::WORK];
    let device = leak_layer(Refuses);
    let mut suite = suite(device, &mut work);
    let case = cases().find(|c| c.op.kind() == Kind::Add).unwrap();
    let outcome = suite.run(&case);
    assert!(matches!(outcome, Outcome::Failed(Why::Device(Error::Unsupported { .. }))));
}

fn leak_layer<H: Hook>(hook: H) -> &'static Layer<H> {
    common::leak(Layer::new(common::reference(), hook))
}

/// Cases that a slip must show in: their results have memory of their own, and elements of their own. (One element of a
/// block may be off by a level: encoders may differ on a tie.)
fn slips(after: isize, found: fn(&Why) -> bool) {
    let mut work = vec![0; Suite::WORK];
    let mut suite = suite(leak_layer(Slips { after }), &mut work);
    let some = cases().filter(|c| {
        let blocks = c.group == "binary quantised" || c.group == "add1" || c.group == "cont";
        c.number % 7 == 0 && c.op.alias().is_none() && !(blocks && c.dtype().is_quantized())
    });
    let (mut seen, mut missed) = (0, 0);
    for case in some {
        match suite.run(&case) {
            Outcome::Refused => {}
            // Nothing to slip on.
            Outcome::Passed if case.src.iter().flatten().any(|t| t.ne.contains(&0)) => {}
            Outcome::Failed(why) if found(&why) => seen += 1,
            // An element that is small beside the sum that made it may become nothing within the bound.
            Outcome::Passed if case.group.starts_with("mul_mat") => missed += 1,
            other => panic!("{case}: {other:?}"),
        }
    }
    assert!(seen > 500 && missed * 100 < seen, "{seen} found, {missed} missed");
}

#[test]
fn one_wrong_byte_in_a_result_is_found() {
    slips(0, |w| matches!(w, Why::Element { .. } | Why::Overall { .. }));
}

#[test]
fn one_byte_behind_a_result_is_found() {
    slips(1, |w| matches!(w, Why::Touched { .. }));
}

#[test]
fn one_byte_in_front_of_a_result_is_found() {
    slips(-1, |w| matches!(w, Why::Touched { .. }));
}

#[test]
fn the_null_backend_is_found_out_or_refuses() {
    static NOTHING: dinrail_null::Backend = dinrail_null::Backend::new(dinrail_null::Config {
        supports: false,
        ..dinrail_null::Config::DEFAULT
    });
    let mut work = vec![0; Suite::WORK];
    let mut suite = suite(NOTHING.device(0).unwrap(), &mut work);
    // Its memory forgets, so the suite sees sentinels change; what counts is that nothing passes.
    let report = suite.run_all(cases().filter(|c| c.number % 50 == 0), &[], |_| ());
    assert_eq!(report.passed, 0);
}

#[test]
fn expectations_must_hold() {
    let mut work = vec![0; Suite::WORK];
    let mut suite = suite(common::reference(), &mut work);
    let known = [
        Expect::fails(Kind::Add, "binary"),
        Expect {
            group: Some("binary"),
            known: Known::Unsupported,
            ..Expect::unsupported(Kind::Sub)
        },
    ];
    let mut failures = [0; 2];
    let binary = cases().filter(|c| c.group == "binary").take(20);
    let report = suite.run_all(binary, &known, |f| match f {
        Failure::NoLongerFails(_) => failures[0] += 1,
        Failure::Supported(_) => failures[1] += 1,
        Failure::Case(..) => panic!("{f}"),
    });
    assert_eq!(failures, [1, 5]);
    assert_eq!((report.passed, report.failed), (15, 6));
}
