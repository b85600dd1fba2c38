fn put_block(o: u32) {
    let d = abs(strongest()) / 127.0;
    let id = inverse(d);
    put_half_bits(o, half_bits(d));
    for (var k = 0u; k < 32u; k += 2u) {
        var bits = 0u;
        for (var j = 0u; j < 2u; j += 1u) {
            let x = block[k + j] * id;
            // Halves away from zero.
            let q = i32(select(floor(x + 0.5), ceil(x - 0.5), x < 0.0));
            bits |= (bitcast<u32>(q) & 255u) << (8u * j);
        }
        put_half_bits(o + 2u + k, bits);
    }
}
