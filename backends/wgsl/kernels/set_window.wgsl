// A copy of a, packed, with b stored in a window of it. n: units, first byte of the window; c: lengths and strides of
// the window, each stride at least as long as what it steps over.

fn run(group: u32, li: u32) {
    let i = group * {WG}u + li;
    if (i >= p.n.x) { return; }
    let e = split(i, p.dst.ne);
    let to = p.off.x + at(e, p.dst.nb);
    let w = in_window(i * p.c.nb.x);
    if (w.x < p.c.ne.x) {
        put_unit(to, b_unit(p.off.z + at(w, p.b.nb)));
    } else {
        put_unit(to, a_unit(p.off.y + at(e, p.a.nb)));
    }
}
