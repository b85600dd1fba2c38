//! ggml's Vulkan backend, on whatever GPU there is. `GGML_VK_VISIBLE_DEVICES=0` lets a software driver do it, which takes
//! minutes to compile the shaders.

mod common;

use dinrail_core::hal::{Backend, Buffer, DeviceKind, Event};
use dinrail_ggml::Candidate;
use dinrail_interop as interop;

#[test]
fn it_computes() {
    let Some(dir) = interop::package("vulkan-v2") else { return };
    let library = match Candidate::open(&dir.join("libggml-vulkan.so")).and_then(Candidate::init) {
        Ok(l) => l,
        Err(e) => return println!("skipped: {e}"),
    };
    assert_eq!((library.name(), library.interface_version()), ("Vulkan", 2));
    let Some(device) = library.device(0) else {
        return println!("skipped: no Vulkan device");
    };
    println!(
        "{} ({}) {:?} {:?} {:?}",
        device.name(),
        device.description(),
        device.kind(),
        device.caps(),
        device.id()
    );
    assert!(device.name().starts_with("Vulkan"));
    assert_ne!(device.kind(), DeviceKind::Accelerator);
    let ty = device.buffer_type();
    let buffer = Buffer::new(ty, 1000).unwrap();
    buffer.write(3, &[1, 2, 3, 4, 5]).unwrap();
    let mut back = [0; 5];
    buffer.read(3, &mut back).unwrap();
    assert_eq!(back, [1, 2, 3, 4, 5]);
    if device.caps().events {
        let event = Event::new(device).unwrap();
        let stream = common::stream(device);
        stream.record(&event).unwrap();
        event.synchronize().unwrap();
    }
    common::elementwise(device);
    common::matrices(device);
    common::attention(device);
}
