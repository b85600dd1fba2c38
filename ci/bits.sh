#!/usr/bin/env bash
# The portable level gives the bits of tests/bits/src/golden.rs on Cortex-M (with and without FPU and DSP extension, whose
# own loops are among it) and RISC-V, in QEMU. `cargo test -p dinrail-bits` does the same where there is an operating
# system.
. "$(dirname "$0")/firmware-lib.sh"
foreign_rust
apt_need qemu-system-arm qemu-system-misc

# bare TRIPLE QEMU… : builds the program and runs it.
bare() {
    local triple=$1
    shift
    say "-- $triple ${BOARD:-}"
    firmware "$triple" tests/bits/bare
    run timeout 300 "$@" -nographic -kernel "$FIRMWARE/$triple/release/bits-bare" </dev/null
}
semihosting="-semihosting-config enable=on,target=native"
BOARD=an386 bare thumbv7em-none-eabihf qemu-system-arm -M mps2-an386 $semihosting
BOARD=an385 bare thumbv6m-none-eabi qemu-system-arm -M mps2-an385 $semihosting
bare riscv32imac-unknown-none-elf qemu-system-riscv32 -M virt -bios none
bare riscv64gc-unknown-none-elf qemu-system-riscv64 -M virt -bios none
