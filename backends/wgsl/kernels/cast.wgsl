// Copies elements to another type. n: elements. The two may differ in shape; elements are counted in order.

fn run(group: u32, li: u32) {
    let i = group * {WG}u + li;
    if (i >= p.n.x) { return; }
    put(p.off.x + at(split(i, p.dst.ne), p.dst.nb), a_at(p.off.y + at(split(i, p.a.ne), p.a.nb)));
}
