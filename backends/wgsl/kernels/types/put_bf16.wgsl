fn put(o: u32, x: f32) { put_half_bits(o, bfloat_bits(x)); }
