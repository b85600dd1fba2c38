// Repeats a to the result's shape. n: units.

fn run(group: u32, li: u32) {
    let i = group * {WG}u + li;
    if (i >= p.n.x) { return; }
    let e = split(i, p.dst.ne);
    put_unit(p.off.x + at(e, p.dst.nb), a_unit(p.off.y + at(e % p.a.ne, p.a.nb)));
}
