const {X}_GAP = 32u;
fn {X}_chunk(o: u32, c: u32, n: u32) -> Chunk {
    let b = o + (c / 32u) * 66u;
    let m = (c % 32u) / 8u;
    let d = {X}_half(b + 64u);
    let w = {X}_word(b + 32u * (m / 2u) + 4u * (c % 8u)) >> (4u * (m % 2u));
    let lo = vec4<f32>(bytes4(w & 0x03030303u));
    let hi = vec4<f32>(bytes4((w >> 2u) & 0x03030303u));
    return Chunk((lo - 1.0) * d, (hi - 1.0) * d);
}
