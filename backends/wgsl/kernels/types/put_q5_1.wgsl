fn put_block(o: u32) {
    let r = extremes();
    let d = (r.y - r.x) / 31.0;
    let id = inverse(d);
    for (var k = 0u; k < 32u; k += 1u) { block[k] -= r.x; }
    let shift = 0.5;
    put_half_bits(o, half_bits(d));
    put_half_bits(o + 2u, half_bits(r.x));
    var high = 0u;
    for (var k = 0u; k < 32u; k += 1u) { high |= (level(k, id, shift, 31u) >> 4u) << k; }
    put_half_bits(o + 8u - 4u, high & 0xffffu);
    put_half_bits(o + 8u - 2u, high >> 16u);
    for (var k = 0u; k < 16u; k += 2u) {
        let a = (level(k, id, shift, 31u) & 15u) | ((level(k + 16u, id, shift, 31u) & 15u) << 4u);
        let b = (level(k + 1u, id, shift, 31u) & 15u) | ((level(k + 17u, id, shift, 31u) & 15u) << 4u);
        put_half_bits(o + 8u + k, a | (b << 8u));
    }
}
