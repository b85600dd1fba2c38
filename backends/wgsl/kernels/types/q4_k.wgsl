const {X}_GAP = 32u;
fn {X}_chunk(o: u32, c: u32, n: u32) -> Chunk {
    let b = o + (c / 32u) * 144u;
    let m = (c % 32u) / 8u;
    let scale = vec2<f32>({X}_half(b), {X}_half(b + 2u));
    let w = {X}_word(b + 16u + 32u * m + 4u * (c % 8u));
    let s0 = scale * {X}_scale_min(b + 4u, 2u * m);
    let s1 = scale * {X}_scale_min(b + 4u, 2u * m + 1u);
    return Chunk(nibbles(w) * s0.x - s0.y, nibbles(w >> 4u) * s1.x - s1.y);
}
