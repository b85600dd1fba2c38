// softmax(a * scale + slope * mask) by row; a row that is masked wholly gives zeros.
// n: heads with the first slope step, mask, sinks; f: scale, ALiBi or not, slope steps.

fn logit(i: u32, start: u32, mask: u32, s: f32) -> f32 {
    let x = a_at(start + i * p.a.nb.x) * p.f.x;
    if (p.n.y == 0u) { return x; }
    return x + s * b_at(mask + i * p.b.nb.x);
}

fn run(group: u32, li: u32) {
    let r = split(group, vec4<u32>(p.a.ne.y, p.a.ne.z, p.a.ne.w, 1u));
    let start = p.off.y + row_at(r.x, r.y, r.z, p.a.nb);
    let to = p.off.x + row_at(r.x, r.y, r.z, p.dst.nb);
    let mask = p.off.z + row_at(r.x, r.y % p.b.ne.z, r.z % p.b.ne.w, p.b.nb);
    var s = 1.0;
    if (p.f.y != 0.0) { s = slope(r.y); }
    let n = p.a.ne.x;
    var top = minus_infinity();
    if (p.n.z != 0u) { top = c_at(p.off.w + r.y * p.c.nb.x); }
    let sink = top;
    for (var i = li; i < n; i += {WG}u) { top = max(top, logit(i, start, mask, s)); }
    top = largest(top, li);
    if (top == minus_infinity()) {
        for (var i = li; i < n; i += {WG}u) { put(to + i * p.dst.nb.x, 0.0); }
        return;
    }
    var t = 0.0;
    for (var i = li; i < n; i += {WG}u) { t += exp(logit(i, start, mask, s) - top); }
    t = sum(t, li);
    if (p.n.z != 0u) { t += exp(sink - top); }
    let scale = 1.0 / t;
    for (var i = li; i < n; i += {WG}u) {
        put(to + i * p.dst.nb.x, exp(logit(i, start, mask, s) - top) * scale);
    }
}
