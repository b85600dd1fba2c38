#!/usr/bin/env bash
# The table of backends is complete however it is linked: archive for a C program, shared library, link-time
# optimisation, one or many codegen units. The core links with all of its features at once.
. "$(dirname "$0")/lib.sh"
host_rust
run cargo test --release -p dinrail --test linking -- --ignored
# With `defmt` and without a logger.
run cargo test -p dinrail-core --all-features --lib --quiet
