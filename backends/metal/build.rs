//! Translates every kernel to the Metal shading language: one file with all of them, and where each ends.

use dinrail_wgsl::translate;

fn main() {
    translate::write_all("kernels.metal", |k| translate::msl(k).into_bytes());
}
