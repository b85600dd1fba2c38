fn put(o: u32, x: f32) { dst[o >> 2u] = bitcast<u32>(x); }
