const {X}_GAP = 32u;
fn {X}_chunk(o: u32, c: u32, n: u32) -> Chunk {
    let b = o + (c / 32u) * 176u;
    let m = (c % 32u) / 8u;
    let q = 4u * (c % 8u);
    let scale = vec2<f32>({X}_half(b), {X}_half(b + 2u));
    let w = {X}_word(b + 48u + 32u * m + q);
    let h = {X}_word(b + 16u + q) >> (2u * m);
    let lo = bytes4((w & 0x0f0f0f0fu) | ((h & 0x01010101u) << 4u));
    let hi = bytes4(((w >> 4u) & 0x0f0f0f0fu) | (((h >> 1u) & 0x01010101u) << 4u));
    let s0 = scale * {X}_scale_min(b + 4u, 2u * m);
    let s1 = scale * {X}_scale_min(b + 4u, 2u * m + 1u);
    return Chunk(vec4<f32>(lo) * s0.x - s0.y, vec4<f32>(hi) * s1.x - s1.y);
}
