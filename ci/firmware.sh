#!/usr/bin/env bash
# The firmware examples build and run in QEMU, and what they print is the reference's. What ran is docs/firmware.md;
# `bash ci/firmware.sh --write` writes that file.
. "$(dirname "$0")/firmware-lib.sh"
foreign_rust
apt_need qemu-system-arm qemu-system-misc binutils python3

LIMIT=300
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
HF=thumbv7em-none-eabihf M33=thumbv8m.main-none-eabihf M0=thumbv6m-none-eabi A64=aarch64-unknown-none
RV32=riscv32imac-unknown-none-elf RV64=riscv64gc-unknown-none-elf
flag() { [ "$1" = f32 ] || say "--features $1"; }

# images_of NAME TRIPLE FOLDER PROGRAMS [cargo's arguments]: builds them, and keeps the images as $out/NAME/PROGRAM.
images_of() {
    local name=$1 triple=$2 folder=$3 programs=$4 p bins=()
    shift 4
    for p in $programs; do bins+=(--bin "$p"); done
    firmware "$triple" "$folder" "${bins[@]}" "$@"
    mkdir -p "$out/$name"
    for p in $programs; do cp "$(folder_of "$triple")/$triple/release/$p" "$out/$name/$p"; done
}
one() {
    local model
    for model in f32 q8; do images_of m4-$model $HF $M4 "detector story" $(flag $model); done
    images_of m4 $HF $M4 "cooperative tasks interrupts faults" --features embassy
    images_of m4 $HF $M4 detector-defmt --features defmt
    for model in f32 q8; do
        images_of rv32-$model $RV32 examples/firmware-riscv firmware-riscv $(flag $model)
        images_of rv64-$model $RV64 examples/firmware-riscv firmware-riscv $(flag $model)
    done
}
two() {
    local model
    # Unoptimised, for it prints four lines.
    have defmt-print || CARGO_PROFILE_DEV_DEBUG=0 run cargo install defmt-print --locked --quiet --debug --root "$CACHE/tools"
    for model in f32 q8; do images_of a64-$model $A64 examples/firmware-aarch64 firmware-aarch64 $(flag $model); done
    # No compare-and-swap, no floating point, and every access that isn't aligned is a fault.
    BOARD=nrf51 images_of m0 $M0 $M4 "detector interrupts faults"
    BOARD=an505 images_of m33-q8 $M33 $M4 "detector story" --features q8
    export CARGO_TARGET_THUMBV8M_MAIN_NONE_EABIHF_RUSTFLAGS=$M55_FLAGS
    BOARD=an547 images_of m55-q8 $M33 $M4 "detector story" --features q8,helium
}
PATH=$CACHE/tools/bin:$PATH
in_two_lanes one two

cat >"$out/table" <<'END'
# Firmware: what runs where

Each line was built, run in QEMU and compared with the reference data in `examples/models/reference` by `ci/firmware.sh`,
which writes this file.

| package | program | weights | core | target | in QEMU |
|---|---|---|---|---|---|
END
row() { printf '| `%s` | `%s` | %s | %s | `%s` | %s |\n' "$@" >>"$out/table"; }
# compare PROGRAM MODEL: what is in $out/text with what must be.
compare() { run python3 tests/footprint/expect.py "$1" "$out/text" "$2"; }

# on BOARD IMAGE [options]: what it prints, on a Cortex-M board. Its exit status must be 0.
on() { BOARD=$1 timeout $LIMIT $M4/qemu.sh "$out/$2" "${@:3}" </dev/null; }
# no_panics IMAGE: neither panics nor formatting are linked in, on any core (ci/footprint.sh says who calls them on one).
no_panics() {
    local found
    found=$(readelf -sW "$1" | grep -oE '[^ ]*4core(3fmt|9panicking)[^ ]*' | sort -u || true)
    [ -z "$found" ] || die "$1 has $found"
}
# check PROGRAM MODEL CORE BOARD TRIPLE FOLDER [options]: runs it and compares.
check() {
    local program=$1 model=$2 core=$3 board=$4 triple=$5 folder=$6
    say "-- $program $model on $board"
    case $program in detector | story) no_panics "$out/$folder/$program" ;; esac
    on "$board" "$folder/$program" "${@:7}" >"$out/text"
    compare "$program" "$model"
    row firmware-cortex-m "$program" "$model" "$core" "$triple" "\`BOARD=$board\`"
    # The same bits on every core, except where vectors add in another order.
    if [ "$program" = detector ] && [ "$board" != an547 ]; then
        grep ^mse "$out/text" >"$out/bits"
        [ -f "$out/bits-$model" ] || cp "$out/bits" "$out/bits-$model"
        cmp "$out/bits" "$out/bits-$model" || die "$program $model on $board: other bits than on an386"
    fi
}
for model in f32 q8; do
    # One image for both boards: their maps are the same.
    for board in an386:Cortex-M4F an500:Cortex-M7; do
        check detector $model "${board#*:}" "${board%:*}" $HF m4-$model
        check story $model "${board#*:}" "${board%:*}" $HF m4-$model
    done
done
check cooperative f32 Cortex-M4F an386 $HF m4 -icount shift=0
check tasks f32 Cortex-M4F an386 $HF m4 -icount shift=0
check interrupts - Cortex-M4F an386 $HF m4 -icount shift=0
check faults f32 Cortex-M4F an386 $HF m4
check detector f32 Cortex-M0 nrf51 $M0 m0
check interrupts - Cortex-M0 nrf51 $M0 m0 -icount shift=0
check faults f32 Cortex-M0 nrf51 $M0 m0
check detector q8 Cortex-M33 an505 $M33 m33-q8
check story q8 Cortex-M33 an505 $M33 m33-q8
check detector q8 "Cortex-M55 (Helium)" an547 $M33 m55-q8
check story q8 "Cortex-M55 (Helium)" an547 $M33 m55-q8

say "-- detector-defmt f32 on an386"
on an386 m4/detector-defmt >"$out/defmt"
defmt-print -e "$out/m4/detector-defmt" <"$out/defmt" | tee "$out/text"
compare defmt f32
row firmware-cortex-m detector-defmt f32 Cortex-M4F $HF '`BOARD=an386`'

# virt EMULATOR IMAGE MODEL CORE TRIPLE [options]: the story on a machine `virt`.
virt() {
    local emulator=$1 folder=$2 model=$3 core=$4 triple=$5 program
    program=$(basename "$out/$folder-$model"/*)
    say "-- story $model on $core"
    no_panics "$out/$folder-$model/$program"
    timeout $LIMIT "qemu-system-$emulator" -M virt "${@:6}" -nographic -kernel "$out/$folder-$model/$program" \
        </dev/null >"$out/text"
    compare story "$model"
    row "$program" "$program" "$model" "$core" "$triple" "machine \`virt\`"
}
for model in f32 q8; do
    virt aarch64 a64 $model "Cortex-A53 (NEON)" $A64 -cpu cortex-a53 -nic none \
        -semihosting-config enable=on,target=native
    virt riscv32 rv32 $model riscv32imac $RV32 -bios none
    virt riscv64 rv64 $model riscv64gc $RV64 -bios none
done
same_table "$out/table" docs/firmware.md "${1:-}"
