const {X}_GAP = 4u;
// Elements e to e + 3 of the block at `b`, as digits: they are one digit of four bytes in a row.
fn {X}_digits(b: u32, e: u32) -> vec4<f32> {
    var k = e / 32u;
    var o = e % 32u;
    if (e >= 240u) {
        k = (e - 240u) / 4u;
        o = 48u;
    } else if (e >= 160u) {
        k = (e - 160u) / 16u;
        o = 32u + e % 16u;
    }
    var power = 1u;
    for (var i = 0u; i < k; i += 1u) { power *= 3u; }
    let q = (bytes4({X}_word(b + o)) * power) & vec4<u32>(255u);
    return vec4<f32>((q * 3u) >> vec4<u32>(8u));
}
fn {X}_chunk(o: u32, c: u32, n: u32) -> Chunk {
    let b = o + (c / 32u) * 54u;
    let e = (c % 32u) * 8u;
    let d = {X}_half(b + 52u);
    return Chunk(({X}_digits(b, e) - 1.0) * d, ({X}_digits(b, e + 4u) - 1.0) * d);
}
