@group(0) @binding(1) var<storage, read_write> dst: array<u32>;
fn put_word(o: u32, w: u32) { dst[o >> 2u] = w; }
