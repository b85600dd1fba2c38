#!/usr/bin/env bash
# The program linked statically, with glibc and with musl: it can't load libraries and says so before it tries, and its
# compiled-in backends work. Linked with musl as a shared library, it loads plug-ins as any other program does; what is
# different there is that an unloaded library stays in memory.
. "$(dirname "$0")/lib.sh"
host_rust
have python3 || apt_need python3

# Debugging builds: what is tested here is how the program was linked.
export CARGO_PROFILE_DEV_OPT_LEVEL=0 CARGO_PROFILE_DEV_DEBUG=0
MODEL=examples/models/stories260K-Q8_0.gguf
STORY=", there was a little girl named Lily. She"
WORDS="dynamic loading is not available in this build"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# $1: the program.
check() {
    local out
    ldd "$1" >/dev/null 2>&1 && ! ldd "$1" 2>&1 | grep -q 'statically linked' && die "$1 is not static"
    # A file that could not be loaded anyway: the answer is the same, since nothing is opened.
    printf 'no library\n' >"$dir/libggml-gpu.so"
    for args in "load $dir/libggml-gpu.so" "load /nonexistent"; do
        # shellcheck disable=SC2086
        if "$1" $args --json >"$dir/report" 2>"$dir/errors"; then die "$args: it was loaded"; fi
        grep -q "$WORDS" "$dir/errors" || die "$args: $(cat "$dir/errors")"
        python3 -c "import json,sys; r = json.load(open('$dir/report')); assert '$WORDS' in r['warnings'][0] and not r['candidates'], r"
    done
    GGML_BACKEND_PATH=$dir "$1" devices --load --json >"$dir/report"
    python3 -c "
import json
r = json.load(open('$dir/report'))
assert '$WORDS' in r['load']['warnings'][0] and not r['load']['candidates'], r
assert {'CPU', 'Reference'} <= {d['device'] for d in r['devices']}, r"
    # More threads than one: they must work in a static program, too.
    for threads in 1 2; do
        out=$("$1" run -m $MODEL --temp 0 -n 12 -t $threads -q)
        [ "$out" = "$STORY" ] || die "another story: $out"
    done
    say "passed: $1"
}

say "glibc"
TRIPLE=$(rustc -vV | sed -n 's/^host: //p')
(
    export CARGO_TARGET_DIR=$TARGET-static RUSTFLAGS="-C target-feature=+crt-static"
    run cargo build -p dinrail-cli --target "$TRIPLE"
)
check "$TARGET-static/$TRIPLE/debug/dinrail"

say "musl"
[ "$(uname -m)" = x86_64 ] || { say "skipped: no musl recipe for $(uname -m)"; exit 0; }
foreign_rust
apt_need musl-tools
MUSL=x86_64-unknown-linux-musl
lib=$TARGET-musl/lib
mkdir -p "$lib"
# What Rust's standard library unwinds with: GCC's, but for a function that only glibc has, without which it asks
# `dl_iterate_phdr`.
if [ ! -f "$lib/libunwind.a" ]; then
    cp "$(gcc -print-file-name=libgcc_eh.a)" "$lib/unwind.a"
    printf 'int _dl_find_object(void *a, void *r) { (void)a, (void)r; return -1; }\n' >"$lib/find.c"
    musl-gcc -O1 -c "$lib/find.c" -o "$lib/find.o"
    ar r "$lib/unwind.a" "$lib/find.o"
    mv "$lib/unwind.a" "$lib/libunwind.a"
fi
# Debian's musl-gcc doesn't know of static programs that can lie anywhere.
real=$(command -v musl-gcc)
mkdir -p "$lib/bin"
cat >"$lib/bin/musl-gcc" <<SH
#!/bin/sh
for a; do shift; case \$a in -static-pie | -pie) ;; *) set -- "\$@" "\$a" ;; esac; done
exec $real -static -no-pie "\$@"
SH
chmod +x "$lib/bin/musl-gcc"
(
    export CARGO_TARGET_DIR=$TARGET-musl
    export RUSTFLAGS="-C target-feature=+crt-static -C link-self-contained=no -C linker=$lib/bin/musl-gcc -L native=$lib"
    foreign cargo build -Z build-std=std,panic_unwind -p dinrail-cli --target $MUSL
)
check "$TARGET-musl/$MUSL/debug/dinrail"

say "musl, shared"
# Programs that aren't static ask for the unwinder by another name.
mkdir -p "$lib/shared"
cp "$lib/libunwind.a" "$lib/shared/libgcc_s.a"
(
    export CARGO_TARGET_DIR=$TARGET-musl-shared CC=musl-gcc
    export RUSTFLAGS="-C target-feature=-crt-static -C link-self-contained=no -C linker=$real -L native=$lib/shared"
    export CARGO_PROFILE_TEST_OPT_LEVEL=0 CARGO_PROFILE_TEST_DEBUG=0
    # With `test` in both commands, so that the second finds what the first has built.
    these=(-Z build-std=std,panic_unwind,test --target $MUSL -p dinrail-cli -p example-plugin -p dinrail-loader-tests)
    foreign cargo build "${these[@]}"
    dir=$CARGO_TARGET_DIR/$MUSL/debug
    readelf -lW "$dir/dinrail" | grep -q 'interpreter: .*ld-musl' || die "not linked with musl's shared library"
    # dinrail's own plug-in, which takes the compiled-in backend's place since it is named, and computes.
    run "$dir/dinrail" load "$dir/libexample_plugin.so"
    out=$("$dir/dinrail" run -m $MODEL --temp 0 -n 12 -q --load "$dir/libexample_plugin.so" --device Reference)
    [ "$out" = "$STORY" ] || die "another story: $out"
    # Plug-ins in C: loaded, listed, unloaded, loaded again when the file has changed, a thousand times.
    foreign cargo test "${these[@]}" --test table
)
