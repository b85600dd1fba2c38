#!/usr/bin/env bash
# The tests, with the very command that README.md gives.
. "$(dirname "$0")/lib.sh"
host_rust
COMMAND="cargo test --release"
if [ -f README.md ]; then
    grep -qF "$COMMAND" README.md || die "README.md does not give the command that is tested here: $COMMAND"
fi
# With the libraries that ggml's makers built, where they can be had: without them some tests say that they were skipped.
bash ci/ggml-packages.sh >/dev/null 2>&1 || say "without ggml's packages: they can't be fetched (npm)"
run $COMMAND
