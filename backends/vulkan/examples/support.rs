//! Prints what the first device supports: operations by types, in Markdown.

use dinrail_core::hal::Backend as _;

static VULKAN: dinrail_vulkan::Backend = dinrail_vulkan::Backend::new();

fn main() {
    let Some(device) = VULKAN.device(0) else {
        println!("{}", VULKAN.reason().unwrap_or("the first device can't be used"));
        return;
    };
    let mut text = String::new();
    let written =
        dinrail_conformance::table::write(device, dinrail_conformance::cases(), &mut text);
    println!("{}\n\n{text}", device.description());
    assert!(written.is_ok(), "a string takes any text");
}
