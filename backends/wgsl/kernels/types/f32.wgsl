fn {X}_at(o: u32) -> f32 { return bitcast<f32>({X}_data[o >> 2u]); }
const {X}_GAP = 4u;
fn {X}_chunk(o: u32, c: u32, n: u32) -> Chunk {
    let i = c * 8u;
    let w = (o >> 2u) + i;
    var r = Chunk(vec4<f32>(0.0), vec4<f32>(0.0));
    if (i + 8u <= n) {
        r.lo = bitcast<vec4<f32>>(vec4<u32>({X}_data[w], {X}_data[w + 1u], {X}_data[w + 2u], {X}_data[w + 3u]));
        r.hi = bitcast<vec4<f32>>(vec4<u32>({X}_data[w + 4u], {X}_data[w + 5u], {X}_data[w + 6u], {X}_data[w + 7u]));
    } else {
        for (var k = 0u; k < 4u && i + k < n; k += 1u) { r.lo[k] = bitcast<f32>({X}_data[w + k]); }
        for (var k = 4u; k < 8u && i + k < n; k += 1u) { r.hi[k - 4u] = bitcast<f32>({X}_data[w + k]); }
    }
    return r;
}
fn {X}_element(o: u32, i: u32, n: u32) -> f32 { return {X}_at(o + 4u * i); }
