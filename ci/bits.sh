#!/usr/bin/env bash
# The portable level gives the bits of tests/bits/src/golden.rs on Cortex-M (with and without FPU and DSP extension, whose
# own loops are among it) and RISC-V, in QEMU. `cargo test -p dinrail-bits` does the same where there is an operating
# system.
. "$(dirname "$0")/firmware-lib.sh"
foreign_rust
apt_need qemu-system-arm qemu-system-misc

out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
HF=thumbv7em-none-eabihf M33=thumbv8m.main-none-eabihf M0=thumbv6m-none-eabi
RV32=riscv32imac-unknown-none-elf RV64=riscv64gc-unknown-none-elf

# image NAME TRIPLE [cargo's arguments]
image() {
    local name=$1 triple=$2
    shift 2
    firmware "$triple" tests/bits/bare "$@"
    cp "$(folder_of "$triple")/$triple/release/bits-bare" "$out/$name"
}
one() {
    BOARD=an386 image m4 $HF
    image rv32 $RV32
    image rv64 $RV64
}
two() {
    BOARD=an385 image m0 $M0
    # The vectors of an M55 as well, which a level of its own uses.
    export CARGO_TARGET_THUMBV8M_MAIN_NONE_EABIHF_RUSTFLAGS=$M55_FLAGS
    BOARD=an547 image m55 $M33 --features helium
}
in_two_lanes one two

# on NAME QEMU…
on() {
    say "-- $1"
    run timeout 300 "${@:2}" -nographic -kernel "$out/$1" </dev/null
}
semihosting="-semihosting-config enable=on,target=native"
on m4 qemu-system-arm -M mps2-an386 $semihosting
# A program for a core without multiplication of 64 bits, FPU and unaligned accesses, on a Cortex-M3.
on m0 qemu-system-arm -M mps2-an385 $semihosting
on m55 qemu-system-arm -M mps3-an547 $semihosting
on rv32 qemu-system-riscv32 -M virt -bios none
on rv64 qemu-system-riscv64 -M virt -bios none
