const {X}_GAP = 16u;
fn {X}_chunk(o: u32, c: u32, n: u32) -> Chunk {
    let b = o + (c / 4u) * 20u;
    let d = {X}_half(b);
    let m = {X}_half(b + 2u);
    let w = {X}_word(b + 4u + (c % 4u) * 4u);
    return Chunk(nibbles(w) * d + m, nibbles(w >> 4u) * d + m);
}
