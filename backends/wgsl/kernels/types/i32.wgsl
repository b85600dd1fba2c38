fn {X}_at(o: u32) -> f32 { return f32(bitcast<i32>({X}_data[o >> 2u])); }
