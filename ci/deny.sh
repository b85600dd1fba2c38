#!/usr/bin/env bash
# Licences, banned crates and sources of every dependency (deny.toml). Advisories are left out: they
# need a database from the network, and a new one would fail an old commit.
. "$(dirname "$0")/lib.sh"
host_rust
PATH=$CACHE/tools/bin:$PATH
if ! have cargo-deny; then
    run cargo install cargo-deny --locked --quiet --root "$CACHE/tools"
fi
run cargo deny --workspace check licenses bans sources
