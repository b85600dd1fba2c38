const {X}_GAP = 4u;
fn {X}_chunk(o: u32, c: u32, n: u32) -> Chunk {
    let b = o + (c / 4u) * 34u;
    let d = {X}_half(b);
    let q = b + 2u + (c % 4u) * 8u;
    return Chunk(signed4({X}_word(q)) * d, signed4({X}_word(q + 4u)) * d);
}
