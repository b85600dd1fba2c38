//! A CPU backend of ggml's with interface version 1. In a process of its own: two releases of ggml's base library do
//! not fit into one.

mod common;

use dinrail_core::hal::{Backend, Buffer, DeviceKind, Query};
use dinrail_core::op::{Op, Sources};
use dinrail_core::tensor::{DType, Desc};
use dinrail_ggml::{Candidate, Stage};
use dinrail_interop as interop;

#[test]
fn it_lists_and_computes() {
    let Some(dir) = interop::package("cpu-v1") else { return };
    let library = interop::best_cpu(&dir);
    assert_eq!((library.name(), library.interface_version()), ("CPU", 1));
    assert_eq!(library.notes(), Vec::<String>::new());
    let device = library.device(0).unwrap();
    assert_eq!((device.name(), device.kind()), ("CPU", DeviceKind::Cpu));
    // The structure of properties is shorter in this version.
    assert!(device.caps().buffer_from_host && !device.caps().events);
    common::elementwise(device);
    common::matrices(device);
    common::attention(device);
    common::lent_memory(device);
}

#[test]
fn what_the_release_lacks_is_not_supported() {
    let Some(dir) = interop::package("cpu-v1") else { return };
    let device = interop::best_cpu(&dir).device(0).unwrap();
    let rows = Desc::d2(DType::F32, 32, 4).unwrap();
    let at = Desc::d1(DType::I64, 4).unwrap();
    let src = Sources::NONE.with(0, rows).with(1, at).with(2, rows);
    assert!(!device.supports(&Query { op: &Op::SetRows, dst: &rows, src: &src }));
    let src = Sources::NONE.with(0, rows);
    let scale = |bias: f32| {
        let op = Op::Scale { scale: 2.0, bias };
        device.supports(&Query { op: &op, dst: &rows, src: &src })
    };
    assert!(scale(0.0) && !scale(1.0), "the summand came later");
    // A type that came later.
    let w = Desc::d2(DType::MXFP4, 32, 4).unwrap();
    let src = Sources::NONE.with(0, w).with(1, rows);
    let out = Desc::d2(DType::F32, 4, 4).unwrap();
    let op = Op::MulMat { precision: Default::default() };
    assert!(!device.supports(&Query { op: &op, dst: &out, src: &src }));
    let buffer = Buffer::new(device.buffer_type(), 64).unwrap();
    assert!(buffer.write(1, &[7]).is_ok());
}

#[test]
fn another_release_in_the_same_process_is_refused() {
    let (Some(one), Some(two)) = (interop::package("cpu-v1"), interop::package("cpu-v2")) else {
        return;
    };
    let _first = interop::best_cpu(&one);
    let file = two.join("libggml-cpu-haswell.so");
    // The system joins the two base libraries, which have one internal name: either it misses symbols, or we find out.
    let error = Candidate::open(&file).and_then(Candidate::init).unwrap_err();
    assert!(matches!(error.stage(), Stage::Open | Stage::Base), "{error}");
    assert_eq!(error.path(), file);
    // The reason names the one that is in the way.
    assert!(error.reason().contains("cpu-v1"), "{error}");
}
