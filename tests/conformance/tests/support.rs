//! The table in `docs/support.md` is what the backends say.

mod common;

#[test]
fn the_support_table_is_up_to_date() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/support.md");
    let written = std::fs::read_to_string(path).unwrap_or_default();
    if written != common::support() {
        panic!(
            "docs/support.md is out of date; run\n    cargo run -p dinrail-conformance --example support-table > docs/support.md"
        );
    }
}
