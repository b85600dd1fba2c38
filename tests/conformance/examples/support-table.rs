//! Prints the support table: `cargo run -p dinrail-conformance --example support-table > docs/support.md`.

#[path = "../tests/common/mod.rs"]
mod common;

fn main() {
    print!("{}", common::support());
}
