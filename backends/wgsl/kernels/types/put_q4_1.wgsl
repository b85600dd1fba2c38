fn put_block(o: u32) {
    let r = extremes();
    let d = (r.y - r.x) / 15.0;
    let id = inverse(d);
    for (var k = 0u; k < 32u; k += 1u) { block[k] -= r.x; }
    let shift = 0.5;
    put_half_bits(o, half_bits(d));
    put_half_bits(o + 2u, half_bits(r.x));
    for (var k = 0u; k < 16u; k += 2u) {
        let a = level(k, id, shift, 15u) | (level(k + 16u, id, shift, 15u) << 4u);
        let b = level(k + 1u, id, shift, 15u) | (level(k + 17u, id, shift, 15u) << 4u);
        put_half_bits(o + 4u + k, a | (b << 8u));
    }
}
