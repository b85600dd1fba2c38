#!/usr/bin/env bash
# The tests, with the very command that README.md gives.
. "$(dirname "$0")/lib.sh"
host_rust
COMMAND="cargo test --release"
if [ -f README.md ]; then
    grep -qF "$COMMAND" README.md || die "README.md does not give the command that is tested here: $COMMAND"
fi
run $COMMAND
