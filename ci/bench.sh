#!/usr/bin/env bash
# Tokens per second of `dinrail bench` next to llama.cpp's llama-bench, on the same files.
#
#   ci/bench.sh [-m FILE]… [-p N] [-n N] [-t THREADS] [-r REPS] [-k ROUNDS] [-l]
#
# The two programs take turns, ROUNDS times, so that a machine that slows down slows both. The table
# gives each side's median over the rounds, its spread (largest minus smallest, in % of the median),
# and the ratio of the medians. Without -m: the model in examples/models, and ci/models.sh's where it
# has been fetched. -l lets dinrail compute with the peer's own CPU library, so that what is compared is
# what each adds to it. ci/peers.sh builds llama-bench; a side that isn't built is left out, and said so.
. "$(dirname "$0")/lib.sh"

models=() prompt=128 gen=64 threads=1 reps=3 rounds=3 foreign=
while getopts m:p:n:t:r:k:l flag; do
    case $flag in
        m) models+=("$OPTARG") ;;
        p) prompt=$OPTARG ;;
        n) gen=$OPTARG ;;
        t) threads=$OPTARG ;;
        r) reps=$OPTARG ;;
        k) rounds=$OPTARG ;;
        l) foreign=1 ;;
        *) die "see the first lines of ci/bench.sh" ;;
    esac
done
if [ ${#models[@]} -eq 0 ]; then
    models=(examples/models/stories260K-Q8_0.gguf)
    for file in "$CACHE"/models/*.gguf; do [ -f "$file" ] && models+=("$file"); done
fi

OURS=${DINRAIL_BIN:-$TARGET/release/dinrail}
PEER=$(bash ci/peers.sh --where || true)/llama-bench
if [ ! -x "$OURS" ]; then say "dinrail: skipped: not built (cargo build --release)"; OURS=; fi
if [ ! -x "$PEER" ]; then say "llama.cpp: skipped: not built (ci/peers.sh)"; PEER=; fi
[ -n "$OURS$PEER" ] || exit "$SKIPPED"

load=()
if [ -n "$foreign" ]; then
    [ -n "$PEER" ] || exit "$SKIPPED"
    load=(--load "$(dirname "$PEER")/libggml-cpu.so" --device CPU)
fi
have python3 || apt_need python3
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
args=(-p "$prompt" -n "$gen" -t "$threads" -r "$reps")
for i in "${!models[@]}"; do
    file=${models[$i]}
    [ -f "$file" ] || die "no such model: $file"
    for round in $(seq "$rounds"); do
        if [ -n "$OURS" ]; then
            "$OURS" bench -m "$file" "${args[@]}" ${load[@]+"${load[@]}"} --json 2>"$out/log" >"$out/$i.$round.ours" ||
                { cat "$out/log" >&2; die "dinrail bench failed on $file"; }
        fi
        if [ -n "$PEER" ]; then
            "$PEER" -m "$file" "${args[@]}" -o json >"$out/$i.$round.peer" 2>"$out/log" ||
                { cat "$out/log" >&2; die "llama-bench failed on $file"; }
        fi
    done
done

say "threads $threads, repetitions $reps, rounds $rounds; tokens per second"
python3 - "$out" "${models[@]}" <<'PYTHON'
import json, pathlib, statistics, sys

folder, models = pathlib.Path(sys.argv[1]), sys.argv[2:]


def name(row):
    """dinrail names its test; llama-bench gives the two lengths, one of them zero."""
    if "test" in row:
        return row["test"]
    return f"pp{row['n_prompt']}" if row["n_prompt"] else f"tg{row['n_gen']}"


def side(index, which):
    """Test -> the averages of all rounds."""
    found = {}
    for path in sorted(folder.glob(f"{index}.*.{which}")):
        for row in json.loads(path.read_text()):
            found.setdefault(name(row), []).append(row["avg_ts"])
    return found


def cell(values):
    if not values:
        return f"{'-':>18}"
    middle = statistics.median(values)
    spread = 100 * (max(values) - min(values)) / middle if middle else 0
    return f"{middle:10.1f} ({spread:4.1f}%)"


print(f"{'model':32} {'test':>7} {'dinrail':>18} {'llama.cpp':>18} {'ratio':>6}")
for index, model in enumerate(models):
    ours, peer = side(index, "ours"), side(index, "peer")
    for test in dict.fromkeys([*ours, *peer]):
        a, b = ours.get(test), peer.get(test)
        ratio = f"{statistics.median(a) / statistics.median(b):6.2f}" if a and b else f"{'-':>6}"
        print(f"{pathlib.Path(model).stem:32} {test:>7} {cell(a)} {cell(b)} {ratio}")
PYTHON
