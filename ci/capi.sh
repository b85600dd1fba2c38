#!/usr/bin/env bash
# dinrail for C: the header is what the source says; the libraries export its names and no others; programs in C and C++
# build without a warning and compute what the reference says; mistakes of a caller are errors, under the sanitizers and
# valgrind; two libraries, and ggml, fit into one program; without an operating system it needs four functions.
. "$(dirname "$0")/lib.sh"
host_rust
apt_need gcc g++ libc6-dev binutils make cmake pkg-config valgrind python3
[ "$(uname -sm)" = "Linux x86_64" ] || skip "checks the libraries as Linux on x86-64 has them"

# The backend that is compiled in; "reference" builds far quicker and computes the same.
BACKEND=${DINRAIL_CAPI_BACKEND:-cpu}
OUT=$TARGET/capi
EXAMPLES=$ROOT/examples/embed-c MODELS=$ROOT/examples/models
HEADER=$ROOT/platform/capi/include
STRICT="-Wall -Wextra -Wpedantic -Werror -g -I$HEADER"
rm -rf "$OUT"
mkdir -p "$OUT"
export CARGO_TERM_COLOR=never
install() { run sh platform/capi/install.sh --features "$BACKEND" "$@"; }
step() { say; say "-- $*"; }
# Names in a library or object: `symbols FILE AWK-CONDITION` ($5 binding, $7 section, $8 name).
symbols() { readelf -sW "$1" | awk "\$1 ~ /^[0-9]+:$/ && \$5 != \"LOCAL\" && $2 { print \$8 }" | sort -u; }
same() { diff "$1" "$2" >"$OUT/diff" || { head -20 "$OUT/diff"; die "$3"; }; }

step "header and source agree"
run cargo test --release -p dinrail-capi --no-default-features --features "std,$BACKEND"
for std in c99 c11 c17; do run gcc -std=$std $STRICT -x c -fsyntax-only "$HEADER/dinrail.h"; done
for std in c++11 c++17 c++20; do run g++ -std=$std $STRICT -x c++ -fsyntax-only "$HEADER/dinrail.h"; done

step "install; names"
install --prefix "$OUT/std"
sed -n 's/^#define dinrail_\([a-z_0-9]*\) DINRAIL_SYMBOL.*/dinrail0_\1/p' "$HEADER/dinrail.h" | sort >"$OUT/names"
[ "$(wc -l <"$OUT/names")" -gt 100 ] || die "the header has no names"
symbols "$OUT/std/lib/libdinrail.a" '$7 != "UND"' >"$OUT/names-static"
same "$OUT/names" "$OUT/names-static" "the static library's names are not the header's"
readelf --dyn-syms -W "$OUT/std/lib/libdinrail.so" |
    awk '$1 ~ /^[0-9]+:$/ && $5 != "LOCAL" && $7 != "UND" { print $8 }' | sort -u >"$OUT/names-shared"
same "$OUT/names" "$OUT/names-shared" "the shared library's names are not the header's"
readelf -d "$OUT/std/lib/libdinrail.so" | grep -q 'SONAME.*libdinrail\.so\.0\]' || die "the shared library has no name of its own"
say "$(wc -l <"$OUT/names") names, all with the prefix, in header, static and shared library"

step "examples with make, against the reference"
cat >"$OUT/compare.py" <<'PY'
import json, re, sys
want = json.load(open(sys.argv[1]))
text = sys.stdin.read()
mse = [float(x) for x in re.findall(r"window \d+: (\S+)", text)]
first = [float(x) for x in re.search(r"output(.*)", text).group(1).split()]
assert len(mse) == len(want["window_mse"]), (len(mse), text)
for a, b in zip(mse, want["window_mse"]):
    assert abs(a / b - 1) < 5e-5, (a, b)
for a, b in zip(first, want["first_window_output"]):
    assert abs(a - b) < 5e-3, (a, b)
