#!/usr/bin/env bash
# The loader with the libraries that ggml's makers built: those for this machine, and those for 64-bit Arm in QEMU's
# user mode. Where llama.cpp is built (ci/peers.sh), its library too.
#
#   ci/foreign.sh        both
#   ci/foreign.sh host   one of them
#   ci/foreign.sh arm
. "$(dirname "$0")/lib.sh"
parts=${1:-host arm}
host_rust

# Without a registry there is nothing to test with: that is no mistake of dinrail's.
bash ci/ggml-packages.sh || skip "ggml's packages can't be fetched (npm)"

host() {
    run cargo test --release -p dinrail-interop -p dinrail-loader-tests -p dinrail-ggml -p dinrail-host
    run cargo test --release -p dinrail-cli --test load
}

arm() {
    foreign_rust
    if ! dpkg --print-foreign-architectures | grep -qx arm64; then
        [ "$(id -u)" = 0 ] || skip "needs root once, for: dpkg --add-architecture arm64"
        dpkg --add-architecture arm64
    fi
    apt_need gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user libstd-rust-web-dev:arm64 libstdc++6:arm64
    export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc
    # No -L: with it QEMU 7.2 hangs when a program starts its first thread. What is tested here is loading and calling,
    # so nothing of ours is optimised: that takes longer than all that runs. The suites run on this machine's libraries.
    local test="foreign cargo test --target aarch64-unknown-linux-gnu" cpu
    export CARGO_TARGET_DIR=$TARGET-aarch64 CARGO_PROFILE_TEST_OPT_LEVEL=0 CARGO_PROFILE_TEST_DEBUG=0
    for cpu in cortex-a53 max; do
        say "processor: $cpu"
        export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER="qemu-aarch64 -cpu $cpu"
        $test -p dinrail-loader-tests --test variants
        $test -p dinrail-interop --test v2 scores_follow_the_processor
    done
    $test -p dinrail-interop --test v2
    $test -p dinrail-interop --test story stories_in_blocks -- --nocapture
}

for part in $parts; do "$part"; done
