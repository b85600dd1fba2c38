const {X}_GAP = 16u;
fn {X}_chunk(o: u32, c: u32, n: u32) -> Chunk {
    let b = o + (c / 4u) * 18u;
    let d = {X}_half(b);
    let w = {X}_word(b + 2u + (c % 4u) * 4u);
    return Chunk({X}_values(w) * d, {X}_values(w >> 4u) * d);
}
