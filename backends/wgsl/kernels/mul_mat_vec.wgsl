// Four rows of a times one column of b per workgroup. n: chunks of a row, blocks of four rows, columns.

fn run(group: u32, li: u32) {
    let block = group % p.n.y;
    let rest = group / p.n.y;
    let m = rest % p.n.z;
    let outer = rest / p.n.z;
    let i2 = outer % p.dst.ne.z;
    let i3 = outer / p.dst.ne.z;
    let a2 = i2 / (p.dst.ne.z / p.a.ne.z);
    let a3 = i3 / (p.dst.ne.w / p.a.ne.w);
    let k = p.a.ne.x;
    let rows = p.a.ne.y;
    let row = block * 4u;
    let start = p.off.y + row_at(row, a2, a3, p.a.nb);
    let column = p.off.z + row_at(m, i2, i3, p.b.nb);
    let step = p.a.nb.y;
    let more = min(rows - row, 4u) - 1u;
    var s = vec4<f32>(0.0);
    for (var c = li; c < p.n.x; c += {WG}u) {
        let x = b_quads(column, first(c, a_GAP), a_GAP, k);
        let w0 = a_chunk(start, c, k);
        s.x += dot(w0.lo, x.lo) + dot(w0.hi, x.hi);
        if (more > 0u) {
            let w = a_chunk(start + step, c, k);
            s.y += dot(w.lo, x.lo) + dot(w.hi, x.hi);
        }
        if (more > 1u) {
            let w = a_chunk(start + 2u * step, c, k);
            s.z += dot(w.lo, x.lo) + dot(w.hi, x.hi);
        }
        if (more > 2u) {
            let w = a_chunk(start + 3u * step, c, k);
            s.w += dot(w.lo, x.lo) + dot(w.hi, x.hi);
        }
    }
    s = sum4(s, li);
    if (li <= more) {
        put(p.off.x + (row + li) * p.dst.nb.x + row_at(m, i2, i3, p.dst.nb), s[li]);
    }
}
