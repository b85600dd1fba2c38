#!/usr/bin/env bash
# Executed instructions of firmware against ci/budgets.toml, counted by a plug-in of QEMU: they never vary.
. "$(dirname "$0")/firmware-lib.sh"
foreign_rust
apt_need qemu-system-arm binutils-arm-none-eabi python3 gcc libc6-dev
images "$FIRMWARE/images"
run cc -O2 -shared -fPIC -o "$FIRMWARE/images/icount.so" ci/icount.c
run python3 tests/footprint/measure.py count "$FIRMWARE/images"
