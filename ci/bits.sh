#!/usr/bin/env bash
# The portable level gives the bits of tests/bits/src/golden.rs on Cortex-M (with and without FPU and DSP extension, whose
# own loops are among it) and RISC-V, in QEMU. `cargo test -p dinrail-bits` does the same where there is an operating
# system.
. "$(dirname "$0")/firmware-lib.sh"
foreign_rust
apt_need qemu-system-arm qemu-system-misc

# bare TRIPLE [--features F] QEMU… : builds the program and runs it.
bare() {
    local triple=$1 features=()
    shift
    if [ "$1" = --features ]; then
        features=("$1" "$2")
        shift 2
    fi
    say "-- $triple ${BOARD:-}"
    firmware "$triple" tests/bits/bare "${features[@]}"
    run timeout 300 "$@" -nographic -kernel "$FIRMWARE/$triple/release/bits-bare" </dev/null
}
semihosting="-semihosting-config enable=on,target=native"
BOARD=an386 bare thumbv7em-none-eabihf qemu-system-arm -M mps2-an386 $semihosting
BOARD=an385 bare thumbv6m-none-eabi qemu-system-arm -M mps2-an385 $semihosting
bare riscv32imac-unknown-none-elf qemu-system-riscv32 -M virt -bios none
bare riscv64gc-unknown-none-elf qemu-system-riscv64 -M virt -bios none
# The vectors of an M55 as well, which a level of its own uses.
export CARGO_TARGET_THUMBV8M_MAIN_NONE_EABIHF_RUSTFLAGS="-C target-cpu=cortex-m55"
BOARD=an547 bare thumbv8m.main-none-eabihf --features helium qemu-system-arm -M mps3-an547 $semihosting
