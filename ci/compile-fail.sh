#!/usr/bin/env bash
# What must not build doesn't, and the compiler says why.
. "$(dirname "$0")/lib.sh"
host_rust
export CARGO_TARGET_DIR=$TARGET-fail
crate=tests/footprint/arena/Cargo.toml
run cargo check --quiet --manifest-path $crate
# fails FEATURE MESSAGE
fails() {
    local text
    if text=$(cargo check --quiet --manifest-path $crate --features "$1" 2>&1); then die "$1: builds"; fi
    grep -F "$2" <<<"$text" || { say "$text"; die "$1: the message isn't \"$2\""; }
}
fails short "the arena has 2559 bytes, but the plan takes 2560"
fails cut "the model is not a usable GGUF file"
