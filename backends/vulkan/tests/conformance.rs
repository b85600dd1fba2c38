//! The conformance suite, with every feature of the device and with none.

mod common;

use dinrail_conformance::{Suite, cases};
use dinrail_core::hal::Params;
use dinrail_vulkan::Backend;

fn conforms(backend: &'static Backend) {
    let Some(device) = common::device(backend) else { return };
    let mut work = vec![0; Suite::WORK];
    let mut suite = Suite::new(device, &Params::default(), &mut work).unwrap();
    let report = suite.run_all(cases(), &[], |f| println!("{f}"));
    println!("{} ({}): {report:?}", device.description(), device.level());
    assert_eq!(report.failed, 0);
    common::silent(backend);
}

#[test]
fn conforms_with_every_feature() {
    conforms(&common::FULL);
}

#[test]
fn conforms_without_features_and_without_mapped_memory() {
    conforms(&common::PLAIN);
}
