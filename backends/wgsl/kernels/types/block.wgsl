// A block to be encoded.
var<private> block: array<f32, 32>;

fn inverse(x: f32) -> f32 { return select(1.0 / x, 0.0, x == 0.0); }

// The element of largest magnitude, with its sign.
fn strongest() -> f32 {
    var m = 0.0;
    for (var k = 0u; k < 32u; k += 1u) {
        if (abs(block[k]) > abs(m)) { m = block[k]; }
    }
    return m;
}

// The smallest and the largest element.
fn extremes() -> vec2<f32> {
    var r = vec2<f32>(block[0], block[0]);
    for (var k = 1u; k < 32u; k += 1u) { r = vec2<f32>(min(r.x, block[k]), max(r.y, block[k])); }
    return r;
}

// Levels from 0 to `top`, of elements scaled and shifted.
fn level(k: u32, scale: f32, shift: f32, top: u32) -> u32 {
    return u32(clamp(block[k] * scale + shift, 0.0, f32(top)));
}
