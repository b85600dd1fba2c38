// Encodes rows a at the row numbers b of the result, a block per invocation. n: blocks, words of a number (1 or 2),
// rows of the result, blocks of a row. A number outside stores nothing.

fn run(group: u32, li: u32) {
    let i = group * {WG}u + li;
    if (i >= p.n.x) { return; }
    let c = i % p.n.w;
    let r = split(i / p.n.w, vec4<u32>(p.a.ne.y, p.a.ne.z, p.a.ne.w, 1u));
    let o = (p.off.z + r.x * p.b.nb.x + (r.y % p.b.ne.y) * p.b.nb.y + (r.z % p.b.ne.z) * p.b.nb.z) >> 2u;
    let row = b_data[o];
    if (row >= p.n.z || (p.n.y == 2u && b_data[o + 1u] != 0u)) { return; }
    let start = p.off.y + row_at(r.x, r.y, r.z, p.a.nb);
    for (var k = 0u; k < 32u; k += 1u) { block[k] = a_at(start + (c * 32u + k) * p.a.nb.x); }
    put_block(p.off.x + row_at(row, r.y, r.z, p.dst.nb) + c * p.dst.nb.x);
}
