fn {X}_at(o: u32) -> f32 { return bfloat_value({X}_half_bits(o)); }
