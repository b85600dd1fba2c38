fn {X}_at(o: u32) -> f32 { return {X}_half(o); }
