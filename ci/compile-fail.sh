#!/usr/bin/env bash
# What must not build doesn't, and the compiler says why.
. "$(dirname "$0")/lib.sh"
host_rust
export CARGO_TARGET_DIR=$TARGET-fail
crate=tests/footprint/arena/Cargo.toml
run cargo check --quiet --manifest-path $crate
if text=$(cargo check --quiet --manifest-path $crate --features short 2>&1); then
    die "an arena that is too small builds"
fi
grep -F "the arena has 2559 bytes, but the plan takes 2560" <<<"$text" ||
    { say "$text"; die "the message doesn't name both sizes"; }
