#!/usr/bin/env bash
# The crates for bare metal build where there is neither an operating system nor a heap. Only
# `core` is built for the target: a crate that asks for `alloc` or `std` does not compile here.
. "$(dirname "$0")/lib.sh"

# target | folder | features (the defaults are off)
MATRIX="
thumbv7em-none-eabihf | core          |
thumbv7em-none-eabihf | backends/cpu  |
thumbv7em-none-eabihf | platform/rail |
thumbv7em-none-eabihf | platform/rail | cpu
thumbv7em-none-eabihf | platform/rail | cpu-neon
aarch64-unknown-none  | core          |
aarch64-unknown-none  | backends/cpu  |
aarch64-unknown-none  | platform/rail | cpu
aarch64-unknown-none  | platform/rail | cpu-neon
"

foreign_rust
export RUSTFLAGS="-D warnings"
ran=0
while IFS='|' read -r target folder features; do
    target=${target// /} folder=${folder// /} features=${features// /}
    [ -n "$target" ] || continue
    name=$(package "$folder") || continue
    foreign cargo build --release --lib -Z build-std=core --target "$target" \
        --target-dir "$TARGET-bare" -p "$name" --no-default-features \
        ${features:+--features "$features"}
    ran=$((ran + 1))
done <<<"$MATRIX"
[ "$ran" -gt 0 ] || skip "none of the packages exists"
say "$ran builds without std and alloc"
