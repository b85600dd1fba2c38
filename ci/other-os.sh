#!/usr/bin/env bash
# The host crates, with the loader, type-check for systems that can't be run here. Without the CPU backend: it has no
# code for a system, and takes longer than all others.
. "$(dirname "$0")/lib.sh"

packages=()
for folder in platform/host platform/ggml platform/rail; do
    name=$(package "$folder") && packages+=(-p "$name")
done
[ ${#packages[@]} -gt 0 ] || skip "none of the packages exists"

foreign_rust
export CARGO_TARGET_DIR=$TARGET-other-os
# In one go: the standard library of each is one crate after the other, and this way the processors have more to do.
targets=()
for triple in x86_64-pc-windows-msvc aarch64-apple-darwin x86_64-unknown-freebsd; do targets+=(--target "$triple"); done
foreign cargo clippy --quiet -Z build-std=std,panic_abort "${targets[@]}" "${packages[@]}" \
    --no-default-features --features dinrail/dynamic --no-deps -- -D warnings
