// The index of each row's largest element, the first of equals; NaN is never larger. n: elements of a row.
var<workgroup> best: array<f32, {WG}>;
var<workgroup> spot: array<u32, {WG}>;

fn run(group: u32, li: u32) {
    let start = p.off.y + group * p.a.nb.y;
    var b = minus_infinity();
    var w = 0xffffffffu;
    for (var i = li; i < p.n.x; i += {WG}u) {
        let x = a_at(start + i * p.a.nb.x);
        if (x > b || (x == b && w == 0xffffffffu)) {
            b = x;
            w = i;
        }
    }
    best[li] = b;
    spot[li] = w;
    workgroupBarrier();
    for (var k = {WG}u / 2u; k > 0u; k >>= 1u) {
        if (li < k) {
            let x = best[li + k];
            let at = spot[li + k];
            if (x > best[li] || (x == best[li] && at < spot[li])) {
                best[li] = x;
                spot[li] = at;
            }
        }
        workgroupBarrier();
    }
    if (li == 0u) { put_word(p.off.x + group * p.dst.nb.x, select(spot[0], 0u, spot[0] == 0xffffffffu)); }
}
