const {X}_GAP = 32u;
fn {X}_scale(b: u32, g: u32) -> f32 {
    let low = ({X}_byte(b + 96u + g % 8u) >> (4u * (g / 8u))) & 15u;
    let high = ({X}_byte(b + 104u + g % 4u) >> (2u * (g / 4u))) & 3u;
    return f32(low | (high << 4u)) - 32.0;
}
fn {X}_chunk(o: u32, c: u32, n: u32) -> Chunk {
    let b = o + (c / 32u) * 110u;
    let m = (c % 32u) / 8u;
    let q = c % 8u;
    let d = {X}_half(b + 108u);
    let w = {X}_word(b + 32u + 32u * (m / 2u) + 4u * q) >> (4u * (m % 2u));
    let h = {X}_word(b + 4u * q) >> (2u * m);
    let lo = bytes4((w & 0x03030303u) | ((h & 0x01010101u) << 2u));
    let hi = bytes4(((w >> 2u) & 0x03030303u) | (((h >> 1u) & 0x01010101u) << 2u));
    let g = 4u * m + q / 4u;
    return Chunk((vec4<f32>(lo) - 4.0) * (d * {X}_scale(b, g)), (vec4<f32>(hi) - 4.0) * (d * {X}_scale(b, g + 2u)));
}
