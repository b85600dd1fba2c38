const {X}_GAP = 16u;
fn {X}_chunk(o: u32, c: u32, n: u32) -> Chunk {
    let b = o + (c / 4u) * 22u;
    let j = (c % 4u) * 4u;
    let d = {X}_half(b);
    let h = {X}_word(b + 2u) >> j;
    let w = {X}_word(b + 6u + j);
    let lo = nibbles(w) + 16.0 * vec4<f32>(bits4(h));
    let hi = nibbles(w >> 4u) + 16.0 * vec4<f32>(bits4(h >> 16u));
    return Chunk((lo - 16.0) * d, (hi - 16.0) * d);
}
