#!/usr/bin/env bash
# The loader with the libraries that ggml's makers built.
#
#   ci/foreign.sh        what `ci/test.sh` does not do: `peers` and `arm`
#   ci/foreign.sh peers  the tests that need llama.cpp's library (ci/peers.sh builds it)
#   ci/foreign.sh arm    64-bit Arm in QEMU's user mode: ggml's libraries, and dinrail's CPU backend as plug-ins
#   ci/foreign.sh host   every test with a foreign library on this machine, as `ci/test.sh` runs them
. "$(dirname "$0")/lib.sh"
parts=${1:-peers arm}
host_rust

# Without a registry there is nothing to test with: that is no mistake of dinrail's.
bash ci/ggml-packages.sh || skip "ggml's packages can't be fetched (npm)"

# All packages of README's command, so that what it has built is used and not built anew for fewer.
tests() {
    local all=() name
    for name in "$@"; do all+=(--test "$name"); done
    run cargo test --release "${all[@]}"
}

host() {
    tests v1 v2 conformance_v1 conformance_v2 decode faults pool story streams two unload vulkan export export_host \
        export_unload sections variants quiet releases peers files policy search table load
}

peers() {
    bash ci/peers.sh --where >/dev/null || { say "skipped: llama.cpp is not built (ci/peers.sh)"; return 0; }
    tests releases peers story
}

# dinrail's plug-ins for two levels: by their scores the processor decides which is taken, before anything else of them runs.
plugins() {
    local dir=$CARGO_TARGET_DIR/plugins level
    mkdir -p "$dir"
    for level in neon dotprod; do
        foreign cargo build -q --target $TRIPLE -p dinrail-plugin-cpu --features $level
        mv "$CARGO_TARGET_DIR/$TRIPLE/debug/libdinrail_plugin_cpu.so" "$dir/libdinrail-cpu-$level.so"
    done
    run python3 ci/plugins.py initialisers "$dir"/*.so
    export DINRAIL_PLUGINS=$dir
}

arm() {
    TRIPLE=aarch64-unknown-linux-gnu
    foreign_rust
    if ! dpkg --print-foreign-architectures | grep -qx arm64; then
        [ "$(id -u)" = 0 ] || skip "needs root once, for: dpkg --add-architecture arm64"
        dpkg --add-architecture arm64
    fi
    apt_need gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user libstd-rust-web-dev:arm64 libstdc++6:arm64
    have python3 || apt_need python3
    export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc
    # No -L: with it QEMU 7.2 hangs when a program starts its first thread. What is tested here is loading and calling,
    # so nothing of ours is optimised: that takes longer than all that runs. The suites run on this machine's libraries.
    local test="foreign cargo test --target $TRIPLE" cpu
    export CARGO_TARGET_DIR=$TARGET-aarch64
    export CARGO_PROFILE_DEV_OPT_LEVEL=0 CARGO_PROFILE_DEV_DEBUG=0 CARGO_PROFILE_TEST_OPT_LEVEL=0 CARGO_PROFILE_TEST_DEBUG=0
    plugins
    for cpu in cortex-a53 max; do
        say "processor: $cpu"
        export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER="qemu-aarch64 -cpu $cpu"
        $test -p dinrail-loader-tests --test variants --test own -- --nocapture
        $test -p dinrail-interop --test v2 scores_follow_the_processor
    done
    $test -p dinrail-interop --test v2
    $test -p dinrail-interop --test story stories_in_blocks -- --nocapture
}

for part in $parts; do "$part"; done
