#!/usr/bin/env bash
# Formatting of the workspace and of the packages that are workspaces of their own.
. "$(dirname "$0")/lib.sh"
host_rust fmt
run cargo fmt --all --check
for manifest in examples/*/Cargo.toml tests/fuzz/Cargo.toml; do
    [ -f "$manifest" ] && grep -q '^\[workspace\]' "$manifest" || continue
    run cargo fmt --manifest-path "$manifest" --check
done
