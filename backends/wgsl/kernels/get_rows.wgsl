// Rows of a by the numbers in b, eight elements per invocation. n: invocations, chunks of a row, rows of a. A number
// outside gives zeros.

fn run(group: u32, li: u32) {
    let i = group * {WG}u + li;
    if (i >= p.n.x) { return; }
    let c = i % p.n.y;
    let r = split(i / p.n.y, p.b.ne);
    let row = b_data[(p.off.z + r.x * p.b.nb.x + r.y * p.b.nb.y + r.z * p.b.nb.z) >> 2u];
    var w = Chunk(vec4<f32>(0.0), vec4<f32>(0.0));
    if (row < p.n.z) { w = a_chunk(p.off.y + row_at(row, r.y, r.z, p.a.nb), c, p.a.ne.x); }
    let to = p.off.x + row_at(r.x, r.y, r.z, p.dst.nb);
    let e = first(c, a_GAP);
    for (var k = 0u; k < 4u; k += 1u) {
        if (e + k < p.a.ne.x) { put(to + (e + k) * p.dst.nb.x, w.lo[k]); }
        let f = e + a_GAP + k;
        if (f < p.a.ne.x) { put(to + f * p.dst.nb.x, w.hi[k]); }
    }
}
