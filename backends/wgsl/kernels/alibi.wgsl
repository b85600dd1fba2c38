// ALiBi's slope of a head: n.x heads have steps of f.z (a log2), the others of f.w.
fn slope(head: u32) -> f32 {
    if (head < p.n.x) { return exp2(p.f.z * f32(head + 1u)); }
    return exp2(p.f.w * f32(2u * (head - p.n.x) + 1u));
}
