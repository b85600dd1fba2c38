// The first of the codes that are nearest to x.
fn code(x: f32, d: f32) -> u32 {
    var best = 0u;
    for (var c = 1u; c < 16u; c += 1u) {
        if (abs(dst_value(c) * d - x) < abs(dst_value(best) * d - x)) { best = c; }
    }
    return best;
}

fn put_block(o: u32) {
    // The strongest element's exponent, less the 2 that the codes' own exponent reaches.
    let e = max(bitcast<u32>(abs(strongest())) >> 23u, 2u) - 2u;
    var bits = 0x00200000u << e;
    if (e > 1u) { bits = (e - 1u) << 23u; }
    let d = bitcast<f32>(bits);
    put_bits(o, 0xffu, e);
    for (var k = 0u; k < 16u; k += 1u) {
        put_bits(o + 1u + k, 0xffu, code(block[k], d) | (code(block[k + 16u], d) << 4u));
    }
}
