// The sum of each row, or of everything as one row, times a factor. n: elements of a row, all in one; f: factor.

fn run(group: u32, li: u32) {
    let r = split(group, vec4<u32>(p.a.ne.y, p.a.ne.z, p.a.ne.w, 1u));
    let e = vec4<u32>(0u, r.x, r.y, r.z);
    let start = p.off.y + at(e, p.a.nb);
    var s = 0.0;
    if (p.n.y == 0u) {
        for (var i = li; i < p.n.x; i += {WG}u) { s += a_at(start + i * p.a.nb.x); }
    } else {
        for (var i = li; i < p.n.x; i += {WG}u) { s += a_at(p.off.y + at(split(i, p.a.ne), p.a.nb)); }
    }
    s = sum(s, li);
    if (li == 0u) {
        var to = p.off.x;
        if (p.n.y == 0u) { to += at(e, p.dst.nb); }
        put(to, s * p.f.x);
    }
}
