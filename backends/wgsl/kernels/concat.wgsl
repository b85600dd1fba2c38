// a and b one after the other. n: units, dimension.

fn run(group: u32, li: u32) {
    let i = group * {WG}u + li;
    if (i >= p.n.x) { return; }
    var e = split(i, p.dst.ne);
    let to = p.off.x + at(e, p.dst.nb);
    let border = p.a.ne[p.n.y];
    if (e[p.n.y] < border) {
        put_unit(to, a_unit(p.off.y + at(e, p.a.nb)));
    } else {
        e[p.n.y] -= border;
        put_unit(to, b_unit(p.off.z + at(e, p.b.nb)));
    }
}
