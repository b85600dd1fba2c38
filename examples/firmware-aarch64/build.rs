//! The memory map of QEMU's machine `virt`.

fn main() {
    println!("cargo::rerun-if-changed=virt.x");
    let folder = std::env::var("CARGO_MANIFEST_DIR").expect("cargo sets it");
    println!("cargo::rustc-link-search={folder}");
    println!("cargo::rustc-link-arg=-Tvirt.x");
}
