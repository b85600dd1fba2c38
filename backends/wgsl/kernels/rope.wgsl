// Rotary embedding, two elements per invocation. n: invocations, rotated elements of a row, halves apart, factors.
// f: log2 of the frequency step, factor on positions, extrapolation, magnitude; g: YaRN's ramp, first and length.

fn run(group: u32, li: u32) {
    let i = group * {WG}u + li;
    if (i >= p.n.x) { return; }
    let pairs = (p.a.ne.x + 1u) / 2u;
    let j = i % pairs;
    let r = split(i / pairs, vec4<u32>(p.a.ne.y, p.a.ne.z, p.a.ne.w, 1u));
    let start = p.off.y + row_at(r.x, r.y, r.z, p.a.nb);
    let to = p.off.x + row_at(r.x, r.y, r.z, p.dst.nb);
    let turned = p.n.y / 2u;
    if (j >= turned) {
        let e = 2u * j;
        let x = a_at(start + e * p.a.nb.x);
        put(to + e * p.dst.nb.x, x);
        if (e + 1u < p.a.ne.x) {
            put(to + (e + 1u) * p.dst.nb.x, a_at(start + (e + 1u) * p.a.nb.x));
        }
        return;
    }
    var e0 = 2u * j;
    var e1 = e0 + 1u;
    if (p.n.z != 0u) {
        e0 = j;
        e1 = j + turned;
    }
    let position = f32(bitcast<i32>(b_data[(p.off.z + r.y * p.b.nb.x) >> 2u]));
    var theta = position * exp2(p.f.x * f32(j));
    if (p.n.w != 0u) { theta /= c_at(p.off.w + j * p.c.nb.x); }
    let inner = p.f.y * theta;
    let ramp = (1.0 - clamp((f32(j) - p.g.x) / p.g.y, 0.0, 1.0)) * p.f.z;
    let turn = sine_cosine(inner * (1.0 - ramp) + theta * ramp) * p.f.w;
    let x = a_at(start + e0 * p.a.nb.x);
    let y = a_at(start + e1 * p.a.nb.x);
    put(to + e0 * p.dst.nb.x, x * turn.y - y * turn.x);
    put(to + e1 * p.dst.nb.x, x * turn.x + y * turn.y);
}
