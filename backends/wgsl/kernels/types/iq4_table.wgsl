// The 16 values of a nibble, as signed bytes.
fn {X}_value(i: u32) -> f32 {
    let table = vec4<u32>(0xbfad9881u, 0xf6eaddcfu, 0x26190d01u, 0x71594535u);
    let b = table[i >> 2u] << (24u - (i & 3u) * 8u);
    return f32(bitcast<i32>(b) >> 24u);
}
fn {X}_values(w: u32) -> vec4<f32> {
    let i = bytes4(w & 0x0f0f0f0fu);
    return vec4<f32>({X}_value(i.x), {X}_value(i.y), {X}_value(i.z), {X}_value(i.w));
}
