// Scale and minimum of group `g` of the eight that 12 bytes at `o` pack, six bits each.
fn {X}_scale_min(o: u32, g: u32) -> vec2<f32> {
    if (g < 4u) {
        return vec2<f32>(f32({X}_byte(o + g) & 63u), f32({X}_byte(o + g + 4u) & 63u));
    }
    let low = {X}_byte(o + g + 4u);
    let s = (low & 15u) | (({X}_byte(o + g - 4u) >> 6u) << 4u);
    let m = (low >> 4u) | (({X}_byte(o + g) >> 6u) << 4u);
    return vec2<f32>(f32(s), f32(m));
}
