// One row per workgroup, or one group of channels. n: elements that are normed together, kind; f: eps.
// Elements of row r are e = first..first + length of the packed order when n.z is set (groups), else the row's.

fn place_of(row: u32, i: u32) -> vec4<u32> {
    let r = split(row, vec4<u32>(p.a.ne.y, p.a.ne.z, p.a.ne.w, 1u));
    return vec4<u32>(i, r.x, r.y, r.z);
}

fn run(group: u32, li: u32) {
    let e = place_of(group, 0u);
    let start = p.off.y + at(e, p.a.nb);
    let to = p.off.x + at(e, p.dst.nb);
    let n = p.n.x;
    var mean = 0.0;
    if (p.n.y == 1u) {
        var s = 0.0;
        for (var i = li; i < n; i += {WG}u) { s += a_at(start + i * p.a.nb.x); }
        mean = sum(s, li) / f32(n);
    }
    var q = 0.0;
    for (var i = li; i < n; i += {WG}u) {
        let x = a_at(start + i * p.a.nb.x) - mean;
        q += x * x;
    }
    q = sum(q, li);
    var scale = 1.0 / max(sqrt(q), p.f.x);
    if (p.n.y != 2u) { scale = 1.0 / sqrt(q / f32(n) + p.f.x); }
    for (var i = li; i < n; i += {WG}u) {
        put(to + i * p.dst.nb.x, (a_at(start + i * p.a.nb.x) - mean) * scale);
    }
}
