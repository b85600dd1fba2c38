//! Layers round the device: it keeps its contract, and what they fail on purpose does no harm.

mod common;

use dinrail_conformance::{Suite, cases};
use dinrail_core::error::Error;
use dinrail_core::hal::Params;
use dinrail_layers::{Fault, Kind, Layer, Recorder, Trace, Validate};

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
fn every_call_is_told() {
    static CALLS: Recorder<256> = Recorder::new();
    let Some(device) = common::device(&common::FULL) else { return };
    let layer = Layer::new(device, Trace::new(&CALLS));
    let layer: &'static Layer<Trace> = Box::leak(Box::new(layer));
    common::use_everything(layer, &[1; 5000]).unwrap();
    let calls: Vec<_> = CALLS.calls().map(|c| c.kind).collect();
    let seen = |kind| calls.iter().filter(|k| **k == kind).count();
    assert_eq!((seen(Kind::Open), seen(Kind::Close)), (2, 2));
    assert_eq!(seen(Kind::Alloc), seen(Kind::Free));
    assert_eq!((seen(Kind::EventNew), seen(Kind::Record), seen(Kind::EventFree)), (1, 1, 1));
    assert_eq!((seen(Kind::Compute), seen(Kind::Plan), seen(Kind::PlanCompute)), (3, 1, 2));
    assert!(seen(Kind::Set) > 0 && seen(Kind::Get) > 0 && seen(Kind::Synchronize) > 0);
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
