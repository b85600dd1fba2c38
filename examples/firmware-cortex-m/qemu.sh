#!/bin/sh
# Runs a program on the board that BOARD names, in QEMU: qemu.sh PROGRAM [more options of QEMU].
program=$1
shift
case ${BOARD:-an386} in
    an547) machine=mps3-an547 ;;
    nrf51) machine="microbit -global nrf51-soc.flash-size=0x400000 -global nrf51-soc.sram-size=0x40000" ;;
    *) machine=mps2-${BOARD:-an386} ;;
esac
# Unquoted: options are words.
exec qemu-system-arm -M $machine -nographic -semihosting-config enable=on,target=native "$@" -kernel "$program"
