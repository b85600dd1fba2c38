#!/usr/bin/env bash
# The oldest Rust that Cargo.toml promises still builds everything that builds on a host. Where that
# toolchain is neither installed nor to be had, clippy's `incompatible_msrv` stands in: it knows
# since when each library item is stable, not which language features are.
. "$(dirname "$0")/lib.sh"
host_rust
MSRV=$(sed -n 's/^rust-version *= *"\(.*\)"/\1/p' Cargo.toml)
[ -n "$MSRV" ] || die "Cargo.toml names no rust-version"

if have rustup && ! rustup run "$MSRV" rustc --version >/dev/null 2>&1; then
    say "installing Rust $MSRV"
    timeout 180 rustup toolchain install "$MSRV" --profile minimal --no-self-update >/dev/null 2>&1 || true
fi
if have rustup && rustup run "$MSRV" rustc --version; then
    # What is built is not run: nothing to gain from optimising it.
    export CARGO_PROFILE_DEV_OPT_LEVEL=0 CARGO_PROFILE_DEV_DEBUG=false
    run cargo "+$MSRV" build --target-dir "$TARGET-msrv"
    say "built with Rust $MSRV itself"
else
    host_rust clippy
    run cargo clippy --target-dir "$TARGET-msrv" -- -D clippy::incompatible_msrv
    say "note: Rust $MSRV is not here; checked with clippy's incompatible_msrv lint only"
fi
