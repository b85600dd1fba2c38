// Encodes rows, a block per invocation. n: blocks, blocks of a row.

fn run(group: u32, li: u32) {
    let i = group * {WG}u + li;
    if (i >= p.n.x) { return; }
    let c = i % p.n.y;
    let r = split(i / p.n.y, vec4<u32>(p.dst.ne.y, p.dst.ne.z, p.dst.ne.w, 1u));
    let start = p.off.y + row_at(r.x, r.y, r.z, p.a.nb);
    for (var k = 0u; k < 32u; k += 1u) { block[k] = a_at(start + (c * 32u + k) * p.a.nb.x); }
    put_block(p.off.x + row_at(r.x, r.y, r.z, p.dst.nb) + c * p.dst.nb.x);
}
