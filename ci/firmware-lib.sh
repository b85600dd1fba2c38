# Shared by the firmware stages; sourced, never run.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

M4=examples/firmware-cortex-m
FIRMWARE=$TARGET-firmware

# firmware TRIPLE FOLDER [cargo's arguments]: a release build of a package of examples/.
firmware() {
    local triple=$1 folder=$2
    shift 2
    foreign cargo build --release -Z build-std=core --manifest-path "$folder/Cargo.toml" \
        --target "$triple" --target-dir "$FIRMWARE" "$@"
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
