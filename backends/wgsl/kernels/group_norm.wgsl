// One group of channels of one image per workgroup, a packed. n: elements of a channel, channels of a group, groups,
// channels; f: eps.

fn place(i: u32, image: u32, channel: u32) -> vec4<u32> {
    let c = channel + i / p.n.x;
    let r = i % p.n.x;
    return vec4<u32>(r % p.a.ne.x, r / p.a.ne.x, c, image);
}

fn run(group: u32, li: u32) {
    let image = group / p.n.z;
    let channel = (group % p.n.z) * p.n.y;
    let channels = min(p.n.y, max(p.n.w, channel) - channel);
    let n = channels * p.n.x;
    var s = 0.0;
    for (var i = li; i < n; i += {WG}u) { s += a_at(p.off.y + at(place(i, image, channel), p.a.nb)); }
    let mean = sum(s, li) / f32(n);
    var q = 0.0;
    for (var i = li; i < n; i += {WG}u) {
        let x = a_at(p.off.y + at(place(i, image, channel), p.a.nb)) - mean;
        q += x * x;
    }
    let scale = 1.0 / sqrt(sum(q, li) / f32(n) + p.f.x);
    for (var i = li; i < n; i += {WG}u) {
        let e = place(i, image, channel);
        put(p.off.x + at(e, p.dst.nb), (a_at(p.off.y + at(e, p.a.nb)) - mean) * scale);
    }
}
