#!/usr/bin/env bash
# Builds the programs that dinrail is compared with: llama.cpp's llama-bench, llama-completion and
# test-backend-ops, with ggml's CPU backend as a plug-in. Nothing lands in the repository.
#
#   ci/peers.sh          build if needed, print where things are
#   ci/peers.sh --where  print the folder of the binaries, or fail if it is not built
#
# The source is the copy of llama.cpp inside the sdist of the Python package llama-cpp-python.
. "$(dirname "$0")/lib.sh"

VERSION=0.3.36
HOME_DIR=$CACHE/peers
SRC=$HOME_DIR/llama_cpp_python-$VERSION/vendor/llama.cpp
BUILD=$HOME_DIR/build-$VERSION
BIN=$BUILD/bin
STAMP=$BUILD/.built

if [ "${1:-}" = --where ]; then
    [ -f "$STAMP" ] || exit 1
    say "$BIN"
    exit 0
fi

fetch() {
    [ -d "$SRC" ] && return 0
    mkdir -p "$HOME_DIR/sdist"
    # pip asks an sdist for its metadata even when it only downloads it; the build system that
    # answers is in the environment already, hence no isolation.
    "$VENV/bin/pip" download -q --no-deps --no-build-isolation --no-binary llama-cpp-python \
        -d "$HOME_DIR/sdist" "llama-cpp-python==$VERSION"
    tar -xzf "$HOME_DIR/sdist/llama_cpp_python-$VERSION.tar.gz" -C "$HOME_DIR"
    [ -d "$SRC" ] || die "the sdist has no vendor/llama.cpp: $SRC"
}

build() {
    [ -f "$STAMP" ] && return 0
    # GGML_NATIVE=OFF with the level spelled out: the binary also runs on another machine, and the
    # comparison says which instructions it had.
    "$VENV/bin/cmake" -S "$SRC" -B "$BUILD" -G Ninja -DCMAKE_MAKE_PROGRAM="$VENV/bin/ninja" \
        -DCMAKE_BUILD_TYPE=Release -DBUILD_SHARED_LIBS=ON \
        -DGGML_BACKEND_DL=ON -DGGML_CPU_ALL_VARIANTS=OFF -DGGML_NATIVE=OFF \
        -DGGML_SSE42=ON -DGGML_AVX=ON -DGGML_AVX2=ON -DGGML_BMI2=ON -DGGML_FMA=ON -DGGML_F16C=ON \
        -DGGML_OPENMP=ON -DGGML_CCACHE=OFF \
        -DLLAMA_CURL=OFF -DLLAMA_OPENSSL=OFF -DLLAMA_BUILD_SERVER=ON \
        -DLLAMA_BUILD_TESTS=ON -DLLAMA_BUILD_EXAMPLES=OFF -DLLAMA_BUILD_TOOLS=ON \
        >"$HOME_DIR/configure.log" 2>&1 || { tail -30 "$HOME_DIR/configure.log" >&2; return 1; }
    nice -n "${DINRAIL_NICE:-5}" "$VENV/bin/cmake" --build "$BUILD" -j "$JOBS" \
        --target ggml-cpu llama-bench llama-completion test-backend-ops \
        >"$HOME_DIR/build.log" 2>&1 || { tail -30 "$HOME_DIR/build.log" >&2; return 1; }
    touch "$STAMP"
}

have g++ || apt_need g++
mkdir -p "$HOME_DIR"
VENV=$(venv)
if [ ! -f "$STAMP" ]; then
    "$VENV/bin/pip" install -q scikit-build-core cmake ninja
    fetch
    build
fi
say "source    $SRC"
say "binaries  $BIN"
say "plug-in   $(find "$BUILD" -name 'libggml-cpu*.so' | head -1)"
