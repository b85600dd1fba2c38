fn put_block(o: u32) {
    let d = strongest() / -8.0;
    let id = inverse(d);
    let shift = 8.5;
    put_half_bits(o, half_bits(d));
    for (var k = 0u; k < 16u; k += 2u) {
        let a = level(k, id, shift, 15u) | (level(k + 16u, id, shift, 15u) << 4u);
        let b = level(k + 1u, id, shift, 15u) | (level(k + 17u, id, shift, 15u) << 4u);
        put_half_bits(o + 2u + k, a | (b << 8u));
    }
}
