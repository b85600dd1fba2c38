// Rows of 4-byte elements by the numbers in b. n: elements, rows of a.

fn run(group: u32, li: u32) {
    let i = group * {WG}u + li;
    if (i >= p.n.x) { return; }
    let e = split(i, p.dst.ne);
    let row = b_data[(p.off.z + e.y * p.b.nb.x + e.z * p.b.nb.y + e.w * p.b.nb.z) >> 2u];
    var x = 0u;
    if (row < p.n.y) { x = a_data[(p.off.y + e.x * p.a.nb.x + row_at(row, e.z, e.w, p.a.nb)) >> 2u]; }
    put_word(p.off.x + at(e, p.dst.nb), x);
}
