//! What the exported names begin with, and the name under which the dynamic linker looks for the library.

use std::env;

/// Names of this interface's first version.
const PREFIX: &str = "dinrail0_";

fn main() {
    println!("cargo::rerun-if-env-changed=DINRAIL_C_PREFIX");
    let prefix = env::var("DINRAIL_C_PREFIX").unwrap_or_else(|_| PREFIX.into());
    let mut letters = prefix.chars();
    let first = letters.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
    if !first || !letters.all(|c| c.is_ascii_alphanumeric() || c == '_') {
        println!("cargo::error=DINRAIL_C_PREFIX={prefix} can't begin the name of a C function");
        return;
    }
    println!("cargo::rustc-env=DINRAIL_C_PREFIX={prefix}");
    println!("cargo::rerun-if-env-changed=DINRAIL_C_NAME");
    let name = env::var("DINRAIL_C_NAME").unwrap_or_else(|_| "dinrail".into());
    if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || "_-.+".contains(c)) {
        println!("cargo::error=DINRAIL_C_NAME={name} can't be in the name of a library");
        return;
    }
    if env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux") {
        println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,lib{name}.so.0");
    }
}
