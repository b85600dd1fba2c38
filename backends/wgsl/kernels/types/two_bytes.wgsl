const {X}_GAP = 4u;
fn {X}_chunk(o: u32, c: u32, n: u32) -> Chunk {
    let i = c * 8u;
    let w = o + i * 2u;
    var r = Chunk(vec4<f32>(0.0), vec4<f32>(0.0));
    if (i + 8u <= n) {
        r.lo = vec4<f32>({X}_at(w), {X}_at(w + 2u), {X}_at(w + 4u), {X}_at(w + 6u));
        r.hi = vec4<f32>({X}_at(w + 8u), {X}_at(w + 10u), {X}_at(w + 12u), {X}_at(w + 14u));
    } else {
        for (var k = 0u; k < 4u && i + k < n; k += 1u) { r.lo[k] = {X}_at(w + 2u * k); }
        for (var k = 4u; k < 8u && i + k < n; k += 1u) { r.hi[k - 4u] = {X}_at(w + 2u * k); }
    }
    return r;
}
fn {X}_element(o: u32, i: u32, n: u32) -> f32 { return {X}_at(o + 2u * i); }
