#!/usr/bin/env bash
# Flash, static RAM and stack of firmware against ci/budgets.toml; neither panics nor formatting in it.
. "$(dirname "$0")/firmware-lib.sh"
foreign_rust
apt_need qemu-system-arm binutils-arm-none-eabi python3
images "$FIRMWARE/images"
run python3 tests/footprint/measure.py size "$FIRMWARE/images"
