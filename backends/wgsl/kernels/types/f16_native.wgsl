@group(0) @binding({B}) var<storage, read> {X}_data: array<f16>;
fn {X}_at(o: u32) -> f32 { return f32({X}_data[o >> 1u]); }
