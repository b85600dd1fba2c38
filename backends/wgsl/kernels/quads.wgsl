// Eight elements of a column of b: four from `i` on and four that are `gap` further; zeros from `n` on.
fn b_quads(o: u32, i: u32, gap: u32, n: u32) -> Chunk {
    let t = p.b.nb.x;
    var r = Chunk(vec4<f32>(0.0), vec4<f32>(0.0));
    let u = o + i * t;
    let v = u + gap * t;
    if (i + gap + 4u <= n) {
        r.lo = vec4<f32>(b_at(u), b_at(u + t), b_at(u + 2u * t), b_at(u + 3u * t));
        r.hi = vec4<f32>(b_at(v), b_at(v + t), b_at(v + 2u * t), b_at(v + 3u * t));
    } else {
        for (var k = 0u; k < 4u; k += 1u) {
            if (i + k < n) { r.lo[k] = b_at(u + k * t); }
            if (i + gap + k < n) { r.hi[k] = b_at(v + k * t); }
        }
    }
    return r;
}
