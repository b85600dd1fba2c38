// Minus infinity right of the diagonal. n: elements, columns that every row sees in addition.

fn run(group: u32, li: u32) {
    let i = group * {WG}u + li;
    if (i >= p.n.x) { return; }
    let e = split(i, p.dst.ne);
    let x = a_at(p.off.y + at(e, p.a.nb));
    put(p.off.x + at(e, p.dst.nb), select(x, minus_infinity(), e.x > e.y && e.x - e.y > p.n.y));
}
