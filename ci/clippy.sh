#!/usr/bin/env bash
# Clippy over everything that builds on this host: libraries, programs, tests, examples, benches.
. "$(dirname "$0")/lib.sh"
host_rust clippy
run cargo clippy --all-targets -- -D warnings
