// The level whose value is nearest to x; the upper of two equally near ones.
fn nearest(x: f32) -> u32 {
    var above = 1u;
    for (var k = 1u; k < 15u; k += 1u) {
        if (dst_value(k) <= x) { above = k + 1u; }
    }
    return select(above, above - 1u, x - dst_value(above - 1u) < dst_value(above) - x);
}

// Levels that map the strongest element to -127, and then the scale that is best for them.
fn put_block(o: u32) {
    let m = strongest();
    let id = inverse(m / -127.0);
    let empty = abs(m) < 1e-15;
    var qx = 0.0;
    var qq = 0.0;
    for (var k = 0u; k < 32u; k += 1u) {
        let x = block[k];
        let q = dst_value(nearest(id * x));
        qx += x * x * q * x;
        qq += x * x * q * q;
    }
    put_half_bits(o, select(half_bits(qx / qq), 0u, empty));
    for (var k = 0u; k < 16u; k += 2u) {
        let a = nearest(id * block[k]) | (nearest(id * block[k + 16u]) << 4u);
        let b = nearest(id * block[k + 1u]) | (nearest(id * block[k + 17u]) << 4u);
        put_half_bits(o + 2u + k, select(a | (b << 8u), 0u, empty));
    }
}
