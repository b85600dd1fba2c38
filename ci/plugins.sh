#!/usr/bin/env bash
# The CPU backend as plug-ins of ggml's, one library for each instruction level, and who loads them.
#
#   ci/plugins.sh             build, check the libraries, load them with dinrail and llama.cpp, some of ggml's tests
#   ci/plugins.sh --build     build only; prints the folder
#   ci/plugins.sh --no-build  with what was built before
#   ci/plugins.sh --all       with every one of ggml's tests (test-backend-ops)
#   ci/plugins.sh --table     writes docs/ggml-cases.md, the cases of ggml's tests that are supported
#
# The libraries lie in the folder `plugins` of the target folder, under the names that loaders look for.
. "$(dirname "$0")/lib.sh"

MODE=${1:-}
OUT=$TARGET/plugins
case $(uname -m) in
    x86_64) levels=(baseline avx2) ;;
    aarch64) levels=(neon dotprod) ;;
    *) levels=(baseline) ;;
esac

build() {
    host_rust
    mkdir -p "$OUT"
    local level
    for level in "${levels[@]}"; do
        run cargo build -q --release -p dinrail-plugin-cpu \
            --features "$([ "$level" = baseline ] || echo "$level")"
        # By a rename, so that a program that has the old one open keeps it.
        cp "$TARGET/release/libdinrail_plugin_cpu.so" "$OUT/.new"
        mv "$OUT/.new" "$OUT/libdinrail-cpu-$level.so"
    done
}

[ "$MODE" = --no-build ] || build
if [ "$MODE" = --build ]; then say "$OUT"; exit 0; fi
[ "$MODE" = --no-build ] || run cargo build -q --release -p dinrail-cli -p example-plugin -p dinrail-plugin-vulkan
DINRAIL=$TARGET/release/dinrail
PLUGIN=$OUT/libdinrail-cpu-${levels[-1]}.so
MODEL=$ROOT/examples/models/stories260K-Q8_0.gguf
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

