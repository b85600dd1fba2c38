//! The conformance suite, on Apple's systems.
#![cfg(target_vendor = "apple")]

use dinrail_conformance::{Suite, cases};
use dinrail_core::hal::{Backend as _, Params};

static METAL: dinrail_metal::Backend = dinrail_metal::Backend::new();

#[test]
fn conforms() {
    let Some(device) = METAL.device(0) else {
        return println!("skipped: the system has no Metal device");
    };
    let mut work = vec![0; Suite::WORK];
    let mut suite = Suite::new(device, &Params::default(), &mut work).unwrap();
    let report = suite.run_all(cases(), &[], |f| println!("{f}"));
    println!("{}: {report:?}", device.description());
    assert_eq!(report.failed, 0);
}
