#!/usr/bin/env bash
# What is for bare metal builds where there is neither an operating system nor a heap, for every kind of target. Only `core`
# is built for it: a crate that asks for `alloc` or `std` does not compile here. The result is docs/targets.md;
# `bash ci/no-std.sh --write` writes that file.
. "$(dirname "$0")/lib.sh"

TARGETS="
thumbv6m-none-eabi
thumbv7m-none-eabi
thumbv7em-none-eabi
thumbv7em-none-eabihf
thumbv8m.main-none-eabihf
aarch64-unknown-none
riscv32imc-unknown-none-elf
riscv32imac-unknown-none-elf
riscv64gc-unknown-none-elf
wasm32-unknown-unknown
x86_64-unknown-none
"
# Levels of the CPU backend, and the targets that they are for; everywhere else they are no-ops.
levels() {
    case $1 in
        aarch64-*) say neon dotprod ;;
        thumbv8m.main-*) say helium ;;
        x86_64-*) say avx2 ;;
    esac
}
ALL_LEVELS=$(for t in $TARGETS; do levels "$t"; done | tr ' ' '\n' | sort -u)

for level in $(features platform/rail | sed -n 's/^cpu-//p'); do
    grep -qx "$level" <<<"$ALL_LEVELS" || die "cpu-$level: ci/no-std.sh doesn't say which targets it is for"
done
# Every subset of the core's features, each on a line, joined by commas.
powerset() {
    local sets=("") f s
    for f in "$@"; do for s in "${sets[@]}"; do sets+=("${s:+$s,}$f"); done; done
    printf '%s\n' "${sets[@]}"
}
CORE=$(powerset $(features core | grep -vx default))

foreign_rust
export RUSTFLAGS="-D warnings" CARGO_PROFILE_DEV_OPT_LEVEL=0 CARGO_PROFILE_DEV_DEBUG=0 CARGO_INCREMENTAL=0
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

# try TARGET PACKAGE FEATURES: in the folder of this lane. The images of ci/firmware.sh go on to machine code.
try() {
    foreign cargo check --quiet --lib -Z build-std=core --target "$1" --target-dir "$TARGET-bare-$lane" -j 1 \
        -p "$2" --no-default-features ${3:+--features "$3"} || say "$2 with features '$3' for $1" >>"$out/bad"
}
build() {
    local target=$1 set level done=scalar
    while read -r set; do try "$target" dinrail-core "$set"; done <<<"$CORE"
    try "$target" dinrail ""
    try "$target" dinrail cpu,gguf,null,reference,defmt
    for level in $(levels "$target"); do
        try "$target" dinrail "cpu-$level"
        done+=", $level"
    done
    printf '| `%s` | ok | ok | ok | %s |\n' "$target" "$done" >"$out/row-$target"
}
# Two lanes, for the compiler works on one crate at a time here.
touch "$out/bad"
for lane in 0 1; do
    (
        i=0
        for target in $TARGETS; do
            [ $((i++ % 2)) = $lane ] && build "$target"
        done
        # A level of another architecture is a no-op: all at once.
        [ $lane = 0 ] || try thumbv7em-none-eabihf dinrail "$(sed 's/^/cpu-/' <<<"$ALL_LEVELS" | paste -sd,)"
        [ $lane = 1 ] || try thumbv6m-none-eabi dinrail-llm flash
    ) &
done
wait
[ ! -s "$out/bad" ] || { sed 's/^/does not compile: /' "$out/bad"; exit 1; }

cat >"$out/table" <<END
# Targets

What \`ci/no-std.sh\` compiles with nothing but \`core\`; it writes this file. Subsets of the core crate's features:
$(wc -l <<<"$CORE"), that is, all of them.

| target | \`dinrail-core\`, every subset | \`dinrail\` alone | \`cpu\`, \`gguf\`, \`null\`, \`reference\`, \`defmt\` | levels of \`cpu\` |
|---|---|---|---|---|
END
for target in $TARGETS; do cat "$out/row-$target" >>"$out/table"; done
same_table "$out/table" docs/targets.md "${1:-}"
