//! Layers round the device: it keeps its contract, and what they fail on purpose does no harm.

mod common;

use dinrail_conformance::{Suite, cases};
use dinrail_core::error::Error;
use dinrail_core::hal::Params;
use dinrail_layers::{Fault, Kind, Layer, Validate};

#[test]
fn the_device_keeps_its_contract() {
    let Some(device) = common::device(&common::FULL) else { return };
    let layer = Layer::new(device, Validate::new(|v| println!("{v}")));
    let layer: &'static Layer<Validate> = Box::leak(Box::new(layer));
    let mut work = vec![0; Suite::WORK];
    let mut suite = Suite::new(layer, &Params::default(), &mut work).unwrap();
    let some = cases().enumerate().filter(|(i, _)| i % 11 == 0).map(|(_, c)| c);
    let report = suite.run_all(some, &[], |f| println!("{f}"));
    assert_eq!((report.failed, layer.hook().violations()), (0, 0));
    common::silent(&common::FULL);
}

#[test]
fn any_call_of_the_interface_may_fail() {
    let Some(device) = common::device(&common::FULL) else { return };
    let error = Error::Device { call: "on purpose", code: 1 };
    let layer: &'static Layer<Fault> = Box::leak(Box::new(Layer::new(device, Fault::new(error))));
    let lent = vec![1; 5000];
    let mut fired = 0;
    for kind in Kind::ALL {
        for n in 1.. {
            layer.hook().arm(*kind, n);
            let result = common::use_everything(layer, &lent);
            if !layer.hook().fired() {
                result.unwrap();
                break;
            }
            assert_eq!(result, Err(error), "{kind:?} {n}");
            fired += 1;
        }
    }
    assert!(fired > 10);
    common::silent(&common::FULL);
}
