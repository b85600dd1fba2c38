//! The suite tests itself: every case can be built, the oracle agrees with itself, and mistakes are found.

mod common;

use common::HEAP;
use dinrail_conformance::{Suite, cases};
use dinrail_core::hal::{Backend as _, Params};

static REFERENCE: dinrail_reference::Backend = dinrail_reference::Backend::new(Some(&HEAP));

#[test]
fn the_reference_agrees_with_itself() {
    let mut work = vec![0; Suite::WORK];
    let device = REFERENCE.device(0).unwrap();
    let mut suite = Suite::new(device, &Params::default(), &mut work).unwrap();
    let report = suite.run_all(cases(), &[], |f| println!("{f}"));
    println!("{report:?}");
    assert_eq!((report.failed, report.refused), (0, 0));
    assert!(report.passed > 3000, "{report:?}");
}
