#!/usr/bin/env bash
# The Metal backend as text: kernels translated to the Metal shading language, host code type-checked and linted for
# macOS and iOS. Nothing is linked or run; backends/metal/README.md says how to do that on a Mac.
. "$(dirname "$0")/lib.sh"

host_rust
run cargo test --release -p dinrail-metal
foreign_rust
export CARGO_TARGET_DIR=$TARGET-apple
for target in aarch64-apple-darwin aarch64-apple-ios; do
    foreign cargo clippy -Z build-std=std,panic_abort --target $target --all-targets -p dinrail-metal -- -D warnings
done
