#!/usr/bin/env bash
# The Vulkan backend on Mesa's software device, with the validation layer looking on: conformance with every
# feature and with none, stories and a model, faults, and what a node costs the host beside ggml's Vulkan backend.
# Then conformance on SwiftShader, a second driver: no 16-bit floats, arguments in uniforms as on hardware.
. "$(dirname "$0")/lib.sh"

host_rust clippy
apt_need libvulkan1 mesa-vulkan-drivers vulkan-validationlayers
# Other drivers that may be installed are left out, so that the device is the same everywhere.
for icd in /usr/share/vulkan/icd.d/lvp_icd*.json; do
    [ -f "$icd" ] && export VK_DRIVER_FILES=$icd VK_ICD_FILENAMES=$icd
done
run cargo test --release -p dinrail-wgsl -p dinrail-vulkan
run cargo clippy --release --all-targets -p dinrail-wgsl -p dinrail-vulkan -- -D warnings

# To ggml a device in software is none unless it is named.
export GGML_VK_VISIBLE_DEVICES=0
peer=
if packages=$(bash ci/ggml-packages.sh --where) || { bash ci/ggml-packages.sh && packages=$CACHE/ggml; }; then
    peer=$packages/vulkan-v2/libggml-vulkan.so
else
    say "skipped: ggml's Vulkan backend can't be fetched; ours is measured alone"
fi
# Clocks are no exact science on a machine that does other things, too.
run cargo build --release -q -p dinrail-vulkan --example overhead
for try in 1 2 3; do
    run "$TARGET/release/examples/overhead" $peer && break
    [ $try -lt 3 ] || die "a node costs the host more than half of what it costs ggml, three times"
done

# The program tells one story on the CPU, on the device, and with its layers split over both; without being asked it takes the
# CPU, for this device is none.
run cargo build --release -q -p dinrail-cli --features vulkan
dinrail=${CARGO_TARGET_DIR:-target}/release/dinrail
story=(run -m examples/models/stories260K-f32.gguf --temp 0 -n 64 -t 1)
run "$dinrail" devices
told=$("$dinrail" "${story[@]}" -q --device CPU)
for more in "" "--device Vulkan0" "--device Vulkan0 -ngl 3" "--device Vulkan0,CPU -ts 1,2 --copies 4" "--device Vulkan0 -ngl 0"; do
    # shellcheck disable=SC2086
    [ "$("$dinrail" "${story[@]}" -q $more)" = "$told" ] || die "another story with '$more'"
    say "the same story: ${more:-without a word about devices}"
done
run "$dinrail" "${story[@]}" --device Vulkan0 -ngl 3 --split
"$dinrail" "${story[@]}" 2>&1 >/dev/null | grep -q " on CPU" || die "a device in software is the best one"
if "$dinrail" "${story[@]}" --device gpu 2>/dev/null; then die "a GPU that isn't there was taken"; fi
# Nobody asked for a GPU, and there is none: no driver is opened, which would take more memory than the model.
opens() {
    LD_DEBUG=files env -u VK_DRIVER_FILES -u VK_ICD_FILENAMES "$dinrail" "${story[@]}" -q "$@" 2>&1 >/dev/null |
        grep -c 'file=libvulkan' || true
}
[ "$(opens --device CPU)" = 0 ] || die "on the CPU, Vulkan is opened"
[ "$(opens --device Vulkan0)" != 0 ] || die "the check doesn't see what is opened"
compgen -G '/dev/dri/renderD*' >/dev/null || [ "$(opens)" = 0 ] || die "without graphics hardware, Vulkan is opened"

# And so does a C program, queued transfers among it.
run sh platform/capi/install.sh --features reference,vulkan --prefix "$TARGET/vulkan-c"
run gcc -std=c11 -Iplatform/capi/include platform/capi/tests/api.c "$TARGET/vulkan-c/lib/libdinrail.a" -lm -o "$TARGET/vulkan-c/api"
run "$TARGET/vulkan-c/api" examples/models/ad01-f32.gguf Vulkan0

# SwiftShader is part of Debian's chromium; the one library is taken out of the package, which isn't installed.
swiftshader() {
    local dir=$CACHE/swiftshader tmp
    if [ ! -f "$dir/vk_swiftshader_icd.json" ]; then
        mkdir -p "$CACHE"
        tmp=$(mktemp -d "$CACHE/.fetch.XXXXXX")
        (cd "$tmp" && apt-get download -qq chromium-common >/dev/null 2>&1 && dpkg -x chromium-common_*.deb all) ||
            { rm -rf "$tmp"; return 1; }
        mkdir -p "$dir"
        mv "$tmp"/all/usr/lib/chromium/libvk_swiftshader.so "$dir/" &&
            mv "$tmp"/all/usr/lib/chromium/vk_swiftshader_icd.json "$dir/" || { rm -rf "$tmp"; return 1; }
        rm -rf "$tmp"
    fi
    say "$dir/vk_swiftshader_icd.json"
}
if icd=$(swiftshader); then
    export VK_DRIVER_FILES=$icd VK_ICD_FILENAMES=$icd
    run cargo test --release -p dinrail-vulkan --test conformance -- --nocapture
else
    say "skipped: SwiftShader can't be fetched"
fi
