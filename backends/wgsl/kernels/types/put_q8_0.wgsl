fn put_block(o: u32) {
    let most = abs(strongest());
    // As the CPU's kernels, and ggml's: the factor is rounded once, and halves go to even.
    let id = select(127.0 / most, 0.0, most == 0.0);
    put_half_bits(o, half_bits(most / 127.0));
    for (var k = 0u; k < 32u; k += 2u) {
        var bits = 0u;
        for (var j = 0u; j < 2u; j += 1u) {
            let q = i32(round(block[k + j] * id));
            bits |= (bitcast<u32>(q) & 255u) << (8u * j);
        }
        put_half_bits(o + 2u + k, bits);
    }
}
