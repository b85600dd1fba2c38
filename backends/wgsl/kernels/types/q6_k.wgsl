const {X}_GAP = 64u;
fn {X}_scale(o: u32) -> f32 { return f32(bitcast<i32>({X}_byte(o) << 24u) >> 24u); }
fn {X}_chunk(o: u32, c: u32, n: u32) -> Chunk {
    let b = o + (c / 32u) * 210u;
    let h = (c % 32u) / 16u;
    let r = c % 16u;
    let k = r / 8u;
    let j = (r % 8u) * 4u;
    let d = {X}_half(b + 208u);
    let w = {X}_word(b + 64u * h + 32u * k + j);
    let u = {X}_word(b + 128u + 32u * h + j) >> (2u * k);
    let lo = bytes4((w & 0x0f0f0f0fu) | ((u & 0x03030303u) << 4u));
    let hi = bytes4(((w >> 4u) & 0x0f0f0f0fu) | (((u >> 4u) & 0x03030303u) << 4u));
    let s = b + 192u + 8u * h + r / 4u;
    return Chunk((vec4<f32>(lo) - 32.0) * (d * {X}_scale(s)), (vec4<f32>(hi) - 32.0) * (d * {X}_scale(s + 4u)));
}
