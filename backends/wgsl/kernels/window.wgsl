// Position in the window of the byte `o` of a; its x is past the end where the byte isn't in the window.
fn in_window(o: u32) -> vec4<u32> {
    let outside = vec4<u32>(0xffffffffu);
    if (o < p.n.y) { return outside; }
    var r = o - p.n.y;
    let i3 = r / p.c.nb.w;
    r = r % p.c.nb.w;
    let i2 = r / p.c.nb.z;
    r = r % p.c.nb.z;
    let i1 = r / p.c.nb.y;
    r = r % p.c.nb.y;
    if (i3 >= p.c.ne.w || i2 >= p.c.ne.z || i1 >= p.c.ne.y) { return outside; }
    return vec4<u32>(r / p.c.nb.x, i1, i2, i3);
}
