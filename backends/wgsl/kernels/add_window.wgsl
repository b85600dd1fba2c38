// A copy of a, packed, with b added in a window of it. Arguments as for `set_window`.

fn run(group: u32, li: u32) {
    let i = group * {WG}u + li;
    if (i >= p.n.x) { return; }
    let e = split(i, p.dst.ne);
    var x = a_at(p.off.y + at(e, p.a.nb));
    let w = in_window(i * p.c.nb.x);
    if (w.x < p.c.ne.x) { x += b_at(p.off.z + at(w, p.b.nb)); }
    put(p.off.x + at(e, p.dst.nb), x);
}
