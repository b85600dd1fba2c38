@group(0) @binding({B}) var<storage, read> {X}_data: array<u32>;

fn {X}_word(o: u32) -> u32 {
    let i = o >> 2u;
    let s = (o & 3u) * 8u;
    if (s == 0u) { return {X}_data[i]; }
    return ({X}_data[i] >> s) | ({X}_data[i + 1u] << (32u - s));
}
fn {X}_byte(o: u32) -> u32 { return ({X}_data[o >> 2u] >> ((o & 3u) * 8u)) & 255u; }
// A half at an even offset.
fn {X}_half_bits(o: u32) -> u32 { return ({X}_data[o >> 2u] >> ((o & 2u) * 8u)) & 0xffffu; }
fn {X}_half(o: u32) -> f32 { return half_value({X}_half_bits(o)); }