print(len(mse), "windows as the reference says")
PY
for how in "" SHARED=1 "CFLAGS=-O2 -flto" CC=clang; do
    if [ "$how" = CC=clang ] && ! have clang; then continue; fi
    dir=$OUT/make-$(printf '%s' "$how" | tr -c 'a-zA-Z0-9\n' -)
    run make -s -C "$EXAMPLES" PREFIX="$OUT/std" OUT="$dir" ${how:+"$how"}
    "$dir/small"
    "$dir/classes"
    "$dir/stepwise" "$MODELS/ad01-Q8_0.gguf" "$MODELS/ad01-normal-40frames.bin"
    "$dir/ad01" "$MODELS/ad01-f32.gguf" "$MODELS/ad01-normal-40frames.bin" |
        python3 "$OUT/compare.py" "$MODELS/reference/ad01.json"
done

step "examples with CMake"
run cmake -S "$EXAMPLES" -B "$OUT/cmake" -DCMAKE_PREFIX_PATH="$OUT/std" >"$OUT/cmake.log" || { cat "$OUT/cmake.log"; die "cmake"; }
run cmake --build "$OUT/cmake" >"$OUT/cmake.log" 2>&1 || { cat "$OUT/cmake.log"; die "cmake --build"; }
run ctest --test-dir "$OUT/cmake" --output-on-failure

step "every function, used badly too"
for how in "-fsanitize=address,undefined -fno-sanitize-recover=all" "-O2 -flto -Wl,--gc-sections"; do
    # shellcheck disable=SC2086 # Many words.
    run gcc -std=c11 $STRICT $how platform/capi/tests/api.c "$OUT/std/lib/libdinrail.a" -lm -o "$OUT/api"
    run "$OUT/api" "$MODELS/ad01-f32.gguf" "$BACKEND"
done
run valgrind -q --error-exitcode=9 --leak-check=full --errors-for-leak-kinds=definite "$OUT/api" "$MODELS/ad01-Q8_0.gguf" "$BACKEND"
run gcc -std=c11 $STRICT platform/capi/tests/api.c -L"$OUT/std/lib" -ldinrail -Wl,-rpath,"$OUT/std/lib" -o "$OUT/api"
run "$OUT/api" "$MODELS/ad01-f32.gguf" "$BACKEND"

step "two libraries in one program"
for one in first second; do
    install --prefix "$OUT/pair" --name $one --c-prefix ${one}_
    run gcc -std=c11 -O2 -DPART=$one $(PKG_CONFIG_PATH=$OUT/pair/lib/pkgconfig pkg-config --cflags $one) \
        -Wall -Wextra -Wpedantic -Werror -c "$EXAMPLES/twice.c" -o "$OUT/$one.o"
done
run gcc "$OUT/first.o" "$OUT/second.o" "$EXAMPLES/twice.c" "$OUT/pair/lib/libfirst.a" "$OUT/pair/lib/libsecond.a" \
    -lm -o "$OUT/twice"
run "$OUT/twice"
run gcc "$OUT/first.o" "$OUT/second.o" "$EXAMPLES/twice.c" -L"$OUT/pair/lib" -lfirst -lsecond -Wl,-rpath,"$OUT/pair/lib" \
    -o "$OUT/twice"
run "$OUT/twice"
# Cargo refuses what would be two native copies in one Rust program.
mkdir -p "$OUT/links/src"
cat >"$OUT/links/Cargo.toml" <<TOML
[package]
name = "another"
version = "0.0.0"
edition = "2024"
links = "dinrail_c"
[dependencies]
dinrail-capi = { path = "$ROOT/platform/capi" }
[workspace]
TOML
touch "$OUT/links/src/lib.rs"
echo 'fn main() {}' >"$OUT/links/build.rs"
cp Cargo.lock "$OUT/links/"
if cargo metadata --offline --format-version 1 --manifest-path "$OUT/links/Cargo.toml" >/dev/null 2>"$OUT/links.log"; then
    die "Cargo takes two packages that link dinrail_c"
fi
grep -q 'dinrail_c' "$OUT/links.log" || { cat "$OUT/links.log"; die "Cargo failed for another reason"; }
say "Cargo refuses a second native copy"

