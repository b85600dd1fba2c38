// A gated unit. n: elements, function; b is the gate, which the host points at the other half of one source where
// there is no second; f: alpha, limit.

fn run(group: u32, li: u32) {
    let i = group * {WG}u + li;
    if (i >= p.n.x) { return; }
    let e = split(i, p.dst.ne);
    var x = a_at(p.off.y + at(e, p.a.nb));
    var g = b_at(p.off.z + at(e, p.b.nb));
    switch (p.n.y) {
        case 0u: { x = max(x, 0.0); }
        case 1u: { x = gelu_tanh(x); }
        case 2u: { x = x * sigmoid(x); }
        case 3u: {
            x = min(x, p.f.y);
            x = x * sigmoid(p.f.x * x);
            g = clamp(g, -p.f.y, p.f.y) + 1.0;
        }
        case 4u: { x = gelu_erf(x); }
        default: { x = x * sigmoid(1.702 * x); }
    }
    put(p.off.x + at(e, p.dst.nb), x * g);
}
