// Decodes rows, eight elements per invocation. n: invocations, chunks of a row.

fn run(group: u32, li: u32) {
    let i = group * {WG}u + li;
    if (i >= p.n.x) { return; }
    let c = i % p.n.y;
    let r = split(i / p.n.y, vec4<u32>(p.a.ne.y, p.a.ne.z, p.a.ne.w, 1u));
    let w = a_chunk(p.off.y + row_at(r.x, r.y, r.z, p.a.nb), c, p.a.ne.x);
    let to = p.off.x + row_at(r.x, r.y, r.z, p.dst.nb);
    let e = first(c, a_GAP);
    for (var k = 0u; k < 4u; k += 1u) {
        if (e + k < p.a.ne.x) { put(to + (e + k) * p.dst.nb.x, w.lo[k]); }
        let f = e + a_GAP + k;
        if (f < p.a.ne.x) { put(to + f * p.dst.nb.x, w.hi[k]); }
    }
}
