// Indices that sort each row: every element counts those before it. Equal ones keep their order. n: elements,
// descending.

fn run(group: u32, li: u32) {
    let i = group * {WG}u + li;
    if (i >= p.n.x) { return; }
    var e = split(i, p.a.ne);
    let mine = e.x;
    let x = a_at(p.off.y + at(e, p.a.nb));
    e.x = 0u;
    let start = p.off.y + at(e, p.a.nb);
    var rank = 0u;
    for (var j = 0u; j < p.a.ne.x; j += 1u) {
        let y = a_at(start + j * p.a.nb.x);
        var before = y < x;
        if (p.n.y != 0u) { before = y > x; }
        if (before || (y == x && j < mine)) { rank += 1u; }
    }
    e.x = rank;
    put_word(p.off.x + at(e, p.dst.nb), mine);
}
