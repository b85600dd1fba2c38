#!/usr/bin/env bash
# The firmware examples build and run in QEMU, and what they print is the reference's. What ran is docs/firmware.md;
# `bash ci/firmware.sh --write` writes that file.
. "$(dirname "$0")/firmware-lib.sh"
foreign_rust
apt_need qemu-system-arm qemu-system-misc python3

LIMIT=300
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
HF=thumbv7em-none-eabihf M33=thumbv8m.main-none-eabihf M0=thumbv6m-none-eabi
flag() { [ "$1" = f32 ] || say "--features $1"; }

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

# on BOARD TRIPLE PROGRAM [options]: what it prints, on a Cortex-M board. Its exit status must be 0.
on() {
    local board=$1 program=$FIRMWARE/$2/release/$3
    shift 3
    BOARD=$board timeout $LIMIT $M4/qemu.sh "$program" "$@" </dev/null
}
# check PROGRAM MODEL CORE BOARD TRIPLE [options]: runs it and compares.
check() {
    local program=$1 model=$2 core=$3 board=$4 triple=$5
    shift 5
    say "-- $program $model on $board"
    on "$board" "$triple" "$program" "$@" >"$out/text"
    compare "$program" "$model"
    row firmware-cortex-m "$program" "$model" "$core" "$triple" "\`BOARD=$board\`"
}

for model in f32 q8; do
    firmware $HF $M4 --bin detector --bin story $(flag $model)
    # One image for both boards: their maps are the same.
    for board in an386:Cortex-M4F an500:Cortex-M7; do
        check detector $model "${board#*:}" "${board%:*}" $HF
        check story $model "${board#*:}" "${board%:*}" $HF
    done
done
firmware $HF $M4 --features embassy --bin cooperative --bin tasks --bin interrupts --bin faults
check cooperative f32 Cortex-M4F an386 $HF -icount shift=0
check tasks f32 Cortex-M4F an386 $HF -icount shift=0
check interrupts - Cortex-M4F an386 $HF -icount shift=0
check faults f32 Cortex-M4F an386 $HF

say "-- defmt"
PATH=$CACHE/tools/bin:$PATH
have defmt-print || run cargo install defmt-print --locked --quiet --root "$CACHE/tools"
firmware $HF $M4 --bin detector-defmt --features defmt
on an386 $HF detector-defmt >"$out/defmt"
defmt-print -e "$FIRMWARE/$HF/release/detector-defmt" <"$out/defmt" | tee "$out/text"
compare defmt f32
row firmware-cortex-m detector-defmt f32 Cortex-M4F $HF "\`BOARD=an386\`"

# No compare-and-swap, no floating point, and every access that isn't aligned is a fault.
BOARD=nrf51 firmware $M0 $M4 --bin detector --bin interrupts --bin faults
check detector f32 Cortex-M0 nrf51 $M0
check interrupts - Cortex-M0 nrf51 $M0 -icount shift=0
check faults f32 Cortex-M0 nrf51 $M0

BOARD=an505 firmware $M33 $M4 --bin detector --bin story --features q8
check detector q8 Cortex-M33 an505 $M33
check story q8 Cortex-M33 an505 $M33

export CARGO_TARGET_THUMBV8M_MAIN_NONE_EABIHF_RUSTFLAGS=-Ctarget-cpu=cortex-m55
BOARD=an547 firmware $M33 $M4 --bin detector --bin story --features q8
check detector q8 "Cortex-M55 (Helium)" an547 $M33
check story q8 "Cortex-M55 (Helium)" an547 $M33

for model in f32 q8; do
    triple=aarch64-unknown-none
    firmware $triple examples/firmware-aarch64 $(flag $model)
    say "-- story $model on virt, Cortex-A53"
    timeout $LIMIT qemu-system-aarch64 -M virt -cpu cortex-a53 -nic none -nographic \
        -semihosting-config enable=on,target=native \
        -kernel "$FIRMWARE/$triple/release/firmware-aarch64" </dev/null >"$out/text"
    compare story $model
    row firmware-aarch64 firmware-aarch64 $model "Cortex-A53 (NEON)" $triple "machine \`virt\`"
done
for triple in riscv32imac-unknown-none-elf riscv64gc-unknown-none-elf; do
    for model in f32 q8; do
        firmware $triple examples/firmware-riscv $(flag $model)
        say "-- story $model on virt, $triple"
        timeout $LIMIT "qemu-system-${triple:0:7}" -M virt -bios none -nographic \
            -kernel "$FIRMWARE/$triple/release/firmware-riscv" </dev/null >"$out/text"
        compare story $model
        row firmware-riscv firmware-riscv $model "${triple%%-*}" $triple "machine \`virt\`"
    done
done
same_table "$out/table" docs/firmware.md "${1:-}"
