#!/usr/bin/env bash
# The CPU backend's tests and its conformance on 64-bit Arm Linux, in QEMU's user mode: on a processor with every
# extension, and on one with plain NEON, which must take the fall-back. No stage of .ci/run, for it takes longer than all
# others that need an emulator; run it when something in backends/cpu for 64-bit Arm has changed.
. "$(dirname "$0")/lib.sh"

TRIPLE=aarch64-unknown-linux-gnu
foreign_rust
if ! dpkg --print-foreign-architectures | grep -qx arm64; then
    [ "$(id -u)" = 0 ] || skip "needs root once, for: dpkg --add-architecture arm64"
    dpkg --add-architecture arm64
fi
apt_need gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user libstd-rust-web-dev:arm64

# Every level that there is; those of other architectures are no-ops.
LEVELS=$(features backends/cpu | sed -n 's/^[a-z].*/dinrail-cpu\/&/p' | grep -v /default | paste -sd,)
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc
# Compiling takes longer than all that runs.
export CARGO_TARGET_DIR=$TARGET-aarch64 CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_OPT_LEVEL=1
# No -L: with it QEMU 7.2 hangs when a program starts its first thread.
runner() {
    say "processor: $1"
    export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER="qemu-aarch64 -cpu $1"
}
tests() { foreign cargo test --release --target $TRIPLE --features "$LEVELS" "$@"; }

runner max
tests -p dinrail-cpu --lib --tests
tests -p dinrail-conformance --test cpu
runner cortex-a53
tests -p dinrail-cpu --test limit --test stream
tests -p dinrail-conformance --test cpu -- neon
foreign cargo clippy --release --target $TRIPLE -p dinrail-cpu --features "$LEVELS" -- -D warnings
