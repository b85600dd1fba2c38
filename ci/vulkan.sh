#!/usr/bin/env bash
# The Vulkan backend on Mesa's software device, with the validation layer looking on: conformance with every
# feature and with none, faults, host overhead.
. "$(dirname "$0")/lib.sh"

host_rust clippy
apt_need libvulkan1 mesa-vulkan-drivers vulkan-validationlayers
# Other drivers that may be installed are left out, so that the device is the same everywhere.
for icd in /usr/share/vulkan/icd.d/lvp_icd*.json; do
    [ -f "$icd" ] && export VK_DRIVER_FILES=$icd VK_ICD_FILENAMES=$icd
done
run cargo test --release -p dinrail-wgsl -p dinrail-vulkan
run cargo clippy --release --all-targets -p dinrail-wgsl -p dinrail-vulkan -- -D warnings
run cargo run --release -q -p dinrail-vulkan --example overhead
