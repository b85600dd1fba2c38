# Shared by the scripts of this folder; sourced, never run.
# What it gives: strict mode, the repository root as working directory, $CACHE (downloads and
# foreign builds, outside the repository) and the functions below.
#
# A stage ends with 0 (passed), $SKIPPED (could not run here, and says why) or anything else (failed).

set -euo pipefail
ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$ROOT"
CACHE=${DINRAIL_CACHE:-$HOME/.cache/dinrail}
JOBS=${DINRAIL_JOBS:-$(nproc)}
SKIPPED=77
# rustup's tools first where they are installed for this user and not yet on the path.
[ -d "$HOME/.cargo/bin" ] && case ":$PATH:" in *":$HOME/.cargo/bin:"*) ;; *) PATH=$HOME/.cargo/bin:$PATH ;; esac
# One target folder per toolchain and set of flags: sharing one means rebuilding on every switch.
TARGET=${CARGO_TARGET_DIR:-$ROOT/target}

say() { printf '%s\n' "$*"; }
die() { printf 'error: %s\n' "$*" >&2; exit 1; }
skip() { printf 'skipped: %s\n' "$*"; exit "$SKIPPED"; }
have() { command -v "$1" >/dev/null 2>&1; }
run() { printf '$ %s\n' "$*"; "$@"; }

# The name of the package in folder $1; fails where there is none.
package() {
    [ -f "$1/Cargo.toml" ] || { say "skipped: no $1/Cargo.toml" >&2; return 1; }
    sed -n '/^\[package\]/,/^\[[^p]/s/^name *= *"\(.*\)"/\1/p' "$1/Cargo.toml" | head -1
}

# The features of the package in folder $1.
features() { sed -n '/^\[features\]/,/^\[[^f]/s/^\([a-z][a-z0-9-]*\) *=.*/\1/p' "$1/Cargo.toml"; }

# Installs Debian packages by name; those that are there already cost nothing.
apt_need() {
    local missing=() p try
    for p in "$@"; do
        [ "$(dpkg-query -W -f '${db:Status-Status}' "$p" 2>/dev/null)" = installed ] || missing+=("$p")
    done
    [ ${#missing[@]} -eq 0 ] && return 0
    have apt-get || skip "needs these packages, and there is no apt-get: ${missing[*]}"
    [ "$(id -u)" = 0 ] || skip "needs root once, for: apt-get install ${missing[*]}"
    say "installing ${missing[*]}" >&2
    export DEBIAN_FRONTEND=noninteractive
    for try in 1 2 3; do
        apt-get update -qq &&
            apt-get install -y -qq --no-install-recommends -o DPkg::Lock::Timeout=300 \
                "${missing[@]}" >/dev/null && return 0
        sleep $((try * 10))
    done
    die "apt-get could not install: ${missing[*]}"
}

# What every build on this host needs beside Rust: a linker. $@: components of the toolchain.
host_rust() {
    have cargo || die "no cargo: install Rust's stable toolchain with rustup"
    have cc || apt_need gcc libc6-dev
    local c
    for c in "$@"; do
        cargo "$c" --version >/dev/null 2>&1 ||
            run rustup component add "$([ "$c" = fmt ] && echo rustfmt || echo "$c")"
    done
}

# Debian's Rust that carries the library sources, for targets whose libraries are not installed.
# `foreign cargo …` runs it; RUSTC_BOOTSTRAP is for `-Z build-std` only.
foreign_rust() {
    apt_need rustc-web cargo-web rust-web-src rust-web-clippy rust-web-llvm lld-22
}
foreign() {
    PATH=/usr/bin:$PATH RUSTC_BOOTSTRAP=1 run "$@"
}

# A virtual environment in the cache, so that pip never touches the system's Python.
venv() {
    local dir=$CACHE/venv
    if [ ! -x "$dir/bin/pip" ]; then
        python3 -c 'import ensurepip, venv' 2>/dev/null || apt_need python3 python3-venv
        python3 -m venv "$dir" >&2
    fi
    say "$dir"
}

# same_table MADE KEPT [--write]: a table that a stage has made against the one in docs, where one is kept.
same_table() {
    if [ "${3:-}" = --write ]; then run cp "$1" "$2"; return; fi
    [ -f "$2" ] || { cat "$1"; return; }
    diff -u "$2" "$1" || die "$2 is not what runs: bash ci/$(basename "$0") --write"
}
