// Stores rows a at the row numbers b of the result. n: elements, words of a number (1 or 2), rows of the result. A
// number outside stores nothing.

fn run(group: u32, li: u32) {
    let i = group * {WG}u + li;
    if (i >= p.n.x) { return; }
    let e = split(i, p.a.ne);
    let o = (p.off.z + e.y * p.b.nb.x + (e.z % p.b.ne.y) * p.b.nb.y + (e.w % p.b.ne.z) * p.b.nb.z) >> 2u;
    let row = b_data[o];
    if (row >= p.n.z || (p.n.y == 2u && b_data[o + 1u] != 0u)) { return; }
    put(p.off.x + e.x * p.dst.nb.x + row_at(row, e.z, e.w, p.dst.nb), a_at(p.off.y + at(e, p.a.nb)));
}
