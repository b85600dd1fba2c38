fn put(o: u32, x: f32) { put_half_bits(o, half_bits(x)); }
