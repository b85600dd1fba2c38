#!/usr/bin/env bash
# The CPU backend and the conformance suite on 64-bit Arm Linux, in QEMU's user mode. Twice: a
# processor with every extension, and one with plain NEON, which must take the fall-back.
. "$(dirname "$0")/lib.sh"

TRIPLE=aarch64-unknown-linux-gnu
packages=()
for folder in backends/cpu tests/conformance; do
    name=$(package "$folder") && packages+=(-p "$name")
done
[ ${#packages[@]} -gt 0 ] || skip "none of the packages exists"

foreign_rust
if ! dpkg --print-foreign-architectures | grep -qx arm64; then
    [ "$(id -u)" = 0 ] || skip "needs root once, for: dpkg --add-architecture arm64"
    dpkg --add-architecture arm64
fi
apt_need gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user libstd-rust-web-dev:arm64

# Every level that there is; those of other architectures are no-ops.
levels=$(features backends/cpu | sed -n 's/^[a-z].*/dinrail-cpu\/&/p' | grep -v /default | paste -sd,)
packages+=(--features "$levels")
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc
export CARGO_TARGET_DIR=$TARGET-aarch64
for cpu in max cortex-a53; do
    # No -L: with it QEMU 7.2 hangs when a program starts its first thread.
    export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER="qemu-aarch64 -cpu $cpu"
    say "processor: $cpu"
    foreign cargo test --release --lib --bins --tests --target $TRIPLE "${packages[@]}"
done
foreign cargo clippy --release --target $TRIPLE "${packages[@]}" -- -D warnings
