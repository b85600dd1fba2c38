const {X}_GAP = 16u;
fn {X}_chunk(o: u32, c: u32, n: u32) -> Chunk {
    let b = o + (c / 4u) * 17u;
    // Two to the power of e - 128; the two smallest are subnormal.
    let e = {X}_byte(b);
    var bits = 0x00200000u << e;
    if (e > 1u) { bits = (e - 1u) << 23u; }
    let d = bitcast<f32>(bits);
    let w = {X}_word(b + 1u + (c % 4u) * 4u);
    return Chunk({X}_values(w) * d, {X}_values(w >> 4u) * d);
}
