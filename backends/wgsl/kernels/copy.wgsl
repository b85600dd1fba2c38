// Copies units of 1, 2 or 4 bytes, bit by bit. n: units. The two may differ in shape; units are counted in order.

fn run(group: u32, li: u32) {
    let i = group * {WG}u + li;
    if (i >= p.n.x) { return; }
    put_unit(p.off.x + at(split(i, p.dst.ne), p.dst.nb), a_unit(p.off.y + at(split(i, p.a.ne), p.a.nb)));
}