say "initialisers"
run python3 ci/plugins.py initialisers "$OUT"/*.so
have nm || apt_need binutils
undefined=$(nm -D --undefined-only "$OUT"/*.so | awk '{ print $2 }' | grep -i ggml || true)
[ -z "$undefined" ] || die "a plug-in needs symbols of ggml's: $undefined"

# dinrail itself: takes the best, and tells the story that the compiled-in backend tells.
say "dinrail loads them"
"$DINRAIL" devices --load "$OUT" | sed 's/^/  /'
story=(run -m "$MODEL" -p "Once upon a time" -n 64 --temp 0)
"$DINRAIL" "${story[@]}" -t 1 >"$tmp/ours"
"$DINRAIL" "${story[@]}" -t 1 --load "$PLUGIN" --device CPU >"$tmp/theirs"
cmp "$tmp/ours" "$tmp/theirs" || die "the story through the plug-in is another one"

# Old processors, and one that has AVX2 under a system that does not save its registers: what they can't run says so
# before anything of it is executed, and the rest works.
if [ "$(uname -m)" = x86_64 ]; then
    have qemu-x86_64 || apt_need qemu-user
    for cpu in Nehalem SandyBridge max,-xsave; do
        old=(qemu-x86_64 -cpu "$cpu" "$DINRAIL")
        "${old[@]}" load "$OUT/libdinrail-cpu-avx2.so" >"$tmp/out" 2>&1 && die "$cpu took the avx2 library"
        grep -q 'score is 0' "$tmp/out" || { cat "$tmp/out" >&2; die "$cpu: not refused by its score"; }
        run "${old[@]}" load "$OUT/libdinrail-cpu-baseline.so"
    done
fi

# llama.cpp, unmodified. Its build takes some minutes, once.
if [ -n "${DINRAIL_NO_PEERS:-}" ]; then
    say "skipped: llama.cpp's part (DINRAIL_NO_PEERS is set)"
    exit 0
fi
run bash ci/peers.sh >/dev/null
BIN=$(bash ci/peers.sh --where)
export DINRAIL_GGML_KIND=

complete() { # model, tokens, program, more: the text alone
    "$3" -m "$1" -p "Once upon a time" -n "$2" --temp 0 -no-cnv -t 1 -fa off "${@:4}" 2>"$tmp/log" ||
        { tail -20 "$tmp/log" >&2; die "$3 failed on $1"; }
}
agree() { # file with a text, file with ggml's, what it is
    python3 - "$tmp/$1" "$tmp/$2" "$3" <<'PYTHON'
import os, pathlib, sys

got, want = (pathlib.Path(file).read_text().rstrip() for file in sys.argv[1:3])
# The program drops what it has not written yet when it ends, so any of them may stop early.
most = min(len(got), len(want))
equal = len(os.path.commonprefix([got, want]))
print(f"  {sys.argv[3]}: {equal} of {most} characters as ggml's CPU writes them")
# A greedy choice may fall the other way where two tokens are nearly as likely, but not at once.
assert most >= 60 and (equal == most or equal >= 100), f"{got!r}\nnot\n{want!r}"
PYTHON
}
same() { # model, tokens
    [ -f "$1" ] || { say "skipped: no $1 (ci/models.sh fetches it)"; return 0; }
    complete "$1" "$2" "$BIN/llama-completion" >"$tmp/ggml"
    GGML_BACKEND_PATH=$PLUGIN complete "$1" "$2" "$BIN/llama-completion" >"$tmp/beside"
    LD_LIBRARY_PATH=$BIN complete "$1" "$2" "$tmp/alone/llama-completion" >"$tmp/alone.txt"
    agree beside ggml "$(basename "$1"), beside ggml's CPU"
    agree alone.txt ggml "$(basename "$1"), instead of ggml's CPU"
}

say "llama.cpp loads $(basename "$PLUGIN")"
GGML_BACKEND_PATH=$PLUGIN "$BIN/llama-completion" --list-devices 2>&1 | tee "$tmp/out" | grep -a DINRAIL ||
    { cat "$tmp/out" >&2; die "llama.cpp does not list the device"; }
GGML_BACKEND_PATH=$TARGET/release/libexample_plugin.so "$BIN/llama-completion" --list-devices 2>&1 | grep -a DINRAIL-Reference

# The Vulkan backend on a device in software: llama.cpp queues its transfers, and waits for them by events.
vulkan() {
    local icd plugin=$TARGET/release/libdinrail_plugin_vulkan.so model=$ROOT/examples/models/stories260K-f32.gguf
    for icd in /usr/share/vulkan/icd.d/lvp_icd*.json; do
        [ -f "$icd" ] || { say "skipped: no Vulkan device (mesa-vulkan-drivers)"; return 0; }
        export VK_DRIVER_FILES=$icd VK_ICD_FILENAMES=$icd
    done
    complete "$model" 64 "$BIN/llama-completion" >"$tmp/cpu"
    GGML_BACKEND_PATH=$plugin DINRAIL_GGML_KIND=gpu complete "$model" 64 "$BIN/llama-completion" -ngl 99 -v \
        --device DINRAIL-Vulkan0 >"$tmp/vulkan"
    grep -a 'using device\|layers to GPU\|DINRAIL-Vulkan0 compute buffer' "$tmp/log" | sort -u -k 3 | sed 's/^/  /'
    grep -a -q 'DINRAIL-Vulkan0 compute buffer' "$tmp/log" || die "llama.cpp did not compute on DINRAIL-Vulkan0"
    agree vulkan cpu "$(basename "$model"), on DINRAIL-Vulkan0"
}
[ "$(id -u)" != 0 ] || apt_need libvulkan1 mesa-vulkan-drivers
say "llama.cpp loads libdinrail_plugin_vulkan.so"
(vulkan)

# A folder in which these libraries are the only CPU backends, under the names that llama.cpp looks for.
mkdir "$tmp/alone"
cp "$BIN"/llama-completion "$BIN"/test-backend-ops "$tmp/alone"
for level in "${levels[@]}"; do cp "$OUT/libdinrail-cpu-$level.so" "$tmp/alone/libggml-cpu-$level.so"; done
cd "$tmp/alone"
same "$MODEL" 64
same "$ROOT/examples/models/stories260K-Q4_0.gguf" 64
same "$ROOT/examples/models/stories260K-f32.gguf" 64
same "$CACHE/models/SmolLM2-135M-Instruct.Q4_1.gguf" 48
if [ "$(uname -m)" = x86_64 ]; then
    for cpu in Nehalem SandyBridge; do
        LD_LIBRARY_PATH=$BIN qemu-x86_64 -cpu "$cpu" ./test-backend-ops test -b none 2>&1 | grep -a 'loaded .*backend' |
            tee "$tmp/out"
        grep -q 'libggml-cpu-baseline.so' "$tmp/out" || die "llama.cpp on $cpu did not take the baseline library"
        LD_LIBRARY_PATH=$BIN qemu-x86_64 -cpu "$cpu" ./llama-completion -m "$MODEL" -p "Once upon a time" \
            -n 8 --temp 0 -no-cnv -t 1 >"$tmp/out" 2>"$tmp/log" || { tail -5 "$tmp/log" >&2; die "llama.cpp on $cpu"; }
        grep -a -q 'there was a' "$tmp/out" || { cat "$tmp/out" >&2; die "llama.cpp on $cpu tells another story"; }
    done
fi
cd "$ROOT"

# ggml's own judgement.
export GGML_BACKEND_PATH=$PLUGIN
"$BIN/test-backend-ops" support -b DINRAIL-CPU --output csv >"$tmp/support.csv" 2>/dev/null
python3 ci/plugins.py support "$tmp/support.csv" "$MODE"
[ "$MODE" = --table ] && exit 0
judge() {
    "$BIN/test-backend-ops" test -b DINRAIL-CPU "$@" >"$tmp/out" 2>&1 ||
        { grep -a -B1 FAIL "$tmp/out" | head -40 >&2; tail -3 "$tmp/out" >&2; die "test-backend-ops $*"; }
    say "  $(grep -a 'tests passed' "$tmp/out" | tail -1 | sed 's/^ *//'): test-backend-ops test -b DINRAIL-CPU $*"
}
if [ "$MODE" = --all ]; then
    judge
else
    judge -o ADD,ADD1,CONT,DUP,CPY,GET_ROWS,SET_ROWS,SET,ACC,CONCAT,REPEAT,SCALE,CLAMP
    judge -o MUL_MAT,SOFT_MAX,RMS_NORM,NORM,L2_NORM,GROUP_NORM,SWIGLU,GEGLU,SWIGLU_OAI,SILU,GELU,XIELU
    judge -o SUM,SUM_ROWS,MEAN,ARGMAX,ARGSORT,DIAG_MASK_INF,ARANGE
    judge -o ROPE -p 'ne_a=\[128,32,2,1\]'
    judge -o FLASH_ATTN_EXT -p 'hsk=64,hsv=64,.*kv=113,'
    judge -o FLASH_ATTN_EXT -p 'hsk=(40|72|80|96|128|192|256|320|512|576),.*kv=113,nb=(1|3),'
fi
