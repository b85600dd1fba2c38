//! The suite tests itself: every case can be built, the oracle agrees with itself, and mistakes are found.

mod common;

use common::reference;
use dinrail_conformance::{Suite, cases};
use dinrail_core::hal::Params;

#[test]
fn the_reference_agrees_with_itself() {
    let mut work = vec![0; Suite::WORK];

    let mut suite = Suite::new(reference(), &Params::default(), &mut work).unwrap();
    let report = suite.run_all(cases(), &[], |f| println!("{f}"));
    println!("{report:?}");
    // It has no integer arithmetic, and must say so.
    let integers = cases().filter(|c| c.group == "binary of integers").count();
    assert_eq!((report.failed, report.refused), (0, integers));
    assert!(integers > 0 && report.passed > 8000, "{report:?}");
}