step "beside ggml"
GGML=$CACHE/ggml/cpu-v2
if [ -f "$GGML/libggml-base.so" ]; then
    for how in "" SHARED=1; do
        dir=$OUT/ggml${how%=1}
        run make -s -C "$EXAMPLES" PREFIX="$OUT/std" OUT="$dir" GGML="$GGML" ${how:+"$how"} "$dir/beside-ggml"
        run "$dir/beside-ggml"
    done
else
    say "skipped: no ggml in $GGML (ci/ggml-packages.sh fetches it)"
fi

step "plug-ins"
install --features "$BACKEND,dynamic" --prefix "$OUT/dynamic"
# shellcheck disable=SC2086 # Many words.
run gcc -std=c11 $STRICT platform/capi/tests/api.c "$OUT/dynamic/lib/libdinrail.a" -lm -o "$OUT/api"
LIBRARY=$GGML/libggml-cpu-x64.so
[ -f "$LIBRARY" ] || LIBRARY=''
run "$OUT/api" "$MODELS/ad01-f32.gguf" "$BACKEND" ${LIBRARY:+"$LIBRARY"}

step "without an operating system, x86-64"
# Names that a library without an operating system may ask for.
check_bare() { # prefix, tools, allowed names
    "${2}readelf" -sW "$1/lib/libdinrail.a" | awk '$1 ~ /^[0-9]+:$/ && $5 != "LOCAL" { print $7, $8 }' | sort -u >"$OUT/bare"
    local asked
    asked=$(awk '$1 == "UND" && $2 != "" { print $2 }' "$OUT/bare" | grep -vxE "$3" || true)
    [ -z "$asked" ] || die "the library asks for: $asked"
    awk '$1 != "UND" { print $2 }' "$OUT/bare" | grep -v '^dinrail0_' && die "names without the prefix"
    say "asks for: $(awk '$1 == "UND" && $2 != "" { print $2 }' "$OUT/bare" | tr '\n' ' ')"
}
# The program calls nothing that makes text of an error, so none of the code for that may be in it.
no_formatting() {
    readelf -sW "$1" | grep -E '4core3fmt' | head -5 >"$OUT/fmt" || true
    [ ! -s "$OUT/fmt" ] || { cat "$OUT/fmt"; die "code for formatting in $1"; }
    say "no formatting in it"
}
install --prefix "$OUT/bare-x86_64" --no-std
check_bare "$OUT/bare-x86_64" "" 'mem(cpy|move|set|cmp)'
run make -s -C "$EXAMPLES/bare" PREFIX="$OUT/bare-x86_64" OUT="$OUT/bare-x86_64" MODEL=../../models/ad01-f32.gguf x86_64
run "$OUT/bare-x86_64/bare-x86_64"
run size "$OUT/bare-x86_64/bare-x86_64"
no_formatting "$OUT/bare-x86_64/bare-x86_64"

step "without an operating system, Cortex-M4F"
foreign_rust
apt_need gcc-arm-none-eabi binutils-arm-none-eabi qemu-system-arm
PATH=/usr/bin:$PATH RUSTC_BOOTSTRAP=1 CARGO_TARGET_DIR=$TARGET-bare CARGO="cargo -Z build-std=core" BINUTILS=arm-none-eabi- \
    install --prefix "$OUT/bare-arm" --no-std --target thumbv7em-none-eabihf
# Doubles and 64-bit division come from the compiler's own library, on which every C program is linked.
check_bare "$OUT/bare-arm" arm-none-eabi- 'mem(cpy|move|set|cmp)|__aeabi_mem(cpy|move|set|clr)[48]?|__aeabi_[a-z0-9_]+'
run make -s -C "$EXAMPLES/bare" PREFIX="$OUT/bare-arm" OUT="$OUT/bare-arm" cortex-m
run arm-none-eabi-size "$OUT/bare-arm/bare-cortex-m"
no_formatting "$OUT/bare-arm/bare-cortex-m"
run timeout 60 qemu-system-arm -M mps2-an386 -nographic -semihosting-config enable=on,target=native \
    -kernel "$OUT/bare-arm/bare-cortex-m"
say "the detector in C on a Cortex-M4F says what the reference says"
