#!/usr/bin/env bash
# The Vulkan backend on Mesa's software device, with the validation layer looking on: conformance with every
# feature and with none, stories and a model, faults, and what a node costs the host beside ggml's Vulkan backend.
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
run cargo run --release -q -p dinrail-vulkan --example overhead -- $peer
