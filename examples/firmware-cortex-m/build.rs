//! The memory map of the chosen board: `BOARD=an500 cargo build …`.

use std::{env, fs, path::PathBuf};

fn main() {
    println!("cargo::rerun-if-env-changed=BOARD");
    println!("cargo::rerun-if-changed=boards");
    let board = env::var("BOARD").unwrap_or_else(|_| "an386".into());
    let map = match board.as_str() {
        "an385" | "an386" | "an500" => "mps2",
        other => other,
    };
    let map = PathBuf::from("boards").join(format!("{map}.x"));
    let Ok(map) = fs::read(&map) else {
        panic!("no memory map for board {board}: {}", map.display())
    };
    let out = PathBuf::from(env::var("OUT_DIR").expect("cargo sets it"));
    fs::write(out.join("memory.x"), map).expect("the output folder is writable");
    // The interrupts have no names of their own.
    fs::write(out.join("device.x"), "").expect("the output folder is writable");
    println!("cargo::rustc-link-search={}", out.display());
    println!("cargo::rustc-link-arg=-Tlink.x");
    if env::var_os("CARGO_FEATURE_DEFMT").is_some() {
        println!("cargo::rustc-link-arg=-Tdefmt.x");
        // Without, defmt keeps errors only.
        println!("cargo::rerun-if-env-changed=DEFMT_LOG");
        println!("cargo::rustc-env=DEFMT_LOG={}", env::var("DEFMT_LOG").unwrap_or("info".into()));
    }
}
