// One query row of one head per workgroup: blocks of keys with a running maximum (online soft-max), so products are
// never stored. A row that is masked wholly gives zeros.
// a, b, c, d, e: queries, keys, values, mask, sinks. n: heads with the first slope step, mask, sinks, key chunks;
// f: scale, ALiBi or not, slope steps; g: soft cap.
var<workgroup> query: array<f32, 512>;
var<workgroup> weights: array<f32, {WG}>;

fn run(group: u32, li: u32) {
    let r = split(group, vec4<u32>(p.a.ne.y, p.a.ne.z, p.a.ne.w, 1u));
    let token = r.x;
    let head = r.y;
    let seq = r.z;
    let kv_head = head / (p.a.ne.z / p.b.ne.z);
    let kv_seq = seq / (p.a.ne.w / p.b.ne.w);
    let d = p.a.ne.x;
    let keys = p.b.ne.y;
    let dv = p.c.ne.x;
    let start = p.off.y + row_at(token, head, seq, p.a.nb);
    for (var i = li; i < d; i += {WG}u) { query[i] = a_at(start + i * p.a.nb.x); }
    let k_from = p.off.z + row_at(0u, kv_head, kv_seq, p.b.nb);
    let v_from = p.off.w + row_at(0u, kv_head, kv_seq, p.c.nb);
    let m_from = p.more.x + row_at(token, head % p.d.ne.z, seq % p.d.ne.w, p.d.nb);
    var s = 1.0;
    if (p.f.y != 0.0) { s = slope(head); }

    // What this invocation adds up: dimensions li, li + WG, ..; at most 512.
    var sums = array<f32, {PER}>();
    var top = minus_infinity();
    var total = 0.0;
    for (var k0 = 0u; k0 < keys; k0 += {WG}u) {
        workgroupBarrier();
        let k = k0 + li;
        var x = minus_infinity();
        if (k < keys) {
            var t = 0.0;
            let row = k_from + k * p.b.nb.y;
            for (var c = 0u; c < p.n.w; c += 1u) {
                let w = b_chunk(row, c, d);
                let i = first(c, b_GAP);
                for (var u = 0u; u < 4u; u += 1u) {
                    if (i + u < d) { t += w.lo[u] * query[i + u]; }
                    if (i + b_GAP + u < d) { t += w.hi[u] * query[i + b_GAP + u]; }
                }
            }
            x = t * p.f.x;
            if (p.g.x != 0.0) { x = p.g.x * tanh_of(x / p.g.x); }
            if (p.n.y != 0u) { x += s * d_at(m_from + k * p.d.nb.x); }
        }
        let best = max(top, largest(x, li));
        // All masked so far: nothing to add, and no difference of infinities.
        if (best == minus_infinity()) { continue; }
        let shrink = exp(top - best);
        let w = exp(x - best);
        weights[li] = w;
        total = total * shrink + sum(w, li);
        top = best;
        let count = min(keys - k0, {WG}u);
        for (var u = 0u; u < {PER}u; u += 1u) {
            let i = li + u * {WG}u;
            if (i >= dv) { break; }
            var t = sums[u] * shrink;
            for (var j = 0u; j < count; j += 1u) {
                t += weights[j] * c_element(v_from + (k0 + j) * p.c.nb.y, i, dv);
            }
            sums[u] = t;
        }
    }
    var factor = 1.0;
    if (p.n.z != 0u) {
        let sink = e_at(p.more.y + head * p.more.z);
        let best = max(top, sink);
        if (best > minus_infinity()) {
            factor = exp(top - best);
            total = total * factor + exp(sink - best);
        }
    }
    let scale = select(0.0, factor / total, total > 0.0);
    let to = p.off.x + row_at(head, token, seq, p.dst.nb);
    for (var u = 0u; u < {PER}u; u += 1u) {
        let i = li + u * {WG}u;
        if (i < dv) { put(to + i * p.dst.nb.x, sums[u] * scale); }
    }
}
