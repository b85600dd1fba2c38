//! Memory maps: that of the RISC-V example; the board that `BOARD` names for Cortex-M.

use std::{env, fs, path::PathBuf};

/// Where a board has its flash and its RAM.
fn board(name: &str) -> [&'static str; 2] {
    match name {
        "an386" | "an385" => {
            ["ORIGIN = 0x00000000, LENGTH = 4M", "ORIGIN = 0x20000000, LENGTH = 4M"]
        }
        "an547" => ["ORIGIN = 0x00000000, LENGTH = 512K", "ORIGIN = 0x21000000, LENGTH = 2M"],
        other => panic!("no memory map for board {other}"),
    }
}

fn main() {
    println!("cargo::rerun-if-env-changed=BOARD");
    let out = PathBuf::from(env::var("OUT_DIR").expect("cargo sets it"));
    println!("cargo::rustc-link-search={}", out.display());
    if env::var("CARGO_CFG_TARGET_ARCH").as_deref() == Ok("arm") {
        let [flash, ram] = board(&env::var("BOARD").unwrap_or_else(|_| "an386".into()));
        let map = format!("MEMORY {{ FLASH : {flash} RAM : {ram} }}\n");
        fs::write(out.join("memory.x"), map).expect("the output folder is writable");
        println!("cargo::rustc-link-arg=-Tlink.x");
    } else {
        let folder = "../../../examples/firmware-riscv";
        println!("cargo::rerun-if-changed={folder}/virt.x");
        fs::copy(format!("{folder}/virt.x"), out.join("virt.x")).expect("the example has a map");
        println!("cargo::rustc-link-arg=-Tvirt.x");
    }
}
