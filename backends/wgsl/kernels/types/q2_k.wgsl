const {X}_GAP = 32u;
fn {X}_chunk(o: u32, c: u32, n: u32) -> Chunk {
    let b = o + (c / 32u) * 84u;
    let m = (c % 32u) / 8u;
    let q = c % 8u;
    let d = {X}_half(b + 80u);
    let dmin = {X}_half(b + 82u);
    let w = {X}_word(b + 16u + 32u * (m / 2u) + 4u * q) >> (4u * (m % 2u));
    let g = b + 4u * m + q / 4u;
    let s0 = {X}_byte(g);
    let s1 = {X}_byte(g + 2u);
    let lo = vec4<f32>(bytes4(w & 0x03030303u)) * (d * f32(s0 & 15u)) - dmin * f32(s0 >> 4u);
    let hi = vec4<f32>(bytes4((w >> 2u) & 0x03030303u)) * (d * f32(s1 & 15u)) - dmin * f32(s1 >> 4u);
    return Chunk(lo, hi);
}
