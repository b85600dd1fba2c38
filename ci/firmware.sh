#!/usr/bin/env bash
# The firmware examples build and run in QEMU, and what they print is the reference's.
. "$(dirname "$0")/firmware-lib.sh"
foreign_rust
apt_need qemu-system-arm qemu-system-misc python3

LIMIT=300
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

# on MACHINE PROGRAM: what it prints, on a Cortex-M board. Its exit status must be 0.
on() {
    timeout $LIMIT qemu-system-arm -M "$1" -nographic -semihosting-config enable=on,target=native \
        ${3:+$3} -kernel "$2" </dev/null
}
bins=$FIRMWARE/thumbv7em-none-eabihf/release
check() { run python3 tests/footprint/expect.py "$@"; }

for board in an386 an500; do
    for features in "" q8; do
        say "-- $board ${features:-f32}"
        BOARD=$board firmware thumbv7em-none-eabihf $M4 --bin detector --bin story ${features:+--features $features}
        on mps2-$board "$bins/detector" >"$out/detector"
        check detector "$out/detector" ${features:-f32}
        on mps2-$board "$bins/story" >"$out/story"
        check story "$out/story" ${features:-f32}
    done
done

say "-- main loop, tasks, interrupts, faults"
firmware thumbv7em-none-eabihf $M4 --bin cooperative --bin tasks --bin interrupts --bin faults
on mps2-an386 "$bins/cooperative" "-icount shift=0" | tee "$out/cooperative"
check cooperative "$out/cooperative"
on mps2-an386 "$bins/tasks"
on mps2-an386 "$bins/interrupts" "-icount shift=0"
on mps2-an386 "$bins/faults" | tee "$out/faults"
check faults "$out/faults"

say "-- defmt"
PATH=$CACHE/tools/bin:$PATH
have defmt-print || run cargo install defmt-print --locked --quiet --root "$CACHE/tools"
firmware thumbv7em-none-eabihf $M4 --bin detector-defmt --features defmt
on mps2-an386 "$bins/detector-defmt" >"$out/defmt"
defmt-print -e "$bins/detector-defmt" <"$out/defmt" | tee "$out/text"
check defmt "$out/text"

for features in "" q8; do
    say "-- Cortex-A and RISC-V ${features:-f32}"
    firmware aarch64-unknown-none examples/firmware-aarch64 ${features:+--features $features}
    timeout $LIMIT qemu-system-aarch64 -M virt -cpu cortex-a53 -nic none -nographic \
        -semihosting-config enable=on,target=native \
        -kernel "$FIRMWARE/aarch64-unknown-none/release/firmware-aarch64" </dev/null >"$out/story"
    check story "$out/story" ${features:-f32}
    for triple in riscv32imac-unknown-none-elf riscv64gc-unknown-none-elf; do
        firmware $triple examples/firmware-riscv ${features:+--features $features}
        timeout $LIMIT "qemu-system-${triple:0:7}" -M virt -bios none -nographic \
            -kernel "$FIRMWARE/$triple/release/firmware-riscv" </dev/null >"$out/story"
        check story "$out/story" ${features:-f32}
    done
done
