// A function of two elements, b repeated. n: elements, function.

fn run(group: u32, li: u32) {
    let i = group * {WG}u + li;
    if (i >= p.n.x) { return; }
    let e = split(i, p.dst.ne);
    let x = a_at(p.off.y + at(e, p.a.nb));
    let y = b_at(p.off.z + at(e % p.b.ne, p.b.nb));
    var r = x + y;
    switch (p.n.y) {
        case 0u: {}
        case 1u: { r = x - y; }
        case 2u: { r = x * y; }
        default: { r = x / y; }
    }
    put(p.off.x + at(e, p.dst.nb), r);
}
