#!/usr/bin/env bash
# Documentation builds, and each link in it leads somewhere.
. "$(dirname "$0")/lib.sh"
host_rust
export RUSTDOCFLAGS="-D warnings"
run cargo doc --no-deps
