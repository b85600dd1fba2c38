const {X}_GAP = 16u;
fn {X}_chunk(o: u32, c: u32, n: u32) -> Chunk {
    let b = o + (c / 32u) * 136u;
    let g = (c % 32u) / 4u;
    let low = ({X}_word(b + 4u) >> (4u * g)) & 15u;
    let high = ({X}_half_bits(b + 2u) >> (2u * g)) & 3u;
    let d = {X}_half(b) * (f32(low | (high << 4u)) - 32.0);
    let w = {X}_word(b + 8u + 16u * g + (c % 4u) * 4u);
    return Chunk({X}_values(w) * d, {X}_values(w >> 4u) * d);
}
