# Shared by the firmware stages; sourced, never run.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

M4=examples/firmware-cortex-m
FIRMWARE=$TARGET-firmware
# Core, backend and all are built once for all stages: the packages have the same profile, and these are the same flags.
M55_FLAGS=-Ctarget-cpu=cortex-m55

# Where a target's programs are built: two folders, so that two targets can be built at the same time.
folder_of() {
    case $1 in
        thumbv7em-* | riscv*) say "$FIRMWARE" ;;
        *) say "$FIRMWARE-2" ;;
    esac
}

# firmware TRIPLE FOLDER [cargo's arguments]: a release build of a package of examples/ or tests/.
firmware() {
    local triple=$1 folder=$2
    shift 2
    foreign cargo build --release -Z build-std=core --manifest-path "$folder/Cargo.toml" \
        --target "$triple" --target-dir "$(folder_of "$triple")" "$@"
}

# in_two_lanes FUNCTION FUNCTION: at the same time, for the compiler often works on one crate at a time here.
in_two_lanes() {
    "$1" &
    local first=$!
    "$2" &
    wait $! && wait $first || die "not all programs build"
}

# images FOLDER: the measured programs, as tests/footprint/measure.py wants them.
images() {
    local out=$1 built=$FIRMWARE/thumbv7em-none-eabihf/release b
    mkdir -p "$out"
    firmware thumbv7em-none-eabihf $M4 --bin empty --bin registry --bin detector --bin story
    for b in empty registry detector story; do cp "$built/$b" "$out/$b"; done
    firmware thumbv7em-none-eabihf $M4 --bin detector --bin story --features q8
    for b in detector story; do cp "$built/$b" "$out/$b+q8"; done
}
