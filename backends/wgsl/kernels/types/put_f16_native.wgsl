@group(0) @binding(1) var<storage, read_write> dst: array<f16>;
fn put(o: u32, x: f32) { dst[o >> 1u] = f16(x); }
