// n: elements; f: start, step.

fn run(group: u32, li: u32) {
    let i = group * {WG}u + li;
    if (i >= p.n.x) { return; }
    put(p.off.x + i * p.dst.nb.x, p.f.x + p.f.y * f32(i));
}
