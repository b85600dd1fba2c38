//! Translates every kernel to SPIR-V: one file with all of them, and where each ends.

use dinrail_wgsl::translate;

fn main() {
    translate::write_all("kernels.spv", |k| {
        translate::spirv(k).iter().flat_map(|w| w.to_le_bytes()).collect()
    });
}
